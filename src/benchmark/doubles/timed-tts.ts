import { HEARING_RATE_HZ, msToSamples } from '../../audio/frame.js';
import { delay } from '../../clock/clock.js';
import type { TtsProvider, TtsWord } from '../../providers/tts/tts.js';

export interface TimedTtsOptions {
  /** Until the first audio of a clause. */
  firstMs: () => number;
  /** How long a character is spoken. */
  charMs: number;
}

/** A voice that hums, at a vendor's pace: a double for benchmarks. All of a clause comes with its first audio. */
export function timedTts({ firstMs, charMs }: TimedTtsOptions): TtsProvider {
  return {
    name: 'timed',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    voices: () => [{ id: 'hum', name: 'Hum', language: 'en-US', sampleRateHz: HEARING_RATE_HZ }],
    async *synthesize({ text, clock, signal }) {
      await delay(clock, firstMs(), signal);
      const words: TtsWord[] = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
        text: word,
        startMs: index * charMs,
        endMs: (index + word.length) * charMs,
      }));
      const samples = new Int16Array(msToSamples(text.length * charMs, HEARING_RATE_HZ));
      for (let at = 0; at < samples.length; at++) {
        samples[at] = Math.round(6000 * Math.sin((2 * Math.PI * 180 * at) / HEARING_RATE_HZ));
      }
      yield { samples, sampleRateHz: HEARING_RATE_HZ, words };
    },
  };
}
