import type { Denoiser } from '../../../audio/dsp/denoiser.js';
import { rnnoise } from '../../../audio/dsp/rnnoise.js';
import { baseLanguage } from '../../../base/language.js';
import { ParleyError } from '../../../base/errors.js';
import type { SpeechLanguage } from '../lm/text.js';
import type { SttEvents, SttOptions, SttProvider, SttStream, SttTranscript } from '../stt.js';
import { CleanLine } from './clean-line.js';
import type { VocabularyReport, Hypothesis } from './protocol.js';
import { PocketSphinx, type PocketSphinxFiles } from './pocketsphinx.js';
import { type Question, SECOND_FINAL_MS, SecondRecogniser } from './second-recogniser.js';
import { WorkerHost } from './worker-host.js';
import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { Clock } from '../../../base/clock.js';
import { AudioHistory } from '../../../audio/audio-history.js';
import { HEARING_RATE_HZ, msToSamples } from '../../../audio/frame.js';

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
  /** The second recogniser for English, see docs/stt.md. Default none. */
  pocketSphinx?: PocketSphinxFiles | null;
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
  readonly finalMs?: number;
  readonly abilities = { understands: (language: string): boolean => embeddedLanguage(language) !== null };
  readonly #options: EmbeddedSttOptions;
  readonly #streams = new Map<number, EmbeddedStream | null>();
  readonly #host: WorkerHost;
  readonly #second: SecondRecogniser | null;
  #nextStream = 1;

  constructor(options: EmbeddedSttOptions = {}) {
    this.#options = options;
    const onCrash = (error: Error): void => {
      for (const stream of Array.from(this.#streams.values())) stream?.fail(error);
    };
    this.#second = options.pocketSphinx == null ? null : new SecondRecogniser(new PocketSphinx(options.pocketSphinx));
    if (this.#second !== null) this.finalMs = SECOND_FINAL_MS;
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
    const second = language === 'en' ? this.#second : null;
    second?.start();
    const parts = { host: this.#host, id, line: new CleanLine(denoiser), second, clock: options.clock };
    const stream = new EmbeddedStream(parts, events, () => {
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
    await Promise.all([this.#host.close(), this.#second?.close()]);
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

interface StreamParts {
  host: WorkerHost;
  /** The number of the session in the worker. */
  id: number;
  /** Closed with the stream. */
  line: CleanLine;
  second: SecondRecogniser | null;
  clock: Clock;
}

/**
 * Recognition of one session. A turn is one segment: each 100 ms of audio requests the transcript so far; the end of
 * speech requests the final one. Speech that resumes before `endTurn` continues the segment and replaces its
 * transcript. Requests depend on sample counts alone.
 */
export class EmbeddedStream implements SttStream {
  readonly #host: WorkerHost;
  readonly #stream: number;
  readonly #clock: Clock;
  readonly #events: SttEvents;
  readonly #onClose: () => void;
  readonly #line: CleanLine;
  readonly #second: SecondRecogniser | null;
  readonly #audio = new TurnAudio();
  /** What the second recogniser may have to decode. */
  readonly #turn: Int16Array[] = [];
  /** What the agent has asked for, and what it had asked for when the turn began. */
  #expected: ExpectedAnswer | null = null;
  #answer: ExpectedAnswer | null = null;
  #segment = 0;
  #asked = 0;
  #delivered = 0;
  #lastText = '';
  #closed = false;

  constructor({ host, id, line, second, clock }: StreamParts, events: SttEvents, onClose: () => void) {
    this.#line = line;
    this.#host = host;
    this.#stream = id;
    this.#second = second;
    this.#clock = clock;
    this.#events = events;
    this.#onClose = onClose;
  }

  push(samples: Int16Array, startSample: number): void {
    if (this.#closed) return;
    const clean = this.#line.process(samples, startSample, this.#audio.inTurn);
    for (const chunk of this.#audio.push(clean.samples, clean.startSample)) this.#ask(chunk, false);
  }

  speechStarted(sample: number): void {
    if (this.#closed) return;
    if (!this.#audio.inTurn) this.#answer = this.#expected;
    for (const chunk of this.#audio.speechStarted(sample)) this.#ask(chunk, false);
  }

  speechStopped(sample: number): void {
    if (this.#closed || !this.#audio.speaking) return;
    this.#ask(this.#audio.speechStopped(sample), true);
  }

  endTurn(): void {
    if (this.#closed || !this.#audio.inTurn) return;
    this.#audio.endTurn();
    this.#segment++;
    this.#lastText = '';
    this.#turn.length = 0;
    this.#answer = this.#expected;
    this.#host.send({ kind: 'end', stream: this.#stream });
  }

  expect(answer: ExpectedAnswer | null): void {
    this.#expected = answer;
    if (!this.#closed) this.#host.send({ kind: 'expect', stream: this.#stream, answer });
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#host.send({ kind: 'close', stream: this.#stream });
      this.#line.close();
      this.#onClose();
    }
    return Promise.resolve();
  }

  /** Fails the stream; notifies the session once. */
  fail(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#host.send({ kind: 'close', stream: this.#stream });
    this.#line.close();
    this.#onClose();
    this.#events.onError(error);
  }

  #ask(samples: Int16Array, isFinal: boolean): void {
    const order = ++this.#asked;
    const segment = this.#segment;
    if (this.#second !== null) this.#turn.push(samples.slice());
    const second = isFinal ? this.#secondOpinion() : null;
    const work = this.#host.request({ kind: 'audio', stream: this.#stream, samples, isFinal });
    const dueMs = this.#clock.nowMs() + (isFinal ? EMBEDDED_LATENCY.finalMs : EMBEDDED_LATENCY.interimMs);
    // Maps positions now: the turn may end before the answer arrives.
    const toSession = this.#audio.places();
    const first = this.#clock.settle(work, dueMs) as Promise<Hypothesis | null>;
    const best = second === null ? first : first.then((hypothesis) => hypothesis && second(hypothesis));
    best.then(
      (hypothesis) => {
        if (hypothesis !== null) this.#deliver(hypothesis, order, segment, isFinal, toSession);
      },
      (error: unknown) => {
        this.fail(error as Error);
      },
    );
  }

  /** Asks the second recogniser about the turn so far, if it has to; null = there is none. */
  #secondOpinion(): ((first: Hypothesis) => Promise<Hypothesis>) | null {
    const second = this.#second;
    if (second === null) return null;
    const answer = this.#answer;
    const question: Question = {
      audio: [...this.#turn],
      clock: this.#clock,
      score: async (sentences) => {
        const request = { kind: 'score', stream: this.#stream, sentences, answer } as const;
        return (await this.#host.request(request)) as readonly number[] | null;
      },
      onFault: (reason) => {
        if (!this.#closed) this.#events.onFault?.(reason);
      },
    };
    return (first) => second.improve(first, question);
  }

  #deliver(
    hypothesis: Hypothesis,
    order: number,
    segment: number,
    isFinal: boolean,
    toSession: (turnSample: number) => number,
  ): void {
    // An interim result may arrive after a final that was requested later.
    if (this.#closed || order < this.#delivered) return;
    this.#delivered = order;
    if (!isFinal && (segment !== this.#segment || hypothesis.text === this.#lastText)) return;
    if (segment === this.#segment) this.#lastText = hypothesis.text;
    const transcript: SttTranscript = {
      segment,
      text: hypothesis.text,
      isFinal,
      understood: hypothesis.understood,
      confidence: hypothesis.confidence,
      words: hypothesis.words.map((word) => ({
        text: word.text,
        startSample: toSession(word.startSample),
        endSample: toSession(word.endSample),
        confidence: word.confidence,
      })),
    };
    this.#events.onTranscript(transcript);
  }
}

/**
 * Recognition latency in virtual time: medians measured by bench/stt.ts (docs/stt.md), so that a virtual run has
 * realistic and reproducible timing.
 */
interface SttLatency {
  /** From the last audio of a hypothesis to the interim transcript. */
  interimMs: number;
  /** From the VAD's end of speech to the final transcript. */
  finalMs: number;
}

const EMBEDDED_LATENCY: SttLatency = { interimMs: 20, finalMs: 9 };

/** Audio is decoded in chunks of this length, counted from the start of the turn. */
export const CHUNK_SAMPLES = msToSamples(100, HEARING_RATE_HZ);
/** Audio before the VAD's onset that is decoded: covers soft beginnings and late detection. */
const PRE_ROLL_SAMPLES = msToSamples(350, HEARING_RATE_HZ);
/** Longest pause within a turn that is decoded in full; of a longer one only the pre-roll is. */
const HISTORY_SAMPLES = msToSamples(1200, HEARING_RATE_HZ);
/** Silence that the decoder needs after the last word. */
const TAIL_SAMPLES = msToSamples(150, HEARING_RATE_HZ);
/** Longest turn that is decoded. Beyond it (a television, a line on hold) the transcript does not change. */
const MAX_TURN_SAMPLES = msToSamples(120_000, HEARING_RATE_HZ);

/**
 * Selects the audio to decode: speech marked by the VAD, the pre-roll, and pauses within a turn, in chunks. Audio
 * outside speech is skipped, so an idle session costs nothing. Works on sample counts only.
 */
export class TurnAudio {
  readonly #history = new AudioHistory(HISTORY_SAMPLES);
  #pending = new Int16Array(CHUNK_SAMPLES);
  #pendingSamples = 0;
  #speaking = false;
  /** Position after the last sample of the turn. */
  #takenTo = 0;
  #turnSamples = 0;
  /** Maps the turn's audio to the session: from `turn` on, at `session`. */
  #places: { turn: number; session: number }[] = [];

  /** Whether a turn is open. */
  get inTurn(): boolean {
    return this.#places.length > 0;
  }

  get speaking(): boolean {
    return this.#speaking;
  }

  /** Adds audio; returns the chunks that are complete. */
  push(samples: Int16Array, startSample: number): Int16Array[] {
    const jumped = startSample !== this.#history.end;
    this.#history.write(samples, startSample);
    if (!this.#speaking) return [];
    if (jumped) this.#places.push({ turn: this.#turnSamples, session: startSample });
    this.#takenTo = startSample + samples.length;
    return this.#take(samples);
  }

  /** Speech began at `sample`. Returns the chunks that are complete. */
  speechStarted(sample: number): Int16Array[] {
    if (this.#speaking) return [];
    this.#speaking = true;
    const resumes = this.inTurn && this.#takenTo >= this.#history.start;
    // Never from before the end of the previous turn: it would be transcribed twice.
    const from = resumes ? this.#takenTo : Math.max(sample - PRE_ROLL_SAMPLES, this.#takenTo, this.#history.start);
    const audio = this.#history.readFrom(from);
    this.#places.push({ turn: this.#turnSamples, session: this.#history.end - audio.length });
    this.#takenTo = this.#history.end;
    return this.#take(audio);
  }

  /** Speech ended at `sample`. Returns the rest of the turn's audio so far, padded with silence if it is short. */
  speechStopped(sample: number): Int16Array {
    if (!this.#speaking) return new Int16Array(0);
    this.#speaking = false;
    const quiet = Math.max(0, this.#takenTo - sample);
    const padding = Math.max(0, TAIL_SAMPLES - quiet);
    const rest = new Int16Array(this.#pendingSamples + padding);
    rest.set(this.#pending.subarray(0, this.#pendingSamples));
    this.#pendingSamples = 0;
    this.#turnSamples += padding;
    return rest;
  }

  /** Ends the turn. Ongoing speech belongs to the next one. */
  endTurn(): void {
    this.#pendingSamples = 0;
    this.#turnSamples = 0;
    this.#places = this.#speaking ? [{ turn: 0, session: this.#takenTo }] : [];
  }

  /** Maps positions in the current turn's audio to the session's; the map outlives the turn. */
  places(): (turnSample: number) => number {
    const places = this.#places;
    return (turnSample) => {
      let place = places[0];
      for (const next of places) if (next.turn <= turnSample) place = next;
      return place === undefined ? turnSample : place.session + turnSample - place.turn;
    };
  }

  #take(samples: Int16Array): Int16Array[] {
    const chunks: Int16Array[] = [];
    let rest = samples.subarray(0, Math.max(0, MAX_TURN_SAMPLES - this.#turnSamples));
    this.#turnSamples += rest.length;
    while (rest.length > 0) {
      const part = rest.subarray(0, CHUNK_SAMPLES - this.#pendingSamples);
      this.#pending.set(part, this.#pendingSamples);
      this.#pendingSamples += part.length;
      rest = rest.subarray(part.length);
      if (this.#pendingSamples < CHUNK_SAMPLES) continue;
      chunks.push(this.#pending);
      this.#pending = new Int16Array(CHUNK_SAMPLES);
      this.#pendingSamples = 0;
    }
    return chunks;
  }
}
