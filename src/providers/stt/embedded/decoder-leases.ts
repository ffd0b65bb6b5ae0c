import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import type { SpeechLanguage } from '../lm/text.js';
import { DecoderPool, type DecoderPoolOptions } from './decoder-pool.js';
import { SessionTurn, type Reply } from './session-turn.js';
import type { Vocabulary } from './vocabulary.js';

/** A speaker with no audio for this long counts as silent, whatever the VAD says: the decoder may be reclaimed. */
const QUIET_MS = 400;

export interface DecoderLeasesOptions extends Pick<DecoderPoolOptions, 'size' | 'make'> {
  readonly clock: Clock;
  /** Calls back after the messages that are queued now. */
  readonly soon: (fn: () => void) => void;
}

/**
 * Schedules the sessions and leases decoders to them. Works on one piece of 100 ms at a time and yields to the event
 * loop in between:
 *
 * - sessions whose user has stopped speaking come first, the one with the least work left before the others: an answer
 * waits for its final transcript, but nothing waits for interim ones;
 * - the others take turns;
 * - if no decoder is free, one is reclaimed from a session that has no work: its user pauses within a turn, or no audio
 * has come for 400 ms. The session gets a decoder again, and catches up, when it has work;
 * - while no one speaks, grammars are loaded for sessions that have not spoken yet.
 */
export class DecoderLeases {
  readonly #options: DecoderLeasesOptions;
  readonly #pool: DecoderPool;
  /** In the order of their last work, the latest last. */
  readonly #sessions = new Map<number, SessionTurn>();
  readonly #unprepared = new Set<number>();
  #running = false;
  #cancelWait: Cancel | undefined;

  constructor(options: DecoderLeasesOptions) {
    this.#options = options;
    const isWanted = (key: string): boolean => [...this.#sessions.values()].some((one) => one.vocabulary.key === key);
    const onMade = (): void => {
      this.#run();
    };
    this.#pool = new DecoderPool({ size: options.size, make: options.make, isWanted, onMade });
  }

  warm(language: SpeechLanguage): Promise<void> {
    return this.#pool.warm(language);
  }

  open(id: number, vocabulary: Vocabulary): void {
    this.#sessions.set(id, new SessionTurn(vocabulary));
    this.#unprepared.add(id);
    this.#run();
  }

  /** Adds audio to the current turn; the first audio begins one. The reply is the transcript so far. */
  audio(id: number, samples: Int16Array, isFinal: boolean, reply: Reply): void {
    const session = this.#sessions.get(id);
    if (session === undefined) {
      reply.failed(new Error('The stream is not open'));
      return;
    }
    session.heardMs = this.#options.clock.nowMs();
    session.addAudio(samples, isFinal, reply);
    this.#run();
  }

  /** What the agent has asked for, from the next turn on. */
  expect(id: number, answer: ExpectedAnswer | null): void {
    this.#sessions.get(id)?.expect(answer);
  }

  /** Ends the turn, after its audio has been decoded. */
  end(id: number): void {
    this.#sessions.get(id)?.addEnd();
    this.#run();
  }

  close(id: number): void {
    this.#sessions.get(id)?.close();
    this.#sessions.delete(id);
    this.#unprepared.delete(id);
    this.#pool.giveBack(id);
    this.#run();
  }

  #run(): void {
    if (this.#running) return;
    this.#running = true;
    this.#options.soon(() => {
      this.#running = false;
      if (this.#step()) this.#run();
    });
  }

  /** Does one piece of work. False if there is none. */
  #step(): boolean {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    const waiting = [...this.#sessions].filter(([, session]) => session.busy);
    const urgent = waiting.filter(([, { finalDue }]) => finalDue).sort(([, a], [, b]) => a.backlog - b.backlog);
    for (const [id, session] of [...urgent, ...waiting.filter(([, { finalDue }]) => !finalDue)]) {
      if (!session.needsDecoder) {
        this.#work(id, session);
        return true;
      }
      if (this.#lend(id, session)) return true;
    }
    if (waiting.length > 0) this.#waitForQuiet();
    return this.#prepare();
  }

  #work(id: number, session: SessionTurn): void {
    // To the end of the queue.
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    if (session.step()) this.#pool.giveBack(id);
  }

  #lend(id: number, session: SessionTurn): boolean {
    try {
      const decoder = this.#pool.borrow(id, session.vocabulary) ?? this.#recall(id, session);
      if (decoder === undefined) return false;
      session.lend(decoder);
    } catch (error) {
      this.#unprepared.delete(id);
      session.fail(error);
      this.#pool.giveBack(id);
    }
    return true;
  }

  /** Reclaims a decoder from the session that needs it least, preferably one with the right grammar. */
  #recall(id: number, { vocabulary }: SessionTurn): ReturnType<DecoderPool['borrow']> {
    if (this.#pool.isMakingFor(id)) return undefined;
    const holders = [...this.#sessions].filter(([, one]) => one.hasDecoder && !one.busy);
    const idle = holders.filter(([, one]) => one.paused || this.#quietMs(one) >= QUIET_MS);
    const [holder, session] = idle.find(([, one]) => one.vocabulary.key === vocabulary.key) ?? idle[0] ?? [];
    if (holder === undefined) return undefined;
    session?.takeBack();
    this.#pool.giveBack(holder);
    return this.#pool.borrow(id, vocabulary);
  }

  #quietMs(session: SessionTurn): number {
    return this.#options.clock.nowMs() - session.heardMs;
  }

  /** A session waits for a decoder: checks again later, as those that hold one may fall silent without a message. */
  #waitForQuiet(): void {
    const { clock } = this.#options;
    const holders = [...this.#sessions.values()].filter((one) => one.hasDecoder && !one.busy);
    if (holders.length === 0) return;
    const quietest = Math.max(...holders.map((one) => this.#quietMs(one)));
    this.#cancelWait = clock.schedule(clock.nowMs() + Math.max(1, QUIET_MS - quietest), () => {
      this.#run();
    });
  }

  /** Loads one grammar before its session's first turn. False if there is nothing to load. */
  #prepare(): boolean {
    for (const id of this.#unprepared) {
      const session = this.#sessions.get(id);
      try {
        if (session !== undefined && !this.#pool.prepare(id, session.vocabulary)) continue;
      } catch {
        // The session's first turn reports the error.
      }
      this.#unprepared.delete(id);
      return true;
    }
    return false;
  }
}
