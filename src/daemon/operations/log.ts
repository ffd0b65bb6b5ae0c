import type { Logger } from 'pino';
import type { Settings } from '../../settings/settings.js';
import { SETTING_NAMES } from '../../settings/load-settings.js';

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
    const line = error === undefined ? fields : { ...fields, err: scrubbedError(error, this.#scrub) };
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

/** Keys as parley makes them, and what follows `Bearer`. */
const KEY = /\b(?:sk|pk|st|whsec)[_-][A-Za-z0-9_+/=-]{8,}|\bBearer\s+[^\s"',]+/gi;
/** Phone numbers: with a plus, or so many digits on end that they may be one. */
const NUMBER = /\+\d[\d ().-]{5,}\d|(?<![\w-])\d{10,15}(?![\w-])/g;
/** V8 quotes what it could not parse. */
const QUOTED_JSON = /(?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON/g;
const SHORTEST_SECRET = 6;

/** Takes out of a text what a log must not hold. */
export type Scrub = (text: string) => string;

/** @param settings whose secrets are known by value */
export function scrubber(settings: Settings): Scrub {
  const known = SETTING_NAMES.filter(({ secret }) => secret).flatMap(({ key }): unknown => settings[key]);
  const models = [...Object.values(settings.models), ...Object.values(settings.vendors)].map(({ apiKey }) => apiKey);
  const headers = [...Object.values(settings.serviceWebhooks), ...Object.values(settings.mcpServers)].flatMap(
    (server) => ('headers' in server ? Object.values(server.headers ?? {}) : []),
  );
  const secrets = [...known, ...models, ...headers]
    .filter((value) => typeof value === 'string' && value.length >= SHORTEST_SECRET)
    .toSorted((a, b) => String(b).length - String(a).length) as string[];
  return (text) => {
    const bare = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    return bare.replace(KEY, '[key]').replace(NUMBER, '[number]').replace(QUOTED_JSON, '"…" is not valid JSON');
  };
}

/** An error as a log may hold it: what it is, what it says and where, not what it carries. */
interface ScrubbedError {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ScrubbedError;
}

function scrubbedError(error: Error, scrub: Scrub, depth = 0): ScrubbedError {
  const { cause } = error;
  return {
    type: error.name,
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    message: scrub(error.message),
    ...(error.stack !== undefined && { stack: scrub(error.stack) }),
    ...(cause instanceof Error && depth < 4 && { cause: scrubbedError(cause, scrub, depth + 1) }),
  };
}
