/**
 * Recognition latency in virtual time: medians measured by bench/stt.ts (docs/stt.md), so that a virtual run has
 * realistic and reproducible timing.
 */
export interface SttLatency {
  /** From the last audio of a hypothesis to the interim transcript. */
  interimMs: number;
  /** From the VAD's end of speech to the final transcript. */
  finalMs: number;
}

export const EMBEDDED_LATENCY: SttLatency = { interimMs: 20, finalMs: 9 };
