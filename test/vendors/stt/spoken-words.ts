/**
 * Speech for doubles of recognisers: a word is a stretch of samples of one value, which stands for it, so that a double
 * hears what it was really sent, wherever it lies, whoever sends it again, and at whatever rate.
 */

const RATE_HZ = 16_000;
const VOCABULARY = ['yes', 'no', 'stop', 'a', 'table', 'for', 'two', 'tonight', 'café', 'thanks'] as const;
/** Values of the words: FIRST, FIRST + STEP and so on. What is louder than LOUD is sound. */
const FIRST = 4000;
const STEP = 1000;
const LOUD = 1500;
/** A value that stands for no word. */
const NOISE = 2500;

export const WORD_MS = 200;
export const GAP_MS = 60;

export interface HeardWord {
  text: string;
  startMs: number;
  endMs: number;
}

/** The words of a text with gaps between, at 16 kHz. */
export function spoken(text: string): Int16Array {
  return joined(text.split(' ').flatMap((word) => [tone(valueOf(word), WORD_MS), silence(GAP_MS)]));
}

export function silence(ms: number): Int16Array {
  return tone(0, ms);
}

/** Sound that is no word. */
export function noise(ms: number): Int16Array {
  return tone(NOISE, ms);
}

export function joined(parts: readonly Int16Array[]): Int16Array {
  const all = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function tone(value: number, ms: number): Int16Array {
  return new Int16Array((ms * RATE_HZ) / 1000).fill(value);
}

function valueOf(word: string): number {
  const index = (VOCABULARY as readonly string[]).indexOf(word);
  if (index < 0) throw new Error(`"${word}" is not in the vocabulary: ${VOCABULARY.join(' ')}`);
  return FIRST + index * STEP;
}

/** Listens to what a double is sent. */
export class Ear {
  readonly #rateHz: number;
  #position = 0;
  #values: number[] = [];
  #startsAt = 0;
  #quiet = 0;
  #rest: Buffer = Buffer.alloc(0);
  /** Words that are over, with their times from the first sample on. */
  readonly words: HeardWord[] = [];

  constructor(rateHz = RATE_HZ) {
    this.#rateHz = rateHz;
  }

  get heardMs(): number {
    return (this.#position * 1000) / this.#rateHz;
  }

  /** Silence since the last sound, in milliseconds. */
  get quietMs(): number {
    return (this.#quiet * 1000) / this.#rateHz;
  }

  /** 16-bit little-endian samples, cut anywhere. */
  hear(pcm: Buffer): void {
    const all = Buffer.concat([this.#rest, pcm]);
    const samples = Math.floor(all.length / 2);
    for (let at = 0; at < samples; at++) this.#sample(all.readInt16LE(at * 2));
    this.#rest = all.subarray(samples * 2);
  }

  #sample(value: number): void {
    if (Math.abs(value) > LOUD) {
      if (this.#values.length === 0) this.#startsAt = this.#position;
      this.#values.push(value);
      this.#quiet = 0;
    } else {
      this.#quiet++;
      if (this.#values.length > 0 && this.quietMs >= 10) this.#endWord();
    }
    this.#position++;
  }

  #endWord(): void {
    const length = this.#values.length;
    const middle = this.#values[Math.floor(length / 2)] ?? 0;
    this.#values = [];
    if ((length * 1000) / this.#rateHz < 40) return;
    const text = VOCABULARY[Math.round((middle - FIRST) / STEP)];
    if (text === undefined) return;
    const startMs = (this.#startsAt * 1000) / this.#rateHz;
    this.words.push({ text, startMs, endMs: startMs + (length * 1000) / this.#rateHz });
  }
}
