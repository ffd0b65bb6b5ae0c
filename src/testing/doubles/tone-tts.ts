import { msToSamples } from '../../audio/frame.js';
import { delay } from '../../base/clock.js';
import type { TtsProvider, TtsWord } from '../../providers/tts/tts.js';

export interface ToneTtsOptions {
  /** Default 16000. */
  sampleRateHz?: number;
  /** Length of the audio per character. Default 50. */
  charMs?: number;
  /** Until the first audio. Default 80. */
  firstMs?: number;
  /** Whether a text cannot be spoken. */
  fails?: (text: string) => boolean;
}

/** A voice for tests: a steady tone with exact word times, whose length depends on the text. */
export function toneTts(options: ToneTtsOptions = {}): TtsProvider {
  const { sampleRateHz = 16_000, charMs = 50, firstMs = 80, fails } = options;
  return {
    name: 'tone',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    voices: () => [{ id: 'tone', name: 'Tone', language: 'en-US', sampleRateHz }],
    async *synthesize({ text, clock, signal }) {
      await delay(clock, firstMs, signal);
      if (fails?.(text) === true) throw new Error('the tone is out of tune');
      const words: TtsWord[] = [...text.matchAll(/\S+/g)].map((match) => ({
        text: match[0],
        startMs: match.index * charMs,
        endMs: (match.index + match[0].length) * charMs,
      }));
      const samples = new Int16Array(msToSamples(text.length * charMs, sampleRateHz));
      for (let at = 0; at < samples.length; at++) {
        samples[at] = Math.round(8000 * Math.sin((2 * Math.PI * 440 * at) / sampleRateHz));
      }
      yield { samples, sampleRateHz, words };
    },
  };
}
