import type { SpeechLanguage } from '../lm/text.js';
import type { TurnDecoder } from './turn-decoder.js';
import type { Vocabulary } from './vocabulary.js';

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
