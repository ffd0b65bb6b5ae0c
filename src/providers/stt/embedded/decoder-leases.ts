import type { ExpectedAnswer } from '../../../agent/expected-answer.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import type { SpeechLanguage } from '../lm/text.js';
import { SessionTurn, type Reply } from './session-turn.js';
import type { Vocabulary } from './vocabulary.js';
import type { TurnDecoder } from './turn-decoder.js';

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

  vocabularyOf(id: number): Vocabulary | undefined {
    return this.#sessions.get(id)?.vocabulary;
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

export interface DecoderPoolOptions {
  /** Maximum number of decoders. */
  readonly size: number;
  readonly make: (language: SpeechLanguage) => Promise<TurnDecoder>;
  /** Whether an open session uses this vocabulary: its grammar should stay loaded. */
  readonly isWanted: (key: string) => boolean;
  /** Called when a decoder has been created, or has failed to be. */
  readonly onMade: () => void;
}

interface Slot {
  readonly language: SpeechLanguage;
  /** Null while it is being created. */
  decoder: TurnDecoder | null;
  /** Key of the loaded vocabulary; null = none. */
  key: string | null;
  /** Key of the vocabulary that it is being created for. */
  madeFor: string | null;
  /** The session that leases it, or that it is being created for. */
  borrower: number | null;
}

/**
 * The worker's decoder pool. Decoders are created on demand, leased to one session for one turn, and kept: at most
 * `size`, whatever the number of sessions. Prefers one that has the agent's grammar loaded; loading another takes a
 * tenth of a second.
 */
export class DecoderPool {
  readonly #options: DecoderPoolOptions;
  /** In the order of their last use, the latest last. */
  readonly #slots: Slot[] = [];
  /** Sessions whose decoder could not be created, and why. */
  readonly #failed = new Map<number, Error>();

  constructor(options: DecoderPoolOptions) {
    this.#options = options;
  }

  /** Creates one decoder of the language in advance. Rejects if that fails. */
  async warm(language: SpeechLanguage): Promise<void> {
    if (this.#slots.length < this.#options.size && !this.#slots.some((slot) => slot.language === language)) {
      await this.#make(null, language, null);
    }
  }

  /**
   * Leases a decoder with this vocabulary until `giveBack`; undefined if none is free, or one is being created
   * (`onMade` is then called). Throws if it cannot be created or rejects the vocabulary.
   */
  borrow(borrower: number, vocabulary: Vocabulary): TurnDecoder | undefined {
    const failure = this.#failed.get(borrower);
    if (failure !== undefined) {
      this.#failed.delete(borrower);
      throw failure;
    }
    const slot = this.#choose(borrower, vocabulary);
    if (slot?.decoder == null) return undefined;
    slot.borrower = borrower;
    this.#load(slot, vocabulary);
    return slot.decoder;
  }

  /**
   * Loads a vocabulary in advance, if there is capacity. False while a decoder is being created for it; true if there
   * is nothing more to do. Throws if the vocabulary is rejected.
   */
  prepare(borrower: number, vocabulary: Vocabulary): boolean {
    const isThere = this.#slots.some((slot) => {
      return slot.key === vocabulary.key || (slot.madeFor === vocabulary.key && slot.borrower !== borrower);
    });
    if (isThere || this.#failed.has(borrower)) return true;
    const slot = this.#spare(vocabulary) ?? this.#room(borrower, vocabulary);
    if (slot !== undefined) this.#load(slot, vocabulary);
    return !this.isMakingFor(borrower);
  }

  isMakingFor(borrower: number): boolean {
    return this.#slots.some((slot) => slot.borrower === borrower && slot.decoder === null);
  }

  /** Ends the lease. */
  giveBack(borrower: number): void {
    this.#failed.delete(borrower);
    const slot = this.#slots.find((one) => one.borrower === borrower);
    if (slot === undefined) return;
    slot.borrower = null;
    slot.decoder?.stop();
    this.#slots.splice(this.#slots.indexOf(slot), 1);
    this.#slots.push(slot);
  }

  /**
   * In order of preference: a decoder with the grammar, one whose grammar is unused, a new one, one whose grammar is in
   * use.
   */
  #choose(borrower: number, vocabulary: Vocabulary): Slot | undefined {
    const { key, language } = vocabulary;
    const ready = this.#free().find((slot) => slot.key === key) ?? this.#spare(vocabulary);
    if (ready !== undefined || this.#slots.length < this.#options.size)
      return ready ?? this.#room(borrower, vocabulary);
    const other = this.#free().find((slot) => slot.language === language);
    if (other !== undefined) return other;
    const foreign = this.#free()[0];
    if (foreign !== undefined) this.#drop(foreign);
    return this.#room(borrower, vocabulary);
  }

  #free(): Slot[] {
    return this.#slots.filter((slot) => slot.borrower === null && slot.decoder !== null);
  }

  /** A free one whose grammar is unused. */
  #spare({ language }: Vocabulary): Slot | undefined {
    return this.#free().find(({ key, ...slot }) => {
      return slot.language === language && (key === null || !this.#options.isWanted(key));
    });
  }

  /** Starts to create a decoder, if the limit allows it and none is being created for this session. Asynchronous. */
  #room(borrower: number, { key, language }: Vocabulary): undefined {
    if (!this.isMakingFor(borrower) && this.#slots.length < this.#options.size) {
      // `borrow` reports the error to the waiting session.
      this.#make(borrower, language, key).catch(() => undefined);
    }
  }

  #load(slot: Slot, vocabulary: Vocabulary): void {
    if (slot.key === vocabulary.key) return;
    slot.key = null;
    try {
      slot.decoder?.load(vocabulary);
      slot.key = vocabulary.key;
    } catch (error) {
      this.#drop(slot);
      throw error;
    }
  }

  async #make(borrower: number | null, language: SpeechLanguage, madeFor: string | null): Promise<void> {
    const slot: Slot = { language, decoder: null, key: null, madeFor, borrower };
    this.#slots.push(slot);
    try {
      slot.decoder = await this.#options.make(language);
      slot.borrower = null;
      slot.madeFor = null;
    } catch (error) {
      this.#drop(slot);
      if (slot.borrower === null) throw error;
      this.#failed.set(slot.borrower, error as Error);
    } finally {
      this.#options.onMade();
    }
  }

  #drop(slot: Slot): void {
    this.#slots.splice(this.#slots.indexOf(slot), 1);
    slot.decoder?.close();
  }
}
