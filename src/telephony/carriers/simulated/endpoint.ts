/** One end of a simulated call, driven by the network's tick: it gives a frame and gets one, in this order. */
export interface CallEndpoint {
  /** The end's next 20 ms, null = silence. */
  speak(): Int16Array | null;
  /** 20 ms of the other end, null = silence. */
  hear(frame: Int16Array | null): void;
  /** Keys of the other end: 0-9, *, #, A-D. */
  digits(keys: string): void;
  /** The call is over for this end. Called once. */
  gone(): void;
}
