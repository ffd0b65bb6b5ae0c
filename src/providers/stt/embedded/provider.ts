import type { Denoiser } from '../../../audio/dsp/denoiser.js';
import { rnnoise } from '../../../audio/dsp/rnnoise.js';
import { baseLanguage } from '../../../base/language.js';
import { ParleyError } from '../../../base/errors.js';
import type { SpeechLanguage } from '../lm/text.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import { CleanLine } from './clean-line.js';
import type { VocabularyReport } from './protocol.js';
import { EmbeddedStream } from './stream.js';
import { WorkerHost } from './worker-host.js';

export interface EmbeddedSttOptions {
  /** Maximum number of concurrent sessions, speaking or not. Default 32. */
  maxStreams?: number;
  /**
   * Maximum number of decoders, at least one: as many users can be recognised at the same time, others wait until one
   * of them pauses. More than a processor can serve in real time are useless. Default 4.
   */
  decoders?: number;
  /** Language whose models `warmUp` loads. Default `en`. */
  warmLanguage?: SpeechLanguage;
  /** Called at each `open` with a report on the agent's words. */
  onVocabulary?: (report: VocabularyReport) => void;
  /** Entry point of the worker. Default: the built one. */
  workerEntry?: URL;
}

const NAME = 'embedded';

/**
 * The recogniser that needs no account, key or network: PocketSphinx (as WebAssembly, package soundswallower) in a
 * worker thread, with a language model built from the agent's hints. It understands what these hints and an everyday
 * vocabulary cover, and reports `understood: false` for the rest. docs/stt.md lists its accuracy.
 */
export class EmbeddedStt implements SttProvider {
  readonly name = NAME;
  readonly virtualTime = true;
  readonly abilities = { understands: (language: string): boolean => embeddedLanguage(language) !== null };
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
   * signal's reason if it is aborted first
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
    let denoiser: Denoiser;
    try {
      const plainHints = { phrases: [...hints.phrases], texts: [...hints.texts], keywords: new Map(hints.keywords) };
      const opening = this.#host.request({ kind: 'open', stream: id, language, hints: plainHints });
      // Virtual time does not advance meanwhile: the load time must not affect the run.
      const both = Promise.all([opening, rnnoise()]);
      const [answer, noiseRemoval] = await options.clock.settle(both, options.clock.nowMs());
      report = answer as VocabularyReport;
      denoiser = noiseRemoval;
    } catch (error) {
      this.#streams.delete(id);
      throw error;
    }
    if (signal.aborted) {
      denoiser.close();
      this.#streams.delete(id);
      this.#host.send({ kind: 'close', stream: id });
      throw signal.reason;
    }
    const abort = (): void => {
      void stream.close();
    };
    const stream = new EmbeddedStream(this.#host, id, new CleanLine(denoiser), options.clock, events, () => {
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

/** The base language's model: `en` for `en-GB`. */
function speechLanguage(code: string): SpeechLanguage {
  const base = embeddedLanguage(code);
  if (base !== null) return base;
  throw new ParleyError('STT_LANGUAGE_UNSUPPORTED', {
    provider: 'The embedded recogniser',
    language: code,
    supported: 'en-* and fr-*',
  });
}

function embeddedLanguage(code: string): SpeechLanguage | null {
  const base = baseLanguage(code);
  return base === 'en' || base === 'fr' ? base : null;
}
