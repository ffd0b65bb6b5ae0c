/** A request to the daemon has failed; the message is a sentence for people. */
export class DaemonError extends Error {
  override readonly name = 'DaemonError';
  /** Status of the answer; null = none. */
  readonly status: number | null;

  constructor(message: string, status: number | null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
