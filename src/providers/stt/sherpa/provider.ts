import { LANGUAGES } from '../../../agent/language.js';
import { baseLanguage } from '../../../base/language.js';
import { ParleyError } from '../../../base/errors.js';
import { Deadlines } from '../../deadlines.js';
import type { EngineProcess } from '../../local/engine/engine-process.js';
import type { EngineTranscript } from '../../local/engine/engine-protocol.js';
import { LocalEngines, type LocalEnginesOptions } from '../../local/engine/engines.js';
import { type LocalModels, speaks } from '../../local/local-models.js';
import type { LocalModel } from '../../local/model-facts.js';
import { raceAbort } from '../../../base/deadlines.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../stt.js';
import { favoured } from '../shared/keywords.js';
import { WhisperStream } from '../shared/whisper-stream.js';
import { ListeningStream } from './listening-stream.js';
import { confidenceOf, readable, wordsOf } from './token-words.js';

export interface SherpaSttOptions extends LocalEnginesOptions {
  /** Batch models transcribe at this interval for interim transcripts, in milliseconds; 0 = never. Default 1000. */
  interimMs?: number;
  /** Timeout for the final transcript, in milliseconds. Default 8000. */
  finalTimeoutMs?: number;
}

const MAX_HOTWORDS = 200;

/**
 * Local models that sherpa-onnx runs in one process each: streaming transducers, Paraformers and CTC models on live
 * audio; Whisper, Moonshine, SenseVoice and other batch models on speech that our VAD segments. A model is loaded once,
 * on first use, for all sessions.
 */
export class SherpaStt implements SttProvider {
  readonly name = 'sherpa';
  readonly virtualTime = false;
  readonly abilities = {
    models: true,
    multilingual: true,
    hasModel: (name: string): boolean => this.#models.has(name),
    understands: (language: string): boolean => this.#understands(language),
  };
  readonly #options: SherpaSttOptions;
  readonly #models: LocalModels;
  readonly #engines: LocalEngines;
  readonly #streams = new Set<SttStream>();
  /** The default model; null = not determined yet, or none. */
  #own: LocalModel | null = null;
  #closed = false;

  constructor(options: SherpaSttOptions = {}) {
    this.#options = options;
    this.#engines = new LocalEngines(this.name, options);
    this.#models = this.#engines.models;
  }

  /** Loads the default model, if there is one. */
  async warmUp(): Promise<void> {
    try {
      await this.#engines.of(await this.#model(undefined, 'multi'), true).ready();
    } catch (error) {
      // An agent may name one of several.
      if (this.#models.stt !== null || !(error instanceof ParleyError) || error.code !== 'MODEL_UNKNOWN') throw error;
    }
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    const { signal, language, multilingual = false } = options;
    signal.throwIfAborted();
    const model = await this.#model(options.model, multilingual ? 'multi' : language);
    const engine = this.#engines.of(model, options.model === undefined);
    await raceAbort(engine.ready(), signal);
    const release = engine.hold();
    const stream = this.#stream(engine, model, options, events, () => {
      release();
      this.#streams.delete(stream);
    });
    this.#streams.add(stream);
    signal.addEventListener('abort', () => void stream.close(), { once: true });
    return stream;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#streams].map((stream) => stream.close()));
    await this.#engines.close();
  }

  #stream(
    engine: EngineProcess,
    model: LocalModel,
    { clock, signal, hints, language, multilingual = false }: SttOptions,
    events: SttEvents,
    onClose: () => void,
  ): SttStream {
    const { interimMs = 1000, finalTimeoutMs = 8000 } = this.#options;
    if (model.engine === 'listen') {
      return new ListeningStream({ engine, clock, events, tailMs: model.tailMs, finalTimeoutMs, onClose });
    }
    const spoken = language === 'multi' || multilingual || !model.takesLanguage ? null : baseLanguage(language);
    const hotwords = hotwordsOf(favoured(hints, MAX_HOTWORDS), model.hotwords);
    return new WhisperStream({
      clock,
      events,
      interimMs,
      onClose,
      transcribe: async (samples, abort) => {
        const deadlines = new Deadlines(clock, this.name, AbortSignal.any([signal, abort]));
        deadlines.within(finalTimeoutMs);
        try {
          const heard = await transcribed(engine, { samples, language: spoken, hotwords }, deadlines.signal);
          const text = readable(heard.text);
          const words = wordsOf(heard).map((word) => ({ ...word, text: readable(word.text) }));
          return { text, confidence: confidenceOf(heard), words };
        } catch (error) {
          if (error instanceof ParleyError && error.code === 'PROVIDER_TIMEOUT') engine.suspect();
          throw error;
        } finally {
          deadlines.end();
        }
      },
    });
  }

  /** @throws ParleyError MODEL_UNKNOWN, MODEL_UNUSABLE, STT_LANGUAGE_UNSUPPORTED, SESSION_CLOSED */
  async #model(named: string | undefined, language: string): Promise<LocalModel> {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    const wanted = named ?? this.#models.stt;
    const model = wanted === null ? await this.#models.only('stt', language) : await this.#models.find(wanted, 'stt');
    if (named === undefined) this.#own = model;
    if (speaks(model, language)) return model;
    const provider = `The model ${model.name}`;
    throw new ParleyError('STT_LANGUAGE_UNSUPPORTED', {
      provider,
      language,
      supported: model.languages?.join(', ') ?? '',
    });
  }

  /** As far as it is known: an agent may name a model for any language. */
  #understands(language: string): boolean {
    return this.#own === null || language === 'multi' || speaks(this.#own, language) || !KNOWN.has(language);
  }
}

const KNOWN: ReadonlySet<string> = new Set(LANGUAGES);

/** In sherpa-onnx's format: separated by slashes, with a colon before the weight. */
function hotwordsOf(words: readonly (readonly [string, number])[], how: LocalModel['hotwords']): string | null {
  if (how === null) return null;
  const lines = words.map(([word, weight]) => {
    const plain = word.replaceAll(/[/:\s]+/gu, ' ').trim();
    return `${how === 'in capitals' ? plain.toUpperCase() : plain} :${String(Math.min(10, weight))}`;
  });
  return lines.length === 0 ? null : lines.join('/');
}

function transcribed(
  engine: EngineProcess,
  request: { samples: Int16Array; language: string | null; hotwords: string | null },
  signal: AbortSignal,
): Promise<EngineTranscript> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      signal.removeEventListener('abort', onAbort);
      engine.leave(id);
    };
    const onAbort = (): void => {
      leave();
      reject(signal.reason as Error);
    };
    const id = engine.join({
      onReply: (reply) => {
        leave();
        if (reply.type === 'heard') resolve(reply.heard);
        else reject(new ParleyError('PROVIDER_FAILED', { provider: 'sherpa', reason: reasonIn(reply) }));
      },
      onEnd: (error) => {
        leave();
        reject(error);
      },
    });
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    engine.send({ type: 'transcribe', id, ...request });
  });
}

function reasonIn(reply: { type: string; reason?: string }): string {
  return reply.reason ?? `its engine answers with ${reply.type}`;
}
