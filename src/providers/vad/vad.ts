/** Voice activity detection: whether a window of audio is speech. */
export interface VadProvider {
  readonly name: string;
  /** Loads shared resources (weights, kernels). Idempotent. */
  warmUp(): Promise<void>;
  /** Creates a detector for one audio stream. Call `warmUp` first. */
  createDetector(options?: DetectorOptions): VadDetector;
}

export interface DetectorOptions {
  /**
   * Whether windows may be reported later, at the end of the gathering in which they were completed
   * (base/gathering.ts): a batch of many streams can cost less. Default false.
   */
  mayWait?: boolean;
}

export interface VadDetector {
  /** Window length in samples at 16 kHz. */
  readonly windowSamples: number;
  /**
   * Takes any number of mono 16 kHz samples and calls `onWindow` for each complete window: synchronously, except with
   * `mayWait`. The caller reuses the samples right after the call: copy what must last.
   * @param onWindow probability of speech 0..1, and the position just after the window, counted in samples since the
   * detector was made or reset
   */
  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void;
  reset(): void;
  close(): void;
}
