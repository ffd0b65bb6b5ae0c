import type { SlotDefinition } from '../schema.js';
import { likeness, patternWords, type Word } from '../../../../base/spoken/words.js';
import { answerOf } from '../../../../base/spoken/answer.js';
import { dateAt, type DayNumber, isoDate, spokenDate, weekdayNamed, weekdayOf } from '../../../../base/spoken/date.js';
import { spokenNumber } from '../../../../base/spoken-number.js';
import { digitsAt, spokenDigits } from '../../../../base/spoken/digits.js';
import { numberAt } from '../../../../base/spoken/number.js';
import { nameAt } from './name.js';
import { clockText, parseClock, spokenTime, timeAt } from '../../../../base/spoken/time.js';

export interface SlotValue {
  /** For tools: a number, "19:30", "2026-12-24", digits, or text. */
  value: string | number | boolean;
  /** As the agent says it. */
  spoken: string;
  /** False if the value is outside the slot's range. */
  allowed: boolean;
}

export interface SlotMatch {
  end: number;
  value: SlotValue;
  /** Unambiguous: can be taken wherever it is said. */
  clear: boolean;
  /** A name with its letters. */
  spelled?: boolean;
}

/** A slot compiled for matching. */
export class Slot {
  readonly name: string;
  readonly definition: SlotDefinition;
  readonly #phrases: readonly { words: readonly Word[]; value: string | number | boolean; spoken: string | null }[];
  readonly #between: readonly [number, number] | undefined;
  readonly #closed: ReadonlySet<number>;
  readonly #expected: ReadonlySet<string>;

  constructor(name: string, definition: SlotDefinition) {
    this.name = name;
    this.definition = definition;
    const phrases = Object.entries(definition.synonyms ?? {}).map(([phrase, value]) => ({
      words: patternWords(phrase),
      value,
      spoken: null as string | null,
    }));
    if (definition.type === 'enum') {
      for (const [value, spellings] of Object.entries(enumValues(definition.values))) {
        for (const spelling of [value, ...spellings]) {
          phrases.push({ words: patternWords(spelling), value, spoken: value });
        }
      }
    }
    this.#phrases = phrases.filter((phrase) => phrase.words.length > 0).sort((a, b) => b.words.length - a.words.length);
    this.#between =
      definition.type === 'time' && definition.between !== undefined
        ? [parseClock(definition.between[0]) ?? 0, parseClock(definition.between[1]) ?? 0]
        : undefined;
    this.#expected = new Set((definition.examples ?? []).map((example) => example.toLowerCase()));
    this.#closed = new Set(definition.type === 'date' ? (definition.closed ?? []).map(weekdayNamed) : []);
  }

  /** All values that begin at a position, the likeliest first. */
  matchesAt(words: readonly Word[], start: number, today: DayNumber | null): SlotMatch[] {
    for (const phrase of this.#phrases) {
      if (phrase.words.every((word, index) => likeness(words[start + index]?.text ?? '', word.text) > 0)) {
        const value = this.#valueOf(phrase.value, phrase.spoken, today);
        const clear = this.definition.type === 'enum' || phrase.words.length > 1;
        return [{ end: start + phrase.words.length, value, clear }];
      }
    }
    if (this.definition.type === 'text') return textMatches(words, start);
    const single = this.#matchAt(words, start, today);
    return single === null ? [] : [single];
  }

  #matchAt(words: readonly Word[], start: number, today: DayNumber | null): SlotMatch | null {
    switch (this.definition.type) {
      case 'number': {
        const found = numberAt(words, start);
        return found === null ? null : { end: found.end, value: this.#valueOf(found.value, null, today), clear: false };
      }
      case 'time': {
        const found = timeAt(words, start, this.#between);
        return found === null
          ? null
          : { end: found.end, value: this.#valueOf(clockText(found.minutes), null, today), clear: found.clear };
      }
      case 'date': {
        const found = dateAt(words, start, today);
        if (found === null) return null;
        const said = textOf(words.slice(start, found.end));
        const value = found.day === null ? said : isoDate(found.day);
        return { end: found.end, value: this.#valueOf(value, said, today), clear: found.clear };
      }
      case 'digits': {
        const found = digitsAt(words, start);
        if (found === null) return null;
        return { end: found.end, value: this.#valueOf(found.digits, null, today), clear: false };
      }
      case 'name': {
        const found = nameAt(words, start);
        if (found === null) return null;
        const { name, end, spelled } = found;
        // An expected name that is the whole utterance counts as a name, whatever the question was.
        const clear = start === 0 && end === words.length && this.#expected.has(name.toLowerCase());
        return { end, value: { value: name, spoken: name, allowed: true }, clear, spelled };
      }
      case 'yesno': {
        const answer = start === 0 ? answerOf(words) : null;
        if (answer === null) return null;
        return { end: words.length, value: { value: answer === 'yes', spoken: answer, allowed: true }, clear: false };
      }
      default:
        return null;
    }
  }

  /** Words a value and checks it against the slot's range. */
  #valueOf(value: string | number | boolean, said: string | null, today: DayNumber | null): SlotValue {
    const { definition } = this;
    if (definition.type === 'number' && typeof value === 'number') {
      const allowed = value >= (definition.min ?? 0) && value <= (definition.max ?? Number.POSITIVE_INFINITY);
      return { value, spoken: spokenNumber(value), allowed };
    }
    if (definition.type === 'time' && typeof value === 'string') {
      const minutes = parseClock(value) ?? 0;
      const allowed = this.#between === undefined || (minutes >= this.#between[0] && minutes <= this.#between[1]);
      return { value, spoken: spokenTime(minutes, this.#between === undefined || !allowed), allowed };
    }
    if (definition.type === 'date' && typeof value === 'string') {
      const found = dateAt(patternWords(value), 0, today);
      const day = found?.day ?? null;
      if (day === null) return { value, spoken: said ?? value, allowed: !this.#closed.has(weekdayNamed(value)) };
      const allowed = !this.#closed.has(weekdayOf(day)) && (today === null || day >= today);
      return { value: isoDate(day), spoken: spokenDate(day, today), allowed };
    }
    if (definition.type === 'digits' && typeof value === 'string') {
      const { length } = value.replace('+', '');
      const allowed = length >= (definition.minLength ?? 1) && length <= (definition.maxLength ?? 20);
      return { value, spoken: spokenDigits(value), allowed };
    }
    return { value, spoken: said ?? String(value), allowed: true };
  }
}

/** The values of an enumeration with their synonyms. */
export function enumValues(
  values: readonly string[] | Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> {
  return Array.isArray(values)
    ? Object.fromEntries((values as readonly string[]).map((value) => [value, []]))
    : (values as Readonly<Record<string, readonly string[]>>);
}

/** Free text may end anywhere: the rest of the pattern decides. */
function textMatches(words: readonly Word[], start: number): SlotMatch[] {
  const matches: SlotMatch[] = [];
  for (let end = words.length; end > start; end--) {
    const text = textOf(words.slice(start, end));
    matches.push({ end, value: { value: text, spoken: text, allowed: true }, clear: false });
  }
  return matches;
}

/** Words as spoken. */
export function textOf(words: readonly Word[]): string {
  return words
    .map((word) => (word.text.includes("'") ? word.raw : word.raw === word.raw.toUpperCase() ? word.raw : word.text))
    .join(' ');
}
