import type { CallbackSettings } from '../../agent/extensions/queue.js';
import type { Cancel, Clock } from '../../base/clock.js';
import type { QueuePhrases } from './queue-phrases.js';

export interface CallbackMenuOptions {
  clock: Clock;
  settings: CallbackSettings;
  phrases: () => QueuePhrases;
  /** The caller's own number; null = it cannot be called. */
  own: () => Promise<string | null>;
  /** The number of keys; null = it cannot be called. */
  read: (keys: string) => Promise<string | null>;
  /** Says a text in place of what is being said. */
  say: (text: string) => void;
  /** The caller has confirmed the number. */
  confirmed: (number: string) => void;
}

/** Without a key for this long the caller waits on. */
const PATIENCE_MS = 25_000;
const MAX_DIGITS = 20;

/** The keys of a waiting caller: asks for the number of a call back, and whether it is right. */
export class CallbackMenu {
  readonly #options: CallbackMenuOptions;
  /** What the next key answers; null = no question was asked. */
  #asked: { number: string } | 'number' | null = null;
  #entered = '';
  #cancelTimer: Cancel = () => undefined;
  #isAsking = false;

  constructor(options: CallbackMenuOptions) {
    this.#options = options;
  }

  /** Whether the caller is asked something: no announcement may interrupt. */
  get isOpen(): boolean {
    return this.#asked !== null || this.#isAsking;
  }

  keys(keys: string): void {
    for (const key of keys) this.#key(key);
  }

  words(text: string): void {
    const said = plain(text);
    const phrases = this.#options.settings.phrases ?? [];
    if (!this.isOpen && phrases.some((phrase) => said.includes(plain(phrase)))) void this.#begin();
  }

  /** May be called twice. */
  close(): void {
    this.#cancelTimer();
    this.#asked = null;
  }

  #key(key: string): void {
    const asked = this.#asked;
    if (asked === null) {
      if (!this.#isAsking && key === (this.#options.settings.key ?? '1')) void this.#begin();
    } else if (asked === 'number') this.#digit(key);
    else if (key === '1') {
      this.close();
      this.#options.confirmed(asked.number);
    } else if (key === '2') this.#ask('number', this.#options.phrases().enter);
    else if (key === '3') this.close();
  }

  #digit(key: string): void {
    if (key !== '#') {
      this.#entered = `${this.#entered}${key}`.slice(-MAX_DIGITS);
      this.#wait();
      return;
    }
    const { read, phrases } = this.#options;
    void this.#propose(read(this.#entered), `${phrases().wrong} ${phrases().enter}`);
  }

  async #begin(): Promise<void> {
    await this.#propose(this.#options.own(), this.#options.phrases().enter);
  }

  /** @param otherwise asks for a number */
  async #propose(read: Promise<string | null>, otherwise: string): Promise<void> {
    this.#isAsking = true;
    this.#asked = null;
    const number = await read.catch(() => null);
    this.#isAsking = false;
    if (number === null) this.#ask('number', otherwise);
    else this.#ask({ number }, this.#options.phrases().confirm.replace('{number}', spelled(number)));
  }

  #ask(what: { number: string } | 'number', text: string): void {
    this.#asked = what;
    this.#entered = '';
    this.#options.say(text);
    this.#wait();
  }

  #wait(): void {
    const { clock } = this.#options;
    this.#cancelTimer();
    this.#cancelTimer = clock.schedule(clock.nowMs() + PATIENCE_MS, () => this.close());
  }
}

/** Digit by digit, as voices read it out. */
function spelled(number: string): string {
  return [...number.replace(/^\+/, '')].join(' ');
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
