import { HEARING_RATE_HZ, msToSamples } from '../../dist/audio/frame.js';
import type { LlmProvider } from '../../dist/providers/llm/llm.js';
import type { TtsProvider } from '../../dist/providers/tts/tts.js';

/** Models that cost nothing and take no time: what is left is the engine. */

/** Streams `text` word by word, all at once. */
export function instantLlm(text: string): LlmProvider {
  const pieces = text.match(/\S+\s*/g) ?? [];
  return {
    name: 'instant',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    // eslint-disable-next-line require-await
    async *complete() {
      for (const piece of pieces) yield { type: 'text', text: piece };
    },
  };
}

const hum = Int16Array.from({ length: msToSamples(10_000, HEARING_RATE_HZ) }, (_, at) =>
  Math.round(8000 * Math.sin((2 * Math.PI * 220 * at) / HEARING_RATE_HZ)),
);

/** A steady hum, `charMs` for each character of the text (no more than 10 s), all of it at once. */
export function instantTts(charMs = 50): TtsProvider {
  return {
    name: 'instant',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    voices: () => [{ id: 'hum', name: 'Hum', language: 'en-US', sampleRateHz: HEARING_RATE_HZ }],
    // eslint-disable-next-line require-await
    async *synthesize({ text }) {
      const samples = hum.subarray(0, msToSamples(text.length * charMs, HEARING_RATE_HZ));
      yield { samples, sampleRateHz: HEARING_RATE_HZ, words: [] };
    },
  };
}
