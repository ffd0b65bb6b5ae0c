import type { Log, LogFields, LogLevel } from './log.js';
import type { Scrub } from './scrub.js';

/** A line of text each, for people: the message alone, and where something broke. */
export class TextLog implements Log {
  readonly #stream: NodeJS.WritableStream;
  readonly #scrub: Scrub;

  constructor(stream: NodeJS.WritableStream, scrub: Scrub) {
    this.#stream = stream;
    this.#scrub = scrub;
  }

  write(_level: LogLevel, message: string, _fields?: LogFields, error?: Error): void {
    const where = error === undefined ? '' : `\n${error.stack ?? error.message}`;
    this.#stream.write(`${this.#scrub(message + where)}\n`);
  }
}
