import type { Logger } from 'pino';
import type { Settings } from '../../settings/settings.js';
import { SETTING_NAMES } from '../../settings/load-settings.js';

/** Fields with ids. A random id may look like a phone number. */
const IDS: ReadonlySet<string> = new Set(['session', 'request']);

/** Lines of JSON: `level`, `time` (ISO 8601), `msg`, the fields, and `err` with its stack. */
export class JsonLog implements Log {
  readonly #scrub: Scrub;
  #pino: Logger | null = null;
  /** Lines from before the library was loaded. Health checks do not wait for it. */
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

  /** Scrubs texts of fields, which are names and reasons, but not ids. */
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
        timestamp: false, // each line has the time of its `write`
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

/** Lines of text for people: the message, and the stack of an error. */
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

/** Numbers and names for programs. Never transcripts, phone numbers, headers or keys. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** The daemon's log. */
export interface Log {
  /** @param message one line for people */
  write(level: LogLevel, message: string, fields?: LogFields, error?: Error): void;
}

export const NO_LOG: Log = { write: () => undefined };

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * The log in the format of the settings: lines of JSON, or of text on a terminal. It removes secrets of the settings,
 * texts that look like keys, and phone numbers from all messages and errors.
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

/** Keys in parley's formats, and values after `Bearer`. */
const KEY = /\b(?:sk|pk|st|whsec)[_-][A-Za-z0-9_+/=-]{8,}|\bBearer\s+[^\s"',]+/gi;
/** Phone numbers: with a plus, or 10 to 15 digits in a row. */
const NUMBER = /\+\d[\d ().-]{5,}\d|(?<![\w-])\d{10,15}(?![\w-])/g;
/** V8's error for invalid JSON quotes the text. */
const QUOTED_JSON = /(?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON/g;
const SHORTEST_SECRET = 6;

/** Removes from a text what a log must not hold. */
export type Scrub = (text: string) => string;

/** @param settings the secrets to remove by value */
export function scrubber(settings: Settings): Scrub {
  const known = SETTING_NAMES.filter(({ secret }) => secret).flatMap(({ key }): unknown => settings[key]);
  const models = [...Object.values(settings.models), ...Object.values(settings.vendors)].map(({ apiKey }) => apiKey);
  const headers = [...Object.values(settings.serviceWebhooks), ...Object.values(settings.mcpServers)].flatMap(
    (server) => ('headers' in server ? Object.values(server.headers ?? {}) : []),
  );
  const clients = Object.values(settings.mcpServers).map((server) => 'oauth' in server && server.oauth?.clientSecret);
  const secrets = [...known, ...models, ...headers, ...clients]
    .filter((value) => typeof value === 'string' && value.length >= SHORTEST_SECRET)
    .toSorted((a, b) => String(b).length - String(a).length) as string[];
  return (text) => {
    const bare = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    return bare.replace(KEY, '[key]').replace(NUMBER, '[number]').replace(QUOTED_JSON, '"…" is not valid JSON');
  };
}

/** An error for the log: type, message and stack, without its other members. */
interface ScrubbedError {
  type: string;
  code: string | undefined;
  message: string;
  stack: string | undefined;
  cause: ScrubbedError | undefined;
}

function scrubbedError(error: Error, scrub: Scrub, depth = 0): ScrubbedError {
  const { cause } = error;
  return {
    type: error.name,
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
    message: scrub(error.message),
    stack: error.stack === undefined ? undefined : scrub(error.stack),
    cause: cause instanceof Error && depth < 4 ? scrubbedError(cause, scrub, depth + 1) : undefined,
  };
}

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
