import type { CompiledForm } from './compile.js';
import type { Capture, PatternMatch } from './match.js';
import type { MatchMemory } from './memory.js';
import { isQuestion } from '../../../base/spoken/answer.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import { soundedName } from './slots/name.js';
import { soundedNumber } from '../../../base/spoken/number.js';
import { textOf, type Slot, type SlotMatch, type SlotValue } from './slots/slot.js';
import type { Word } from '../../../base/spoken/words.js';

/** Input of an extraction. */
export interface Extraction {
  form: CompiledForm;
  slots: ReadonlyMap<string, Slot>;
  memory: MatchMemory;
  words: readonly Word[];
  today: DayNumber | null;
  /** The slot that was asked for: its value may stand alone. */
  asked: string | null;
  /** The values that slots already have. */
  known: ReadonlyMap<string, SlotValue>;
  /** The user is correcting something: bare numbers and times then match any slot. */
  correcting: boolean;
  /** Words of a question, which hold no answer, as [start, end). */
  excluded: readonly [number, number] | null;
  /** What the rule that opened the form matched. */
  opening: PatternMatch | null;
}

/** A value that was found, with the pattern's match around it. */
export interface Candidate extends Capture {
  from: number;
  to: number;
  tier: number;
  /** How well the pattern around it fits; extra words between reduce it. 0 = no pattern. */
  score: number;
  /** Words of the pattern that are not values. */
  literals: number;
}

/** Priority when two candidates claim the same words; lower wins. */
const TIER = { firmFill: 0, asked: 1, clear: 2, fill: 3, bare: 4 } as const;

/** "Three, no, five", "me and three friends, so four". */
const REPAIR = new Set(['no', 'wait', 'sorry', 'actually', 'mean', 'rather', 'correction', 'so', 'say', 'makes']);
/** "Two adults and one child, three altogether". */
const SUM = /^(altogether|overall|total|in (total|all))\b/;
const NAME_LEADS = new Set(
  'name is am under for on of it to this put be say use with as called surname write'.split(' '),
);
const SOUNDED = { tier: TIER.asked, score: 0, literals: 0 } as const;

/** After a number, these words mark it as a count and not a time. */
const COUNTED = new Set(['people', 'persons', 'person', 'guests', 'adults', 'of', 'kids', 'children', 'days', 'weeks']);
const LEADING = new Set(['yes', 'yeah', 'well', 'okay', 'please', 'so', 'oh', 'and', 'sure']);
const MAX_BARE_NAME_WORDS = 5;

/** The slot values in an utterance, at most one per slot. */
export function extract(search: Extraction): Candidate[] {
  const { opening } = search;
  const patterned = [...fillCandidates(search), ...(opening === null ? [] : matchCandidates(opening, search))];
  const found = [...patterned, ...looseCandidates(search)].filter((one) => !isNegated(one, search.words));
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
  /** Values that were taken back: their words are no values of other slots either. */
  const spent: Candidate[] = [];
  for (const one of found) {
    const candidate = isText(one) ? trimText(one, taken, search.words) : one;
    if (candidate === null) continue;
    if ([...taken, ...spent].some((other) => other.start < candidate.end && candidate.start < other.end)) continue;
    const same = taken.findIndex((other) => other.slot === candidate.slot);
    const before = taken[same];
    if (before === undefined) taken.push(candidate);
    else if (isRepaired(before, candidate, search.words)) {
      taken[same] = candidate;
      spent.push(before);
    } else if (isRepaired(candidate, before, search.words)) spent.push(candidate);
  }
  return taken.filter((one) => mayReplace(one, search));
}

/**
 * Whether a value may replace the one that its slot has. While another slot is asked for, a word that only sounds like
 * a value ("Hughes", heard as "Tuesday") must not; a correction or a pattern with words of its own may.
 */
function mayReplace(candidate: Candidate, search: Extraction): boolean {
  const { asked, known, correcting, words } = search;
  const before = known.get(candidate.slot);
  if (asked === null || asked === candidate.slot || before === undefined || correcting) return true;
  if (before.value === candidate.value.value) return true;
  const isNameLed = typeOf(search, asked) === 'name' && NAME_LEADS.has(words[candidate.start - 1]?.text ?? '');
  return candidate.literals > 0 && !isNameLed;
}

