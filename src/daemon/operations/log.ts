import type { Logger } from 'pino';
import type { Settings } from '../../settings/settings.js';
import { type Scrub, scrubbedError, scrubber } from './scrub.js';

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

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Figures and names for programs; never what somebody said, a phone number, a header or a key. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** The daemon's log. */
export interface Log {
  /** @param message one line for people */
  write(level: LogLevel, message: string, fields?: LogFields, error?: Error): void;
}

export const NO_LOG: Log = { write: () => undefined };

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * The log that the operator has chosen: lines of JSON, or of text where people watch. Whatever a message or an error
 * says, secrets of the settings, things that look like keys, and phone numbers do not get into it.
 */
export function openLog(stream: NodeJS.WritableStream & { isTTY?: boolean }, settings: Settings): Log {
  const { logLevel, logFormat } = settings;
  if (logLevel === 'silent') return NO_LOG;
  const asText = logFormat === 'auto' ? stream.isTTY === true : logFormat === 'text';
  const scrub = scrubber(settings);
  const log = asText ? new TextLog(stream, scrub) : new JsonLog(stream, scrub);
  const least = ORDER.indexOf(logLevel);
  return {
    write: (level, ...line) => {
      if (ORDER.indexOf(level) >= least) log.write(level, ...line);
    },
  };
}
