import type { SpeechHints } from '../../stt/stt.js';
import { BUILT_IN_PATTERNS } from './built-in.js';
import { parsePattern, type PatternNode } from './pattern.js';
import {
  parseScript,
  type ScriptAction,
  type AgentScript,
  type AgentScriptInput,
  type SlotDefinition,
} from './schema.js';
import { spokenNumber } from '../../../base/spoken-number.js';
import { enumValues } from './slots/slot.js';
import { parseClock, spokenTime } from '../../../base/spoken/time.js';
import { variants } from './text.js';
import { patternWords } from '../../../base/spoken/words.js';

/** Maximum number of sentences per pattern, and per script. */
const MAX_FROM_PATTERN = 24;
const MAX_PHRASES = 2_000;
const MAX_VALUES = 90;
/** Values per slot that are tried in each pattern; over all patterns every value occurs. */
const VALUES_A_PATTERN = 12;

const ANSWERS =
  'yes|yes please|yes that is right|yes that is correct|that is right|correct|yeah|sure|okay|perfect|sounds good|exactly|no|no thank you|no thanks|nope|no that is wrong|that is not right|no that is all|nothing else|mm hm|uh huh|i see|all right|right|hello|hi|good evening|thank you|thanks|thank you very much|goodbye|bye|bye bye|please|sorry';
const NAMES =
  'smith|miller|johnson|brown|jones|taylor|wilson|davis|clark|lewis|walker|white|anna|john|mary|peter|sarah|david'.split(
    '|',
  );
const DAYS =
  'today|tonight|tomorrow|the day after tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next monday|next tuesday|next wednesday|next thursday|next friday|next saturday|next sunday|this friday|this saturday|the first of may|the third of june|the fourth of july|december third|may twenty first'.split(
    '|',
  );

/**
 * Recognition hints for an agent that runs this script: sentences that its patterns stand for, with typical slot
 * values, at most 2,000; the agent's own texts; and names and enumerated values as keywords. Deterministic.
 * @throws ParleyError CONFIG_INVALID as `scriptedProvider` does
 */
export function speechHints(input: AgentScriptInput): SpeechHints {
  const script = parseScript(input);
  const values = new Map(Object.entries(script.slots).map(([name, slot]) => [name, spokenValues(slot)] as const));
  const phrases = new Set<string>();
  // In patterns the script's own examples stand for all values; repeated examples weigh more.
  const maker = new SentenceMaker(
    new Map(Object.entries(script.slots).map(([name, slot]) => [name, patternValues(slot)] as const)),
  );
  // Sentences written for the recogniser first, then bare answers, then the patterns of rules and forms.
  for (const pattern of script.hints) maker.add(pattern, phrases, MAX_FROM_PATTERN * 4);
  for (const answer of ANSWERS.split('|')) phrases.add(answer);
  for (const list of values.values()) for (const value of list) phrases.add(value);
  for (const pattern of patternsOf(script)) maker.add(pattern, phrases, MAX_FROM_PATTERN);
  return {
    phrases: [...new Set([...phrases].flatMap((phrase) => [contracted(phrase), phrase]))].slice(0, MAX_PHRASES),
    texts: [...new Set(textsOf(script))],
    keywords: keywordsOf(script, values),
  };
}

/** All typical answers for a slot on its own. */
function spokenValues(slot: SlotDefinition): string[] {
  return inWords([...Object.keys(slot.synonyms ?? {}), ...(slot.examples ?? []), ...typicalValues(slot)]);
}

/** Values to put into patterns; synonyms such as "just me" make odd sentences there. */
function patternValues(slot: SlotDefinition): string[] {
  return inWords(slot.examples ?? typicalValues(slot));
}

function inWords(values: readonly string[]): string[] {
  return values
    .map(spoken)
    .filter((value) => value !== '')
    .slice(0, MAX_VALUES);
}

function typicalValues(slot: SlotDefinition): readonly string[] {
  switch (slot.type) {
    case 'number': {
      const from = Math.max(0, Math.ceil(slot.min ?? 1));
      const to = Math.min(slot.max ?? from + 19, from + 29);
      return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => spokenNumber(from + index));
    }
    case 'time':
      return typicalTimes(parseClock(slot.between?.[0] ?? '8:00') ?? 0, parseClock(slot.between?.[1] ?? '22:00') ?? 0);
    case 'date':
      return DAYS;
    case 'name':
      return slot.examples === undefined ? NAMES : [];
    case 'digits':
      return [
        'five five five one two three four',
        'oh one seven two six eight nine',
        'double four three two one zero nine',
      ];
    case 'enum':
      return Object.entries(enumValues(slot.values)).flatMap(([value, spellings]) => [value, ...spellings]);
    case 'yesno':
      return ['yes', 'no'];
    case 'text':
      return [];
  }
}

function typicalTimes(from: number, to: number): string[] {
  const full: string[] = [];
  const half: string[] = [];
  const others: string[] = [];
  for (let minutes = from; minutes <= to; minutes += 15) {
    const hour = spokenNumber(((Math.floor(minutes / 60) + 11) % 12) + 1);
    const next = spokenNumber((Math.floor(minutes / 60) % 12) + 1);
    if (minutes % 60 === 0) full.push(hour, `${hour} o'clock`, `${hour} ${minutes < 720 ? 'a m' : 'p m'}`);
    else if (minutes % 60 === 30) half.push(spokenTime(minutes, false), `half past ${hour}`);
    else others.push(minutes % 60 === 15 ? `quarter past ${hour}` : `quarter to ${next}`);
  }
  // Most people say round times: each round of values contains them twice.
  return [...half, ...full, ...others, ...half, ...full];
}

