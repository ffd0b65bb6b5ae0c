import type { SpeechLanguage } from '../lm/text.js';
import type { TurnDecoder } from './turn-decoder.js';
import type { Vocabulary } from './vocabulary.js';

export interface DecoderPoolOptions {
  /** Most decoders at once. */
  readonly size: number;
  readonly make: (language: SpeechLanguage) => Promise<TurnDecoder>;
  /** Whether a session that is open has this vocabulary: its grammar is better not overwritten. */
  readonly isWanted: (key: string) => boolean;
  /** A decoder that was being made is there, or could not be. */
  readonly onMade: () => void;
}

interface Slot {
  readonly language: SpeechLanguage;
  /** Null while it is being made. */
  decoder: TurnDecoder | null;
  /** Key of the vocabulary that is loaded; null for none. */
  key: string | null;
  /** Key of the vocabulary that it is being made for. */
  madeFor: string | null;
  /** The session that has it, or that it is being made for. */
  borrower: number | null;
}

/**
 * The worker's decoders: made when they are needed, lent to one session for one turn, kept for the next. At most
 * `size`, whatever the number of sessions. One that already holds the agent's grammar is preferred; loading another
 * takes a tenth of a second.
 */
export class DecoderPool {
  readonly #options: DecoderPoolOptions;
  /** In the order of their last use, the newest last. */
  readonly #slots: Slot[] = [];
  /** Borrowers whose decoder could not be made, and why. */
  readonly #failed = new Map<number, Error>();

  constructor(options: DecoderPoolOptions) {
    this.#options = options;
  }

  /** Has one decoder of the language ready. Rejects if it cannot be made. */
  async warm(language: SpeechLanguage): Promise<void> {
    if (this.#slots.length < this.#options.size && !this.#slots.some((slot) => slot.language === language)) {
      await this.#make(null, language, null);
    }
  }

  /**
   * A decoder with this vocabulary, which the borrower has until `giveBack`; undefined where none is free, or one is
   * being made (`onMade` is called then). Throws if it cannot be made or refuses the vocabulary.
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
   * Loads a vocabulary before it is needed, where there is room for it. False while a decoder is being made for it;
   * true where there is nothing more to do. Throws if the vocabulary is refused.
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

  /** The borrower needs its decoder no more. */
  giveBack(borrower: number): void {
    this.#failed.delete(borrower);
    const slot = this.#slots.find((one) => one.borrower === borrower);
    if (slot === undefined) return;
    slot.borrower = null;
    slot.decoder?.stop();
    this.#slots.splice(this.#slots.indexOf(slot), 1);
    this.#slots.push(slot);
  }

  /** In this order: one with the grammar, one whose grammar nobody needs, a new one, one whose grammar is needed. */
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

  /** A free one whose grammar nobody needs. */
  #spare({ language }: Vocabulary): Slot | undefined {
    return this.#free().find(({ key, ...slot }) => {
      return slot.language === language && (key === null || !this.#options.isWanted(key));
    });
  }

  /** Begins to make one more, if there may be one and none is being made for this borrower. Never there at once. */
  #room(borrower: number, { key, language }: Vocabulary): undefined {
    if (!this.isMakingFor(borrower) && this.#slots.length < this.#options.size) {
      // Whoever waits for it is told by `borrow`.
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
