import type { Logger } from 'pino';
import type { Log, LogFields, LogLevel } from './log.js';
import { type Scrub, scrubbedError } from './scrub.js';

/** Fields that hold ids: a random one may look like a phone number. */
const IDS: ReadonlySet<string> = new Set(['session', 'request']);

/** Lines of JSON: `level`, `time` (ISO 8601), `msg`, the fields, and `err` with its stack. */
export class JsonLog implements Log {
  readonly #scrub: Scrub;
  #pino: Logger | null = null;
  /** What came before the library was there: whoever waits for the daemon's first answer should not wait for that. */
  #early: (() => void)[] | null = [];

  constructor(stream: NodeJS.WritableStream, scrub: Scrub) {
    this.#scrub = scrub;
    void this.#open(stream);
  }

  write(level: LogLevel, message: string, fields: LogFields = {}, error?: Error): void {
    const line = { ...fields, ...(error !== undefined && { err: scrubbedError(error, this.#scrub) }) };
    const time = new Date().toISOString();
    const write = (): void => this.#pino?.[level]({ time, ...this.#clean(line) }, this.#scrub(message));
    if (this.#early === null) write();
    else this.#early.push(write);
  }

  /** Texts of fields are names and reasons; ids are left as they are. */
  #clean(line: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(line).map(([name, value]) => [
        name,
        typeof value === 'string' && !IDS.has(name) ? this.#scrub(value) : value,
      ]),
    );
  }

  async #open(stream: NodeJS.WritableStream): Promise<void> {
    const { default: pino } = await import('pino');
    this.#pino = pino(
      {
        level: 'debug',
        base: null,
        timestamp: false, // of each line's writing, not of its printing
        formatters: { level: (level) => ({ level }) },
        serializers: { err: (error: unknown) => error },
      },
      { write: (line: string) => void stream.write(line) },
    );
    const early = this.#early ?? [];
    this.#early = null;
    for (const write of early) write();
  }
}
