import type { SttAbilities, SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import type { SttDialect } from './dialect.js';
import { SocketStream } from './socket-stream.js';

/** What every vendor's recogniser takes. */
export interface VendorSttOptions {
  apiKey: string;
  /** http(s) or ws(s), without a slash at its end. Default: the vendor's public one. */
  baseUrl?: string | undefined;
  /** Where an agent names none. Default: the vendor's that fits the language. */
  model?: string | undefined;
  /** Until a stream can be used. Default 5000. */
  connectTimeoutMs?: number;
  /** From the end of speech to its final words: a stream that gives none has failed. Default 3000. */
  finalTimeoutMs?: number;
}

export interface SocketSttParts {
  name: string;
  abilities: SttAbilities;
  /** @throws ParleyError for what the vendor cannot do */
  dialect: (options: SttOptions) => SttDialect | Promise<SttDialect>;
}

/** Languages that are written without spaces between words. */
const UNSPACED = new Set(['zh', 'ja', 'th', 'lo', 'my', 'km', 'bo']);

/** A vendor that is spoken to over one WebSocket per session. */
export class SocketSttProvider implements SttProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly abilities: SttAbilities;
  readonly #parts: SocketSttParts;
  readonly #options: VendorSttOptions;
  readonly #streams = new Set<SttStream>();

  constructor(parts: SocketSttParts, options: VendorSttOptions) {
    this.name = parts.name;
    this.abilities = parts.abilities;
    this.#parts = parts;
    this.#options = options;
  }

  /** A stream is a connection of its own, which a session opens before anybody speaks. */
  async warmUp(): Promise<void> {
    await import('ws');
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    const { clock, signal, language } = options;
    const { apiKey, connectTimeoutMs = 5000, finalTimeoutMs = 3000, model } = this.#options;
    signal.throwIfAborted();
    const dialect = await this.#parts.dialect(model === undefined ? options : { model, ...options });
    const stream = new SocketStream(
      {
        provider: this.name,
        dialect,
        secrets: [apiKey],
        clock,
        signal,
        connectTimeoutMs,
        finalTimeoutMs,
        space: UNSPACED.has(baseLanguage(language)) ? '' : ' ',
      },
      events,
    );
    this.#streams.add(stream);
    signal.addEventListener('abort', () => this.#streams.delete(stream), { once: true });
    await untilAborted(stream.opened, signal);
    return {
      push: (samples, startSample) => stream.push(samples, startSample),
      speechStarted: (sample) => stream.speechStarted(sample),
      speechStopped: (sample) => stream.speechStopped(sample),
      endTurn: () => stream.endTurn(),
      close: () => {
        this.#streams.delete(stream);
        return stream.close();
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#streams].map((stream) => stream.close()));
    this.#streams.clear();
  }
}

/** `en` of `en-US`. */
export function baseLanguage(language: string): string {
  return language.split('-')[0] ?? language;
}

/** The address of a socket on the host of an HTTP address. */
export function socketUrl(baseUrl: string, path: string, query: URLSearchParams): string {
  const root = baseUrl.replace(/^http/, 'ws').replace(/\/+$/, '');
  const search = query.toString();
  return `${root}${path}${search === '' ? '' : `?${search}`}`;
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
