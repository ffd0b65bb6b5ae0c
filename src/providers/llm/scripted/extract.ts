import type { CompiledForm } from './compile.js';
import type { Capture } from './match.js';
import type { MatchMemory } from './memory.js';
import { isQuestion } from './slots/answer.js';
import type { DayNumber } from './slots/date.js';
import { textOf, type Slot, type SlotMatch } from './slots/slot.js';
import type { Word } from './words.js';

/** Input of an extraction. */
export interface Extraction {
  form: CompiledForm;
  slots: ReadonlyMap<string, Slot>;
  memory: MatchMemory;
  words: readonly Word[];
  today: DayNumber | null;
  /** The slot that was asked for: its value may stand alone. */
  asked: string | null;
  /** Slots that already have a value. */
  filled: ReadonlySet<string>;
  /** The user is correcting something: bare numbers and times then match any slot. */
  correcting: boolean;
  /** Words of a question, which hold no answer, as [start, end). */
  excluded: readonly [number, number] | null;
}

/** A value that was found, with the pattern's match around it. */
export interface Candidate extends Capture {
  from: number;
  to: number;
  tier: number;
  /** How well the pattern around it fits; extra words between reduce it. 0 = no pattern. */
  score: number;
}

/** Priority when two candidates claim the same words; lower wins. */
const TIER = { firmFill: 0, asked: 1, clear: 2, fill: 3, bare: 4 } as const;

const REPAIR = new Set(['no', 'wait', 'sorry', 'actually', 'mean', 'rather', 'correction']);
const NAME_LEADS = new Set(['name', 'is', 'am', 'under', 'for', 'on', 'of', 'it', 'to', 'this', 'put']);
/** After a number, these words mark it as a count and not a time. */
const COUNTED = new Set(['people', 'persons', 'person', 'guests', 'adults', 'of', 'kids', 'children', 'days', 'weeks']);
const LEADING = new Set(['yes', 'yeah', 'well', 'okay', 'please', 'so', 'oh', 'and', 'sure']);
const MAX_BARE_NAME_WORDS = 5;

/** The slot values in an utterance, at most one per slot. */
export function extract(search: Extraction): Candidate[] {
  const found = [...fillCandidates(search), ...looseCandidates(search)].filter((one) => !isNegated(one, search.words));
  const isText = (one: Candidate): boolean => typeOf(search, one.slot) === 'text';
  found.sort(
    (a, b) =>
      Number(isText(a)) - Number(isText(b)) ||
      b.end - b.start - (a.end - a.start) ||
      a.tier - b.tier ||
      b.score - a.score ||
      a.start - b.start,
  );
  const taken: Candidate[] = [];
  for (const one of found) {
    const candidate = isText(one) ? trimText(one, taken, search.words) : one;
    if (candidate === null) continue;
    if (taken.some((other) => other.start < candidate.end && candidate.start < other.end)) continue;
    const same = taken.findIndex((other) => other.slot === candidate.slot);
    if (same < 0) taken.push(candidate);
    else if (isRepaired(taken[same] as Candidate, candidate, search.words)) taken[same] = candidate;
  }
  return taken;
}

function fillCandidates({ form, words, memory, today, filled, asked }: Extraction): Candidate[] {
  const candidates: Candidate[] = [];
  for (const matcher of form.fill) {
    for (const match of memory.matchAll(matcher, words, today)) {
      const values = match.captures.reduce((sum, capture) => sum + capture.end - capture.start, 0);
      const literals = match.end - match.start - values;
      for (const capture of match.captures) {
        const open = asked === null || asked === capture.slot || filled.has(asked);
        const tier = literals >= 2 || open ? TIER.firmFill : TIER.fill;
        candidates.push({ ...capture, from: match.start, to: match.end, tier, score: match.score });
      }
    }
  }
  return candidates;
}

/** Values without a pattern: unambiguous ones anywhere, and the answer to the question that was asked. */
function looseCandidates(search: Extraction): Candidate[] {
  const { form, slots, memory, words, today, asked, correcting, excluded } = search;
  const candidates: Candidate[] = [];
  const types = form.slots.map(({ slot }) => slots.get(slot)?.definition.type);
  for (const { slot: name } of form.slots) {
    const slot = slots.get(name);
    if (slot === undefined) continue;
    const { type } = slot.definition;
    const alone = types.filter((other) => other === type).length === 1;
    const isAsked = name === asked;
    for (const [start, matches] of memory.valuesOf(slot, words, today).entries()) {
      if (excluded !== null && start >= excluded[0] && start < excluded[1]) continue;
      for (const match of matches) {
        const bare = isAsked ? isBareAnswer(type, match, start, search) : false;
        const corrected = correcting && alone && (type === 'number' || type === 'time');
        const clear = match.clear && (alone || type === 'enum');
        if (!bare && !clear && !(corrected && isBareAnswer(type, match, start, search))) continue;
        const tier = bare ? TIER.asked : clear ? TIER.clear : TIER.bare;
        const { value, end } = match;
        candidates.push({ slot: name, value, start, end, from: start, to: end, tier, score: 0 });
        break;
      }
    }
  }
  return candidates;
}

function isBareAnswer(type: string | undefined, match: SlotMatch, start: number, { words }: Extraction): boolean {
  const next = words[match.end]?.text ?? '';
  if (type === 'time' && !match.clear) return !COUNTED.has(next) && next !== 'hundred';
  if (type === 'text') {
    const lead = words.findIndex((word) => !LEADING.has(word.text));
    return start === Math.max(lead, 0) && match.end === words.length && lead >= 0 && !isQuestion(words);
  }
  if (type !== 'name') return true;
  // A name alone, or after "my name is", "it's", "under"; not any word of a long sentence.
  const before = words[start - 1]?.text ?? '';
  if (NAME_LEADS.has(before)) return true;
  const polite = words.slice(0, start).every((word) => LEADING.has(word.text));
  return (
    polite && match.end - start + start <= MAX_BARE_NAME_WORDS && words.length <= match.end + 3 && !isQuestion(words)
  );
}

function isNegated(candidate: Candidate, words: readonly Word[]): boolean {
  const before = words[candidate.from - 1]?.text;
  return before === 'not' || words[candidate.start - 1]?.text === 'not';
}

/** "For four, no, for five": of two values for one slot, the later one counts if the user takes back the first. */
function isRepaired(first: Candidate, later: Candidate, words: readonly Word[]): boolean {
  return later.start >= first.end && words.slice(first.end, later.start).some((word) => REPAIR.has(word.text));
}

/** Free text ends where another value begins. */
function trimText(candidate: Candidate, taken: readonly Candidate[], words: readonly Word[]): Candidate | null {
  const next = Math.min(
    candidate.end,
    ...taken.filter((other) => other.start >= candidate.start).map((other) => other.from),
  );
  if (next <= candidate.start) return null;
  if (next === candidate.end) return candidate;
  const text = textOf(words.slice(candidate.start, next));
  return { ...candidate, end: next, to: next, value: { value: text, spoken: text, allowed: true } };
}

function typeOf({ slots }: Extraction, name: string): string | undefined {
  return slots.get(name)?.definition.type;
}
