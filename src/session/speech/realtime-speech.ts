import { Resampler } from '../../audio/dsp/resample.js';
import { SENTENCE_PAUSE_MS } from '../../audio/pauses.js';
import type { LlmVoice } from '../../providers/llm/llm.js';
import type { Playout } from './playout.js';

export interface RealtimeSpeechOptions {
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
export class RealtimeSpeech {
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
