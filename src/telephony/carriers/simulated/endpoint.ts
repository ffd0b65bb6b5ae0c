/** One end of a simulated call, driven by the network's tick: it is asked for a frame and given one, in this order. */
export interface CallEndpoint {
  /** The next 20 ms that this end says, null = silence. */
  speak(): Int16Array | null;
  /** The next 20 ms that this end hears, null = silence. */
  hear(frame: Int16Array | null): void;
  /** Keys that the other end pressed: 0-9, *, #, A-D. */
  digits(keys: string): void;
  /** The call is over for this end. Called once. */
  gone(): void;
}
