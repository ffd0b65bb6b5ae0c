/** Voice activity detection: is this window of audio speech? One implementation a file; the registry names them. */
export interface VadProvider {
  readonly name: string;
  /** Loads what all detectors share (weights, kernels). May be called again; later calls return at once. */
  warmUp(): Promise<void>;
  /** A detector with state of its own for one audio stream. Call `warmUp` first. */
  createDetector(options?: DetectorOptions): VadDetector;
}

export interface DetectorOptions {
  /**
   * Whether windows may be told of later, at the end of the gathering in which they were completed (base/gathering.ts):
   * those of many streams together can cost less than each by itself. Default false.
   */
  mayWait?: boolean;
}

export interface VadDetector {
  /** Samples at 16 kHz that one probability speaks for. */
  readonly windowSamples: number;
  /**
   * Takes any number of mono 16 kHz samples and calls `onWindow` for each window they complete: synchronously, but for
   * `mayWait`. The samples change right after the call, to what somebody else says: copy what must last.
   * @param onWindow probability of speech 0..1, and the position just after the window, counted in samples
   *   since the detector was made or reset.
   */
  process(samples: Int16Array, onWindow: (probability: number, endSample: number) => void): void;
  reset(): void;
  close(): void;
}
