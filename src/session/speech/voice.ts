import type { PronunciationSettings } from '../../agent/extensions/pronunciation.js';
import { CLAUSE_PAUSE_MS, SENTENCE_PAUSE_MS, speakMarked, type TtsProvider } from '../../providers/tts/tts.js';
import { Resampler } from '../../audio/dsp/resample.js';
import { notInt16 } from '../../audio/frame.js';
import { failureOf } from '../../base/errors.js';
import type { LlmVoice } from '../../providers/llm/llm.js';
import type { ProviderOutcome } from '../../providers/outcome.js';
import { untilAborted } from '../../base/deadlines.js';
import { OutcomeTimer } from '../outcome-timer.js';
import type { Playout } from './playout.js';
import type { UsedProvider } from '../record/usage.js';
import type { SessionContext } from '../session-context.js';

interface VoiceOptions {
  tts: TtsProvider;
  language: string;
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  pronunciation: PronunciationSettings | null;
  playout: Playout;
  /** The first audio of an utterance has arrived from the provider. */
  onFirstAudio: (utteranceId: number) => void;
  /** A provider has given audio of an utterance, or was the only one asked for it. */
  onSpoke: (who: UsedProvider, chars: number) => void;
  onOutcome: (outcome: ProviderOutcome) => void;
}

type VoiceContext = Pick<SessionContext, 'clock' | 'emit'>;

interface Job {
  readonly utteranceId: number;
  readonly text: string;
  /** The text with its speech mark-up. */
  readonly marked: string;
  /** The options at the time of the request. */
  readonly options: VoiceOptions;
  readonly abort: AbortController;
}

/** The agent's speech output: synthesises utterances one after another and fills the playout. */
export class Voice {
  readonly #context: VoiceContext;
  #options: VoiceOptions;
  #waiting: Job[] = [];
  #running: Job | null = null;
  /** The model's own speech. */
  readonly #own: RealtimeSpeech;
  #closed = false;
  /** Characters sent to the provider. */
  chars = 0;

  constructor(context: VoiceContext, options: VoiceOptions) {
    this.#context = context;
    this.#options = options;
    this.#own = new RealtimeSpeech(options);
  }

  /** Synthesises an utterance that may be spoken: `speak` or `cancel` follows. */
  prepare({ utteranceId, text, marked = text }: { utteranceId: number; text: string; marked?: string }): void {
    if (this.#closed) return;
    this.#options.playout.prepare(utteranceId, text, pauseAfter(text));
    this.#synthesiseLater(utteranceId, text, marked);
  }

  /**
   * @param how.marked the text with its speech mark-up, if it has any
   * @param how.requestId the model speaks it itself, with this request
   */
  speak(
    utteranceId: number,
    text: string,
    how: { marked?: string | undefined; requestId?: number | undefined } = {},
  ): void {
    const { marked = text, requestId } = how;
    if (this.#closed) return;
    if (requestId !== undefined) {
      this.#own.speak(utteranceId, requestId, text);
      return;
    }
    const prepared = this.#options.playout.add(utteranceId, text, pauseAfter(text));
    if (!prepared) this.#synthesiseLater(utteranceId, text, marked);
  }

  /** (More) audio of the model's own speech; it plays once it is to be spoken. */
  hear(requestId: number, piece: LlmVoice): void {
    if (!this.#closed) this.#own.take(requestId, piece);
  }

  /** A request to the model is over, whether it spoke itself or not. */
  over(requestId: number): void {
    this.#own.over(requestId);
  }

  /** The answer to a request is not needed. */
  giveUp(requestId: number): void {
    this.#own.giveUp(requestId);
  }

  /** Uses this voice from the next utterance on. */
  use(
    voice: Pick<VoiceOptions, 'tts' | 'language' | 'voiceId' | 'model' | 'settings'> &
      Partial<Pick<VoiceOptions, 'pronunciation'>>,
  ): void {
    this.#options = { ...this.#options, ...voice };
  }

  /** Sets the silence after an utterance. */
  pause(utteranceId: number, pauseMs: number): void {
    this.#options.playout.pauseAfter(utteranceId, pauseMs);
  }

  cancel(utteranceId: number): void {
    this.#waiting = this.#waiting.filter((job) => job.utteranceId !== utteranceId);
    if (this.#running?.utteranceId === utteranceId) this.#running.abort.abort();
    this.#own.cut(utteranceId);
    this.#options.playout.cancel(utteranceId);
  }

  /** Drops everything that was not played and stops synthesis. */
  drop(): void {
    this.#waiting = [];
    this.#running?.abort.abort();
    this.#own.cut();
    this.#options.playout.drop();
  }

  close(): void {
    this.#closed = true;
    this.drop();
  }

  #synthesiseLater(utteranceId: number, text: string, marked: string): void {
    this.#waiting.push({ utteranceId, text, marked, options: this.#options, abort: new AbortController() });
    this.#next();
  }

  #next(): void {
    if (this.#running !== null) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    this.#running = job;
    void this.#synthesise(job).finally(() => {
      this.#running = null;
      this.#next();
    });
  }

  async #synthesise(job: Job): Promise<void> {
    const { tts, language, voiceId, model, settings, pronunciation, playout, onFirstAudio, onOutcome } = job.options;
    const { clock, emit } = this.#context;
    const { signal } = job.abort;
    this.chars += job.text.length;
    let resampler: Resampler | null = null;
    const own: UsedProvider = { provider: tts.name, model };
    /** More than one if a fallback took over within the utterance. */
    const speakers = new Set<string>();
    const spoke = (who: UsedProvider): void => {
      const key = `${who.provider} ${who.model ?? ''}`;
      if (!speakers.has(key)) job.options.onSpoke(who, job.text.length);
      speakers.add(key);
    };
    const timer = new OutcomeTimer(tts, clock, onOutcome);
    try {
      const choice = { language, voiceId, model, settings, pronunciation };
      const request = { text: job.marked, ...choice, clock, signal, onOutcome };
      for await (const audio of untilAborted(speakMarked(tts, request), signal)) {
        if (!(audio.samples instanceof Int16Array)) throw notInt16(`samples of ${tts.name}`, audio.samples);
        if (resampler?.fromHz !== audio.sampleRateHz) {
          resampler = new Resampler(audio.sampleRateHz, playout.sampleRateHz);
        }
        if (audio.samples.length > 0) timer.first();
        if (speakers.size === 0) onFirstAudio(job.utteranceId);
        spoke(audio.by ?? own);
        playout.append(job.utteranceId, resampler.process(audio.samples).slice(), audio.words);
      }
      if (signal.aborted) return;
      if (resampler !== null) playout.append(job.utteranceId, resampler.flush().slice());
      playout.complete(job.utteranceId);
    } catch (error) {
      if (signal.aborted) return;
      timer.failed();
      // Before the cancellation: the conversation asks how far it was heard.
      emit({ type: 'utterance.failed', utteranceId: job.utteranceId, ...failureOf(error) });
      playout.cancel(job.utteranceId);
    } finally {
      if (speakers.size === 0) spoke(own);
    }
  }
}

