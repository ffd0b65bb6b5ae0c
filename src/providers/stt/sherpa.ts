import { LANGUAGES } from '../../agent/language.js';
import { baseLanguage } from '../../base/language.js';
import { ParleyError } from '../../base/errors.js';
import { Deadlines } from '../deadlines.js';
import type { EngineProcess } from '../local/engine/engine-process.js';
import type { EngineTranscript } from '../local/engine/engine-protocol.js';
import { LocalEngines, type LocalEnginesOptions } from '../local/engine/engines.js';
import { type LocalModels, speaks } from '../local/local-models.js';
import type { LocalModel } from '../local/model-facts.js';
import { raceAbort } from '../../base/deadlines.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from './stt.js';
import { favoured } from './shared/keywords.js';
import { WhisperStream } from './shared/whisper-stream.js';
import { HEARING_RATE_HZ, msToSamples } from '../../audio/frame.js';
import type { Cancel, Clock } from '../../base/clock.js';
import { SampleMap, LeadAudio } from './shared/outgoing-audio.js';
import { Segments } from './shared/segments.js';

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

export interface ListeningStreamOptions {
  engine: EngineProcess;
  clock: Clock;
  events: SttEvents;
  /** Silence after which the model emits its last words, in milliseconds. */
  tailMs: number;
  /** Timeout for the final transcript, in milliseconds. */
  finalTimeoutMs: number;
  onClose: () => void;
}

/** Audio before the VAD's onset, so that the first sound is not cut off. */
const LEAD_MS = 300;
/** Audio is sent to the process in chunks of this length, to reduce messages; a model processes more at a time. */
const PIECE_SAMPLES = msToSamples(100, HEARING_RATE_HZ);

/**
 * One session's stream to a streaming model. Sends only speech, with a short lead; at a pause, padding with silence
 * makes the model emit its last words at once. Each turn is a new stream of the model.
 */
export class ListeningStream implements SttStream {
  readonly #options: ListeningStreamOptions;
  readonly #segments: Segments;
  readonly #lead = new LeadAudio(LEAD_MS);
  readonly #padSamples: number;
  #map = new SampleMap();
  /** Audio for the next chunk. */
  readonly #piece = new Int16Array(PIECE_SAMPLES);
  #pieceSamples = 0;
  /** Id of the turn's stream in the process; null = the turn has not begun. */
  #id: number | null = null;
  /** Number of the current turn. */
  #turn = 0;
  #speaking = false;
  /** Mark of the last request for a final transcript; 0 = none is pending. */
  #mark = 0;
  #awaited = 0;
  #finalDue: Cancel | null = null;
  #closed = false;

  constructor(options: ListeningStreamOptions) {
    this.#options = options;
    this.#padSamples = msToSamples(options.tailMs, HEARING_RATE_HZ);
    this.#segments = new Segments((transcript) => {
      if (!this.#closed) options.events.onTranscript(transcript);
    });
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    if (this.#speaking) this.#send(samples, startSample);
    else this.#lead.push(samples, startSample);
  }

