import createSpeex from '@echogarden/speex-resampler-wasm/simd';
import { polyphases, type Polyphase, Resampler } from '../../dist/audio/dsp/resample.js';
import type { Resample } from './resampler-quality.js';
import { sound } from './rivals.js';

/** A resampler between two rates: 20 ms at a time as in a call, and a recording as a whole. */
export interface RatedResampler {
  name: string;
  once: () => void;
  whole: Resample;
}

/** Rates that calls have: browsers, recognisers, telephones, voices. */
export const RATES = [
  [48_000, 16_000],
  [16_000, 48_000],
  [8_000, 16_000],
  [16_000, 8_000],
  [24_000, 16_000],
  [22_050, 16_000],
] as const;

/** Ours, by kernel, what calls use first; and Speex's. */
export async function resamplers(fromHz: number, toHz: number): Promise<RatedResampler[]> {
  const input = sound(fromHz / 50);
  const speex = await createSpeex();
  return [
    ...polyphases().map(([name, kernel]) => own(`parley, ${name}`, input, fromHz, toHz, kernel)),
    ...[5, 8].map((quality) => ofSpeex(speex, input, fromHz, toHz, quality)),
  ];
}

function own(name: string, input: Int16Array, fromHz: number, toHz: number, kernel: Polyphase): RatedResampler {
  const resampler = new Resampler(fromHz, toHz, kernel);
  const out = new Int16Array(resampler.outputLength(input.length) + 1);
  return {
    name,
    once: () => void resampler.processInto(input, out),
    whole: (samples) => new Resampler(fromHz, toHz, kernel).process(samples),
  };
}

/** With the copies in and out of its memory that every use of it needs. */
function ofSpeex(
  speex: Awaited<ReturnType<typeof createSpeex>>,
  input: Int16Array,
  fromHz: number,
  toHz: number,
  quality: number,
): RatedResampler {
  const opened = (frame: number): ((samples: Int16Array) => Int16Array) => {
    const error = speex._malloc(4);
    const state = speex._speex_resampler_init(1, fromHz, toHz, quality, error);
    const inAt = speex._malloc(frame * 2);
    const outLength = Math.ceil((frame * toHz) / fromHz) + 1;
    const outAt = speex._malloc(outLength * 2);
    const lengths = speex._malloc(8);
    const out = new Int16Array(outLength);
    return (samples) => {
      speex.HEAP16.set(samples, inAt >> 1);
      speex.HEAP32[lengths >> 2] = samples.length;
      speex.HEAP32[(lengths >> 2) + 1] = outLength;
      speex._speex_resampler_process_int(state, 0, inAt, lengths, outAt, lengths + 4);
      const made = speex.HEAP32[(lengths >> 2) + 1] ?? 0;
      out.set(speex.HEAP16.subarray(outAt >> 1, (outAt >> 1) + made));
      return out.subarray(0, made);
    };
  };
  const process = opened(input.length);
  return {
    name: `Speex, WASM SIMD, quality ${String(quality)}`,
    once: () => void process(input),
    whole: (samples) => opened(samples.length)(samples),
  };
}
