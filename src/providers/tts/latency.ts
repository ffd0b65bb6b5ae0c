import type { FliteVoiceId } from './flite/voices.js';

/**
 * Synthesis latency in virtual time: the medians measured by the tts part of `npm run bench` (docs/providers.md). A run
 * in virtual time is realistic, and gives the same result on every machine.
 */
export interface TtsLatency {
  /** From the request to a clause's first audio, without regard to its length. */
  firstMs: number;
  /** And for every character of the clause. */
  perCharMs: number;
  /** From one block of audio to the next. */
  blockMs: number;
}

export const FLITE_LATENCY: Readonly<Record<FliteVoiceId, TtsLatency>> = {
  slt: { firstMs: 5, perCharMs: 0.4, blockMs: 1.2 },
  rms: { firstMs: 4, perCharMs: 0.5, blockMs: 1.3 },
  awb: { firstMs: 4, perCharMs: 0.4, blockMs: 1.2 },
  kal16: { firstMs: 1, perCharMs: 0.05, blockMs: 0.1 },
  kal: { firstMs: 1, perCharMs: 0.1, blockMs: 0.1 },
};

export const ESPEAK_LATENCY: TtsLatency = { firstMs: 12, perCharMs: 0.1, blockMs: 0.3 };