function fillCandidates(search: Extraction): Candidate[] {
  const { form, words, memory, today } = search;
  return form.fill.flatMap((matcher) =>
    memory.matchAll(matcher, words, today).flatMap((match) => matchCandidates(match, search)),
  );
}

/** The values of the form in a pattern's match. */
function matchCandidates(match: PatternMatch, { form, asked, known }: Extraction): Candidate[] {
  const { captures, start: from, end: to, score } = match;
  const literals = to - from - captures.reduce((sum, { start, end }) => sum + end - start, 0);
  return captures
    .filter(({ slot: name }) => form.slots.some(({ slot }) => slot === name))
    .map(({ slot, value, start, end }) => {
      const open = asked === null || asked === slot || known.has(asked);
      const tier = literals >= 2 || open ? TIER.firmFill : TIER.fill;
      return { slot, value, start, end, from, to, tier, score, literals };
    });
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
    if (isAsked) candidates.push(...soundedCandidates(slot, search));
    for (const [start, matches] of memory.valuesOf(slot, words, today).entries()) {
      if (excluded !== null && start >= excluded[0] && start < excluded[1]) continue;
      for (const match of matches) {
        const bare = isAsked ? isBareAnswer(type, match, start, search) : false;
        const corrected = correcting && alone && (type === 'number' || type === 'time');
        const clear = match.clear && (alone || type === 'enum');
        if (!bare && !clear && !(corrected && isBareAnswer(type, match, start, search))) continue;
        // "High chair" is a wish rather than a name.
        const isPlainName = type === 'name' && !NAME_LEADS.has(words[start - 1]?.text ?? '');
        const tier = bare && !isPlainName ? TIER.asked : clear && !bare ? TIER.clear : TIER.bare;
        const { value, end } = match;
        candidates.push({ slot: name, value, start, end, from: start, to: end, tier, score: 0, literals: 0 });
        break;
      }
    }
  }
  return candidates;
}

/** The answer to the question that was asked, in words that only sound like it: "for" people, a name letter by letter. */
function soundedCandidates(slot: Slot, { form, words, today }: Extraction): Candidate[] {
  const { type } = slot.definition;
  if ((type !== 'number' && type !== 'time' && type !== 'name') || isQuestion(words)) return [];
  if (type === 'name') {
    const start = Math.max(
      0,
      words.findIndex((word) => !LEADING.has(word.text) && !NAME_LEADS.has(word.text)),
    );
    const found = soundedName(words, start);
    if (found === null) return [];
    const value = { value: found.name, spoken: found.name, allowed: true };
    return [{ slot: slot.name, value, start, end: found.end, from: start, to: found.end, ...SOUNDED }];
  }
  const ask = form.slots.find((one) => one.slot === slot.name)?.ask;
  const found = soundedNumber(words, countedIn([ask ?? []].flat()));
  if (found === null) return [];
  const [match] = slot.matchesAt(found.words, found.start, today);
  if (match === undefined || !match.value.allowed) return [];
  const { start } = found;
  return [{ slot: slot.name, value: match.value, start, end: match.end, from: start, to: match.end, ...SOUNDED }];
}

const COUNT = /\bhow (?:many|much) (?:more )?(\p{L}+)(?: (\p{L}+))?/giu;

/** What questions count: "loaves" of "How many loaves?", "white" and "loaves" of "How many white loaves?". */
function countedIn(questions: readonly string[]): ReadonlySet<string> {
  const found = questions.flatMap((question) => [...question.matchAll(COUNT)]);
  return new Set(found.flatMap(([, first = '', second = '']) => [first, second].map((word) => word.toLowerCase())));
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
  const short = match.spelled === true || match.end <= MAX_BARE_NAME_WORDS;
  return polite && short && words.length <= match.end + 3 && !isQuestion(words);
}

function isNegated(candidate: Candidate, words: readonly Word[]): boolean {
  const before = words[candidate.from - 1]?.text;
  return before === 'not' || words[candidate.start - 1]?.text === 'not';
}

/** "For four, no, for five": of two values for one slot, the later one counts if the user takes back the first. */
function isRepaired(first: Candidate, later: Candidate, words: readonly Word[]): boolean {
  if (later.start < first.end) return false;
  const after = words.slice(later.to, later.to + 2).map((word) => word.text);
  return SUM.test(after.join(' ')) || words.slice(first.end, later.start).some((word) => REPAIR.has(word.text));
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
