import { matchAll, type Matcher, type PatternMatch } from './match.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import type { Slot, SlotMatch } from './slots/slot.js';
import { utteranceWords, type Word } from '../../../base/spoken/words.js';

/** Cache size in utterances: several hundred turns of concurrent calls. */
const MAX_UTTERANCES = 512;

interface Remembered {
  words: readonly Word[];
  today: DayNumber | null;
  matches: Map<Matcher, readonly PatternMatch[]>;
  values: Map<Slot, readonly (readonly SlotMatch[])[]>;
}

/**
 * Match cache. A match depends only on the words and the day, and every request replays the conversation; caching makes
 * a turn of a long call as cheap as one of a short call.
 */
export class MatchMemory {
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #byText = new Map<string, Remembered>();
  readonly #byWords = new WeakMap<readonly Word[], Remembered>();

  constructor(slots: ReadonlyMap<string, Slot>) {
    this.#slots = slots;
  }

  /** The words of an utterance: the same array as long as it is cached. */
  wordsOf(text: string, today: DayNumber | null): readonly Word[] {
    const key = `${String(today)} ${text}`;
    const known = this.#byText.get(key);
    if (known !== undefined) {
      // Deleting and setting it again makes it the newest.
      this.#byText.delete(key);
      this.#byText.set(key, known);
      return known.words;
    }
    const entry: Remembered = { words: utteranceWords(text), today, matches: new Map(), values: new Map() };
    this.#byText.set(key, entry);
    this.#byWords.set(entry.words, entry);
    if (this.#byText.size > MAX_UTTERANCES) {
      const [oldest] = this.#byText.keys();
      if (oldest !== undefined) this.#byText.delete(oldest);
    }
    return entry.words;
  }

  /** As `matchAll` of `match.ts`. */
  matchAll(matcher: Matcher, words: readonly Word[], today: DayNumber | null): readonly PatternMatch[] {
    const entry = this.#byWords.get(words);
    if (entry?.today !== today) return matchAll(matcher, words, this.#slots, today);
    let matches = entry.matches.get(matcher);
    if (matches === undefined) {
      matches = matchAll(matcher, words, this.#slots, today);
      entry.matches.set(matcher, matches);
    }
    return matches;
  }

  /** What a slot matches at every position. */
  valuesOf(slot: Slot, words: readonly Word[], today: DayNumber | null): readonly (readonly SlotMatch[])[] {
    const entry = this.#byWords.get(words);
    const known = entry?.today === today ? entry?.values.get(slot) : undefined;
    if (known !== undefined) return known;
    const values = words.map((_word, start) => slot.matchesAt(words, start, today));
    if (entry?.today === today) entry?.values.set(slot, values);
    return values;
  }
}
