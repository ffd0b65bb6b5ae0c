/** Takes noise out of a stream at `HEARING_RATE_HZ`. */
export interface Denoiser {
  /** Maximum delay of the output, in samples. */
  readonly delaySamples: number;
  /**
   * The next piece of any length. Sample n of the output is sample n of the input without its noise, however the input
   * is cut: the lag shows in how much comes, not in where it lies. Overwritten by the next call; what is given changes
   * right after the call.
   */
  process(samples: Int16Array): Int16Array;
  /** May be called twice. */
  close(): void;
}

/** A denoiser, and who is given what it makes; the others hear the line as it is. */
export interface Denoising {
  denoiser: Denoiser;
  vad: boolean;
  stt: boolean;
}
