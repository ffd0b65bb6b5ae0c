import type { AnswerValue } from './protocol.js';
import { afterTurn, type SpeakerMean } from './speaker.js';
import type { TurnDecoder } from './turn-decoder.js';
import type { Vocabulary } from './vocabulary.js';

/** What becomes of a request. */
export interface Reply {
  done(value: AnswerValue): void;
  failed(error: unknown): void;
}

type Job =
  | { readonly kind: 'audio'; readonly samples: Int16Array; readonly isFinal: boolean; readonly reply: Reply }
  | { readonly kind: 'end' };

/**
 * One session in the worker: what it still has to have decoded, its turn so far, and the decoder it has for it. The
 * turn's audio is kept until the turn is over, so that the decoder can be taken away in a pause and the search be
 * brought to the same state, to the bit, on another one. What is heard depends on the audio alone, therefore, and
 * never on when a decoder was there.
 */
export class SessionTurn {
  readonly vocabulary: Vocabulary;
  /** When audio last came. */
  heardMs = 0;
  readonly #jobs: Job[] = [];
  #finals = 0;
  #decoder: TurnDecoder | null = null;
  /** What was known of the speaker when the turn began. */
  #before: SpeakerMean | null = null;
  /** The same after the last audio of the turn; null where no turn is open. */
  #after: SpeakerMean | null = null;
  #fed: Int16Array[] = [];
  /** How much of that the decoder has been given. */
  #replayed = 0;
  #paused = true;

  constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary;
  }

  /** There is something to do. */
  get busy(): boolean {
    return this.#jobs.length > 0;
  }

  /** The user has stopped speaking and waits for the transcript. */
  get finalDue(): boolean {
    return this.#finals > 0;
  }

  /** Pieces of audio that must be decoded until all is done. */
  get backlog(): number {
    return this.#jobs.length + this.#fed.length - this.#replayed;
  }

  /** What is to be done next needs a decoder that the session does not have. */
  get needsDecoder(): boolean {
    return this.#decoder === null && this.#jobs[0]?.kind === 'audio';
  }

  get hasDecoder(): boolean {
    return this.#decoder !== null;
  }

  /** The user is silent, as far as is known. */
  get paused(): boolean {
    return this.#paused;
  }

  addAudio(samples: Int16Array, isFinal: boolean, reply: Reply): void {
    this.#jobs.push({ kind: 'audio', samples, isFinal, reply });
    if (isFinal) this.#finals++;
    this.#paused = isFinal;
  }

  addEnd(): void {
    this.#jobs.push({ kind: 'end' });
  }

  lend(decoder: TurnDecoder): void {
    this.#decoder = decoder;
    decoder.start(this.#before);
    this.#replayed = 0;
  }

  /** The decoder is needed elsewhere. */
  takeBack(): void {
    this.#decoder = null;
    this.#replayed = 0;
  }

  /** Does one piece of work: at most 100 ms of audio. True where the turn is over and the decoder free. */
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

  /** Nothing more is wanted: whoever waits is told so. */
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
