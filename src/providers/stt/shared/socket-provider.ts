import { baseLanguage } from '../../../base/language.js';
import { raceAbort } from '../../../base/deadlines.js';
import type { SttAbilities, SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import type { SttDialect } from './dialect.js';
import { SocketStream } from './socket-stream.js';

/** Options of every vendor's recogniser. */
export interface VendorSttOptions {
  apiKey: string | null;
  /** http(s) or ws(s), without a trailing slash. Default: the vendor's public URL. */
  baseUrl?: string | null | undefined;
  /** Default model. Default: the vendor's model for the language. */
  model?: string | undefined;
  /** Timeout until a stream is ready, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /**
   * Timeout from the end of speech to the final transcript, in milliseconds; after that the stream has failed. Default
   * 3000.
   */
  finalTimeoutMs?: number;
}

export interface SocketSttParts {
  name: string;
  abilities: SttAbilities;
  /** @throws ParleyError for unsupported options */
  dialect: (options: SttOptions) => SttDialect | Promise<SttDialect>;
}

/** Languages that are written without spaces between words. */
const UNSPACED = new Set(['zh', 'ja', 'th', 'lo', 'my', 'km', 'bo']);

/** A vendor with one WebSocket per session. */
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

  /** Loads the socket library only: each session opens its own connection before anyone speaks. */
  async warmUp(): Promise<void> {
    await import('ws');
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    const { clock, signal, language } = options;
    const { connectTimeoutMs = 5000, finalTimeoutMs = 3000, model } = this.#options;
    signal.throwIfAborted();
    const dialect = await this.#parts.dialect(model === undefined ? options : { model, ...options });
    const stream = new SocketStream(
      {
        provider: this.name,
        dialect,
        secrets: [this.#options.apiKey ?? ''],
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
    await raceAbort(stream.opened, signal);
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
