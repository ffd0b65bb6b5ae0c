import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { AnswerValue } from './protocol.js';
import { afterTurn, type SpeakerMean } from './decoder.js';
import type { TurnDecoder } from './turn-decoder.js';
import type { Vocabulary } from './vocabulary.js';

/** Callbacks for a request. */
export interface Reply {
  done(value: AnswerValue): void;
  failed(error: unknown): void;
}

type Job =
  | {
      readonly kind: 'audio';
      readonly samples: Int16Array;
      readonly isFinal: boolean;
      readonly answer: ExpectedAnswer | null;
      readonly reply: Reply;
    }
  | { readonly kind: 'end' };

/**
 * One session in the worker: its queued audio, its current turn, and its leased decoder. It keeps the turn's audio
 * until the turn is over, so that the decoder can be reclaimed during a pause and the state rebuilt, bit for bit, on
 * another one. The transcript therefore depends on the audio alone, and never on when a decoder was available.
 */
export class SessionTurn {
  readonly vocabulary: Vocabulary;
  /** When audio last arrived. */
  heardMs = 0;
  readonly #jobs: Job[] = [];
  #finals = 0;
  #decoder: TurnDecoder | null = null;
  /** Speaker adaptation at the start of the turn. */
  #before: SpeakerMean | null = null;
  /** Speaker adaptation after the last audio of the turn; null = no turn is open. */
  #after: SpeakerMean | null = null;
  #fed: Int16Array[] = [];
  /** How much of that the decoder has received. */
  #replayed = 0;
  #paused = true;
  /** What the agent has asked for, and what it had asked for when the turn began. */
  #expected: ExpectedAnswer | null = null;
  #answer: ExpectedAnswer | null = null;

  constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary;
  }

  /** Whether there is work. */
  get busy(): boolean {
    return this.#jobs.length > 0;
  }

  /** The user has stopped speaking and the final transcript is due. */
  get finalDue(): boolean {
    return this.#finals > 0;
  }

  /** Chunks of audio left to decode. */
  get backlog(): number {
    return this.#jobs.length + this.#fed.length - this.#replayed;
  }

  /** Whether the next work needs a decoder that the session does not have. */
  get needsDecoder(): boolean {
    return this.#decoder === null && this.#jobs[0]?.kind === 'audio';
  }

  get hasDecoder(): boolean {
    return this.#decoder !== null;
  }

  /** Whether the user is silent, as far as is known. */
  get paused(): boolean {
    return this.#paused;
  }

  addAudio(samples: Int16Array, isFinal: boolean, reply: Reply): void {
    this.#jobs.push({ kind: 'audio', samples, isFinal, answer: this.#expected, reply });
    if (isFinal) this.#finals++;
    this.#paused = isFinal;
  }

  /** From the next turn on. */
  expect(answer: ExpectedAnswer | null): void {
    this.#expected = answer;
  }

  addEnd(): void {
    this.#jobs.push({ kind: 'end' });
  }

  lend(decoder: TurnDecoder): void {
    this.#decoder = decoder;
    const first = this.#jobs[0];
    if (this.#fed.length === 0 && first?.kind === 'audio') this.#answer = first.answer;
    decoder.start(this.#before, this.#answer);
    this.#replayed = 0;
  }

  /** Ends the lease of the decoder. */
  takeBack(): void {
    this.#decoder = null;
    this.#replayed = 0;
  }

  /** Does one piece of work: at most 100 ms of audio. True if the turn is over and the decoder free. */
  step(): boolean {
    const decoder = this.#decoder;
    const again = this.#fed[this.#replayed];
    if (decoder !== null && again !== undefined && this.#jobs[0]?.kind === 'audio') {
      this.#replayed++;
      try {
        decoder.feed(again);
      } catch (error) {
        this.fail(error);
      }
      return false;
    }
    const job = this.#jobs.shift();
    if (job === undefined) return false;
    if (job.kind === 'end') {
      this.#endTurn();
      return true;
    }
    if (job.isFinal) this.#finals--;
    try {
      if (decoder === null) throw new Error('There is no decoder');
      if (job.samples.length > 0) {
        this.#fed.push(job.samples);
        this.#replayed++;
        decoder.feed(job.samples);
      }
      this.#after = decoder.speaker;
      job.reply.done(decoder.hypothesis());
    } catch (error) {
      job.reply.failed(error);
    }
    return false;
  }

  /** Closes the session and answers its pending requests. */
  close(): void {
    for (const job of this.#jobs.splice(0)) if (job.kind === 'audio') job.reply.done(null);
  }

  fail(error: unknown): void {
    for (const job of this.#jobs.splice(0)) if (job.kind === 'audio') job.reply.failed(error);
    this.#finals = 0;
  }

  #endTurn(): void {
    if (this.#after !== null) this.#before = afterTurn(this.#after);
    this.#after = null;
    this.#fed = [];
    this.takeBack();
  }
}