/** Every pattern of a script. */
function patternsOf(script: AgentScript): string[] {
  const rules = [...script.rules, ...Object.values(script.states).flatMap((state) => state.rules)];
  const forms = Object.values(script.forms);
  return [...forms.flatMap((form) => form.fill), ...rules.flatMap((rule) => variants(rule.when)), ...BUILT_IN_PATTERNS];
}

/** Generates sentences from patterns: every alternative, with slot values in turn. */
class SentenceMaker {
  readonly #values: ReadonlyMap<string, readonly string[]>;
  readonly #used = new Map<string, number>();

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  add(source: string, into: Set<string>, limit: number): void {
    const { root, slots } = parsePattern(source);
    const forms = expand(root, limit);
    const turns = slots.length === 0 ? 1 : Math.max(1, Math.min(VALUES_A_PATTERN, Math.floor(limit / forms.length)));
    for (let turn = 0; turn < turns; turn++) {
      for (const form of forms) {
        const sentence = form.map((part) => (part.startsWith('{') ? this.#next(part.slice(1, -1)) : part)).join(' ');
        if (sentence.trim() !== '') into.add(sentence.replace(/\s+/g, ' ').trim());
      }
    }
  }

  /** The next value in turn. Strides differ between slots, so that every value meets many others. */
  #next(slot: string): string {
    const values = this.#values.get(slot) ?? [];
    const used = this.#used.get(slot) ?? 0;
    this.#used.set(slot, used + 1);
    return (
      values[(used * stride(values.length, [...this.#values.keys()].indexOf(slot) + 1)) % Math.max(1, values.length)] ??
      ''
    );
  }
}

/** A step that visits all of `length` places, about the nth golden section apart. */
function stride(length: number, nth: number): number {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  let step = Math.max(1, Math.round(length * 0.618 ** nth));
  while (divisor(step, length) > 1) step++;
  return step;
}

/** The word sequences of a pattern, slots as `{name}`, at most `limit`. */
function expand(node: PatternNode, limit: number): string[][] {
  switch (node.kind) {
    case 'word':
      return [[node.word === 'pm' || node.word === 'am' ? `${node.word[0] ?? ''} m` : node.word]];
    case 'slot':
      return [[`{${node.slot}}`]];
    case 'any':
      return [[]];
    case 'choice':
      return node.options.flatMap((option) => expand(option, limit)).slice(0, limit);
    case 'sequence': {
      let sentences: string[][] = [[]];
      for (const item of node.items) {
        const tails = expand(item, limit);
        sentences = sentences.flatMap((head) => tails.map((tail) => [...head, ...tail])).slice(0, limit);
      }
      return sentences;
    }
  }
}

/** Everything that the agent says. */
function textsOf(script: AgentScript): string[] {
  const texts: string[] = [];
  const add = (say: string | readonly string[] | undefined): void => {
    // Brackets are our own markup; the recogniser removes placeholders.
    if (say !== undefined)
      for (const text of typeof say === 'string' ? [say] : say) texts.push(text.replace(/[[\]]/g, ' '));
  };
  const addAction = (action: ScriptAction): void => {
    add(action.say);
    if (action.call === undefined) return;
    addAction(action.call.ok);
    addAction(action.call.failed);
    if (action.call.empty !== undefined) addAction(action.call.empty);
  };
  add(script.greeting);
  for (const rule of script.rules) addAction(rule);
  for (const state of Object.values(script.states)) {
    add(state.prompt);
    for (const rule of state.rules) addAction(rule);
    if (state.otherwise !== undefined) addAction(state.otherwise);
  }
  for (const form of Object.values(script.forms)) {
    for (const slot of form.slots) {
      add(slot.ask);
      add(slot.thanks);
    }
    add(form.confirm);
    addAction(form.done);
  }
  for (const say of Object.values(script.phrases)) add(say);
  return texts;
}

function keywordsOf(script: AgentScript, values: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const keywords = new Map<string, number>();
  for (const [name, slot] of Object.entries(script.slots)) {
    const weight = slot.type === 'name' ? 8 : slot.type === 'text' ? 1 : 3;
    for (const value of values.get(name) ?? []) keywords.set(value, weight);
  }
  return keywords;
}

const CONTRACTIONS: readonly (readonly [RegExp, string])[] = [
  [/\b(i|we|you|they|it|that) would\b/g, "$1'd"],
  [/\b(it|that|what|where|who|when|there|name) is\b/g, "$1's"],
  [/\b(we|you|they) are\b/g, "$1're"],
  [/\bi am\b/g, "i'm"],
  [/\b(i|we|you|they|it|that) will\b/g, "$1'll"],
  [/\bcan not\b/g, "can't"],
  [/\bwill not\b/g, "won't"],
  [/\b(do|does|did|is|are|was|would|could|should|have) not\b/g, "$1n't"],
  [/\blet us\b/g, "let's"],
];

/**
 * Applies contractions: patterns contain "I would", people say "I'd", and to a recogniser these are different words.
 */
function contracted(phrase: string): string {
  return CONTRACTIONS.reduce((text, [written, said]) => text.replace(written, said), phrase);
}

/** As a recogniser writes it: lower case, no punctuation. */
function spoken(text: string): string {
  return patternWords(text)
    .map((word) =>
      word.text === 'oclock' ? "o'clock" : word.text === 'pm' ? 'p m' : word.text === 'am' ? 'a m' : word.text,
    )
    .join(' ');
}
