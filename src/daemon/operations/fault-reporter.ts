import type { Log, LogFields } from './log.js';

/** Reports faults of parley itself; the daemon goes on. */
export class FaultReporter {
  readonly #log: Log;
  readonly #onError: (error: Error) => void;
  #count = 0;

  /** @param onError the embedder's own */
  constructor(log: Log, onError: (error: Error) => void = () => undefined) {
    this.#log = log;
    this.#onError = onError;
  }

  /** Faults since the start. */
  get count(): number {
    return this.#count;
  }

  /** @param fields what it belongs to, such as a request */
  readonly report = (error: Error, fields: LogFields = {}): void => {
    this.#count++;
    this.#log.write('error', `fault: ${error.message}`, fields, error);
    this.#onError(error);
  };
}