  speechStarted(sample: number): void {
    if (this.#closed || this.#speaking) return;
    this.#speaking = true;
    this.#awaited = 0;
    this.#finalDue?.();
    this.#segments.goesOn();
    for (const { samples, startSample } of this.#lead.take(sample)) this.#send(samples, startSample);
  }

  speechStopped(): void {
    if (this.#closed || !this.#speaking) return;
    this.#speaking = false;
    if (this.#id === null) return;
    const { engine, clock, finalTimeoutMs } = this.#options;
    this.#awaited = ++this.#mark;
    this.#flush(this.#id);
    engine.send({ type: 'finish', id: this.#id, mark: this.#mark, padSamples: this.#padSamples });
    this.#map.padded(this.#padSamples);
    this.#finalDue?.();
    this.#finalDue = clock.schedule(clock.nowMs() + finalTimeoutMs, () => {
      engine.suspect();
      this.#fail(new ParleyError('PROVIDER_TIMEOUT', { provider: 'sherpa', timeoutMs: finalTimeoutMs }));
    });
  }

  endTurn(): void {
    if (this.#closed) return;
    this.#segments.endTurn(this.#map.endSample);
    this.#leave();
    this.#turn++;
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#leave();
      this.#options.onClose();
    }
    return Promise.resolve();
  }

  #send(samples: Int16Array, startSample: number): void {
    const id = this.#id ?? this.#begin();
    this.#map.sent(startSample, samples.length);
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + PIECE_SAMPLES - this.#pieceSamples);
      this.#piece.set(part, this.#pieceSamples);
      this.#pieceSamples += part.length;
      at += part.length;
      if (this.#pieceSamples === PIECE_SAMPLES) this.#flush(id);
    }
  }

  #flush(id: number): void {
    const samples = this.#piece.subarray(0, this.#pieceSamples);
    this.#pieceSamples = 0;
    if (samples.length > 0) this.#options.engine.send({ type: 'audio', id, samples });
  }

  #begin(): number {
    const { engine } = this.#options;
    const turn = this.#turn;
    const id = engine.join({
      onReply: (reply) => {
        if (turn !== this.#turn || this.#closed) return;
        if (reply.type === 'heard') this.#heard(reply.heard, reply.mark);
        if (reply.type === 'failed') {
          this.#fail(new ParleyError('PROVIDER_FAILED', { provider: 'sherpa', reason: reply.reason }));
        }
      },
      onEnd: (error) => this.#fail(error),
    });
    this.#id = id;
    engine.send({ type: 'open', id });
    return id;
  }

  #leave(): void {
    this.#finalDue?.();
    this.#awaited = 0;
    if (this.#id !== null) this.#options.engine.leave(this.#id);
    this.#id = null;
    this.#pieceSamples = 0;
    this.#map = new SampleMap();
  }

  #heard(heard: EngineTranscript, mark: number | null): void {
    const isFinal = mark !== null && mark === this.#awaited;
    this.#segments.update(this.#turn, {
      text: readable(heard.text),
      isFinal,
      confidence: confidenceOf(heard),
      words: wordsOf(heard).map(({ text, startMs, endMs, confidence }) => ({
        text: readable(text),
        confidence,
        startSample: this.#map.sampleAt(startMs),
        endSample: this.#map.sampleAt(endMs),
      })),
    });
    if (!isFinal) return;
    this.#awaited = 0;
    this.#finalDue?.();
    this.#segments.final();
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    void this.close();
    this.#options.events.onError(error);
  }
}

/** A word with its times in milliseconds of the stream. */
export interface HeardWord {
  text: string;
  startMs: number;
  endMs: number;
  /** 0..1. */
  confidence: number | null;
}

/** Length of the last token, which no later one bounds. */
const LAST_PIECE_MS = 160;
/** A longer token ends in a pause. */
const LONGEST_PIECE_MS = 400;

/**
 * Joins a model's tokens into words: a SentencePiece token that begins a word has a leading space (or `▁`), a
 * Paraformer token that continues in the next ends in `@@`; each Chinese character is a word.
 * @returns none if the model gives no times, or the tokens do not add up to its text
 */
export function wordsOf({ text, tokens, timesS, logProbs }: EngineTranscript): HeardWord[] {
  if (tokens.length === 0 || tokens.length !== timesS.length) return [];
  const hasSpaces = tokens.some((token) => /^[▁\s]/u.test(token));
  const words: (HeardWord & { logProb: number; pieces: number })[] = [];
  let continues = false;
  for (const [index, token] of tokens.entries()) {
    const piece = token.replace(/^[▁\s]+/u, '').replace(/@@$/u, '');
    const startMs = 1000 * (timesS[index] ?? 0);
    const nextMs = index + 1 < timesS.length ? 1000 * (timesS[index + 1] ?? 0) : startMs + LAST_PIECE_MS;
    const endMs = Math.min(Math.max(nextMs, startMs), startMs + LONGEST_PIECE_MS);
    const isNew = hasSpaces ? /^[▁\s]/u.test(token) : !continues;
    continues = token.endsWith('@@');
    const last = words.at(-1);
    const logProb = logProbs[index] ?? Number.NaN;
    if (last === undefined || (isNew && last.text !== '')) {
      words.push({ text: piece, startMs, endMs, confidence: null, logProb, pieces: 1 });
    } else {
      last.text += piece;
      last.endMs = endMs;
      last.logProb += logProb;
      last.pieces++;
    }
  }
  const plain = (one: string): string => one.replaceAll(/[\s▁]/gu, '');
  if (plain(words.map((word) => word.text).join('')) !== plain(text)) return [];
  return words
    .filter((word) => word.text !== '')
    .map(({ logProb, pieces, ...word }) => ({
      ...word,
      confidence: Number.isNaN(logProb) ? null : Math.exp(Math.min(0, logProb / pieces)),
    }));
}

/** The model's confidence in the whole text, 0..1; null = unknown. */
export function confidenceOf({ logProbs }: EngineTranscript): number | null {
  if (logProbs.length === 0) return null;
  return Math.exp(Math.min(0, logProbs.reduce((sum, one) => sum + one, 0) / logProbs.length));
}

/** Models that know capitals only mean nothing by them. */
export function readable(text: string): string {
  const isShouted = /\p{Lu}/u.test(text) && !/\p{Ll}/u.test(text);
  return (isShouted ? text.toLowerCase() : text).trim();
}
