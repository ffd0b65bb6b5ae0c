/**
 * What recognition costs in virtual time: the medians that bench/stt.ts measured (docs/stt.md), so that a run in
 * virtual time feels like one on a real machine and decides alike on every one.
 */
export interface SttLatency {
  /** From the last audio that a hypothesis needs to the interim transcript. */
  interimMs: number;
  /** From the end of speech, as the VAD reports it, to the final transcript. */
  finalMs: number;
}

export const EMBEDDED_LATENCY: SttLatency = { interimMs: 20, finalMs: 9 };