function pauseAfter(text: string): number {
  return /[.!?…。！？]["'”’)]*$/.test(text) ? SENTENCE_PAUSE_MS : CLAUSE_PAUSE_MS;
}

interface RealtimeSpeechOptions {
  playout: Playout;
  /** The first audio of an utterance has arrived. */
  onFirstAudio: (utteranceId: number) => void;
}

/** One answer of a speech-to-speech model. */
interface Answer {
  /** Null = not to be played (yet). */
  utteranceId: number | null;
  resampler: Resampler | null;
  /** Audio that arrived before it was to be played. */
  waiting: Int16Array[];
  /** All of its audio has arrived. */
  complete: boolean;
  cut: LlmVoice['cut'];
}

/**
 * Speech-to-speech audio: collected by request, passed to the playout when the conversation wants it spoken, and
 * truncated at the model where the listener stopped hearing it.
 */
class RealtimeSpeech {
  readonly #options: RealtimeSpeechOptions;
  readonly #answers = new Map<number, Answer>();

  constructor(options: RealtimeSpeechOptions) {
    this.#options = options;
  }

  /** More of the answer to a request. */
  take(requestId: number, { audio, isLast, cut }: LlmVoice): void {
    const known = this.#answers.get(requestId);
    const answer: Answer = known ?? { utteranceId: null, resampler: null, waiting: [], complete: false, cut };
    this.#answers.set(requestId, answer);
    answer.cut = cut;
    if (audio !== null) {
      const { playout } = this.#options;
      if (answer.resampler?.fromHz !== audio.sampleRateHz) {
        answer.resampler = new Resampler(audio.sampleRateHz, playout.sampleRateHz);
        if (answer.utteranceId !== null) this.#options.onFirstAudio(answer.utteranceId);
      }
      this.#give(answer, answer.resampler.process(audio.samples).slice());
    }
    if (isLast) this.#complete(answer);
  }

  /** Plays it after the queue. */
  speak(utteranceId: number, requestId: number, text: string): void {
    const { playout, onFirstAudio } = this.#options;
    this.#forgetPlayed();
    playout.add(utteranceId, text, SENTENCE_PAUSE_MS);
    const answer = this.#answers.get(requestId);
    if (answer === undefined) {
      playout.complete(utteranceId); // it has been cancelled meanwhile
      return;
    }
    answer.utteranceId = utteranceId;
    if (answer.resampler !== null) onFirstAudio(utteranceId);
    for (const samples of answer.waiting.splice(0)) playout.append(utteranceId, samples);
    if (answer.complete) playout.complete(utteranceId);
  }

  /** A request is over. Its audio is, or may still be, played as far as it goes. */
  over(requestId: number): void {
    const answer = this.#answers.get(requestId);
    if (answer !== undefined) this.#complete(answer);
  }

  /** The answer to a request is not needed (any more): queued audio is played as far as it goes. */
  giveUp(requestId: number): void {
    this.over(requestId);
    if (this.#answers.get(requestId)?.utteranceId === null) this.#answers.delete(requestId);
  }

  /** An utterance, or all, will not be played further: tells the model how far it was heard. */
  cut(utteranceId?: number): void {
    for (const [requestId, answer] of this.#answers) {
      const { utteranceId: id } = answer;
      if (id === null || (utteranceId !== undefined && id !== utteranceId)) continue;
      const heardMs = this.#options.playout.playedMs(id);
      this.#answers.delete(requestId);
      if (heardMs !== null) answer.cut(heardMs);
    }
  }

  #give(answer: Answer, samples: Int16Array): void {
    if (answer.utteranceId === null) answer.waiting.push(samples);
    else this.#options.playout.append(answer.utteranceId, samples);
  }

  #complete(answer: Answer): void {
    if (answer.complete) return;
    answer.complete = true;
    if (answer.resampler !== null) this.#give(answer, answer.resampler.flush().slice());
    if (answer.utteranceId !== null) this.#options.playout.complete(answer.utteranceId);
  }

  #forgetPlayed(): void {
    for (const [requestId, { utteranceId }] of this.#answers) {
      if (utteranceId !== null && this.#options.playout.playedMs(utteranceId) === null) this.#answers.delete(requestId);
    }
  }
}
