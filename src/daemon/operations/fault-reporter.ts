import type { Log, LogFields } from './log.js';

/** Reports internal faults of parley. The daemon keeps running. */
export class FaultReporter {
  readonly #log: Log;
  readonly #onError: (error: Error) => void;
  #count = 0;

  /** @param onError the callback of the embedder */
  constructor(log: Log, onError: (error: Error) => void = () => undefined) {
    this.#log = log;
    this.#onError = onError;
  }

  /** Faults since the start. */
  get count(): number {
    return this.#count;
  }

  /** @param fields the context, such as a request */
  readonly report = (error: Error, fields: LogFields = {}): void => {
    this.#count++;
    this.#log.write('error', `fault: ${error.message}`, fields, error);
    this.#onError(error);
  };
}
