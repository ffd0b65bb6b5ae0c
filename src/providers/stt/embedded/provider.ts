import { ParleyError } from '../../../base/errors.js';
import type { SpeechLanguage } from '../lm/text.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import type { VocabularyReport } from './protocol.js';
import { EmbeddedStream } from './stream.js';
import { WorkerHost } from './worker-host.js';

export interface EmbeddedSttOptions {
  /** Most sessions at once, whether their users speak or not. Default 32. */
  maxStreams?: number;
  /**
   * Most decoders, one or more: as many users can be listened to at the same time, others wait for one of them to
   * pause. More than a processor can serve in real time are of no use. Default 4.
   */
  decoders?: number;
  /** Language whose models `warmUp` loads. Default `en`. */
  warmLanguage?: SpeechLanguage;
  /** Told at each `open` what became of the agent's words. */
  onVocabulary?: (report: VocabularyReport) => void;
  /** The worker's entry; the built one by default. */
  workerEntry?: URL;
}

const NAME = 'embedded';

/**
 * The recogniser that needs no account, key or network: PocketSphinx (as WebAssembly, package soundswallower) in a
 * worker thread, with a language model made from what the agent is about. It understands what an agent's hints and
 * an everyday vocabulary cover and says `understood: false` to the rest. docs/stt.md says how well.
 */
export class EmbeddedStt implements SttProvider {
  readonly name = NAME;
  readonly virtualTime = true;
  readonly abilities = { understands: (language: string): boolean => baseOf(language) !== null };
  readonly #options: EmbeddedSttOptions;
  readonly #streams = new Map<number, EmbeddedStream | null>();
  readonly #host: WorkerHost;
  #nextStream = 1;

  constructor(options: EmbeddedSttOptions = {}) {
    this.#options = options;
    const onCrash = (error: Error): void => {
      for (const stream of Array.from(this.#streams.values())) stream?.fail(error);
    };
    this.#host = new WorkerHost({ decoders: Math.max(1, options.decoders ?? 4) }, onCrash, options.workerEntry);
  }

  async warmUp(): Promise<void> {
    await this.#host.request({ kind: 'warm', language: this.#options.warmLanguage ?? 'en' });
  }

  /**
   * @throws ParleyError STT_LANGUAGE_UNSUPPORTED, STT_CAPACITY, PROVIDER_FAILED, SESSION_CLOSED after `close`; the
   * signal's reason if it is aborted first.
   */
  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    const { signal, hints } = options;
    signal.throwIfAborted();
    const language = speechLanguage(options.language);
    const limit = this.#options.maxStreams ?? 32;
    if (this.#streams.size >= limit) throw new ParleyError('STT_CAPACITY', { provider: NAME, limit });

    const id = this.#nextStream++;
    this.#streams.set(id, null);
    let report: VocabularyReport;
    try {
      const plainHints = { phrases: [...hints.phrases], texts: [...hints.texts], keywords: new Map(hints.keywords) };
      const opening = this.#host.request({ kind: 'open', stream: id, language, hints: plainHints });
      // Virtual time stands still meanwhile: how long the machine takes to load a model decides nothing.
      const answer = await options.clock.settle(opening, options.clock.nowMs());
      report = answer as VocabularyReport;
    } catch (error) {
      this.#streams.delete(id);
      throw error;
    }
    if (signal.aborted) {
      this.#streams.delete(id);
      this.#host.send({ kind: 'close', stream: id });
      throw signal.reason;
    }
    const abort = (): void => {
      void stream.close();
    };
    const stream = new EmbeddedStream(this.#host, id, options.clock, events, () => {
      this.#streams.delete(id);
      signal.removeEventListener('abort', abort);
    });
    this.#streams.set(id, stream);
    signal.addEventListener('abort', abort, { once: true });
    this.#options.onVocabulary?.(report);
    return stream;
  }

  async close(): Promise<void> {
    for (const stream of Array.from(this.#streams.values())) void stream?.close();
    await this.#host.close();
  }
}

/** `en-GB` is understood by the model of `en`. */
function speechLanguage(code: string): SpeechLanguage {
  const base = baseOf(code);
  if (base !== null) return base;
  throw new ParleyError('STT_LANGUAGE_UNSUPPORTED', {
    provider: 'The embedded recogniser',
    language: code,
    supported: 'en-* and fr-*',
  });
}

function baseOf(code: string): SpeechLanguage | null {
  const base = code.toLowerCase().split(/[-_]/)[0];
  return base === 'en' || base === 'fr' ? base : null;
}
