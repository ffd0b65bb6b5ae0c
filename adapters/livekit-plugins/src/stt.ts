import type { stt } from '@livekit/agents';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '@parley-voice/parley';
import { refused } from '@parley-voice/parley/providers';
import { parleyError } from './errors.js';
import { ensureLog, type PluginLogLevel } from './plugin-log.js';
import { PluginSttStream } from './stt-stream.js';

export interface LiveKitSttOptions {
  /**
   * Makes the plug-in's recogniser for one session: language, model and words to favour are in `options`, and go into the
   * plug-in's own as it names them. It has to be one that streams, and take 16 kHz.
   */
  stt: (options: SttOptions) => stt.STT;
  /** For messages and traces. Default `livekit`. */
  name?: string;
  /** Until a connection stands, where the plug-in heeds it. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** From the end of speech to its final words. Default 3000 ms. */
  finalTimeoutMs?: number;
  /** Keys that no error may show. Default none. */
  secrets?: readonly string[];
  /** How much of the framework's log goes to the standard output. Default `silent`. */
  logLevel?: PluginLogLevel;
}

/** The recogniser of a LiveKit plug-in. Each session has one of its own. */
export class LiveKitStt implements SttProvider {
  readonly name: string;
  readonly virtualTime = false;
  readonly #options: LiveKitSttOptions;
  readonly #streams = new Set<SttStream>();

  constructor(options: LiveKitSttOptions) {
    this.#options = options;
    this.name = options.name ?? 'livekit';
    ensureLog(options.logLevel);
  }

  /** Nothing: plug-ins connect when a stream is opened. */
  async warmUp(): Promise<void> {}

  /**
   * Plug-ins do not tell when they are connected: a refusal comes to `events.onError`.
   * @throws ParleyError PROVIDER_REFUSED where the plug-in cannot be made or does not stream
   */
  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    options.signal.throwIfAborted();
    const { stt: make, connectTimeoutMs = 5000, finalTimeoutMs = 3000, secrets = [] } = this.#options;
    const recogniser = this.#make(() => make(options), secrets);
    if (!recogniser.capabilities.streaming) throw refused(this.name, `${recogniser.label} does not stream`);
    const stream = new PluginSttStream(
      {
        provider: this.name,
        recogniser,
        secrets,
        connectTimeoutMs,
        finalTimeoutMs,
        clock: options.clock,
        signal: options.signal,
        language: options.language,
        onClosed: () => this.#streams.delete(stream),
      },
      events,
    );
    this.#streams.add(stream);
    return stream;
  }

  /** May be called twice. */
  async close(): Promise<void> {
    await Promise.all([...this.#streams].map((stream) => stream.close()));
  }

  /** Plug-ins throw where a key is missing or an option makes no sense. */
  #make(make: () => stt.STT, secrets: readonly string[]): stt.STT {
    try {
      return make();
    } catch (error) {
      throw refused(this.name, parleyError(this.name, error, secrets).message);
    }
  }
}
