import type { ChatMessage, ToolCall } from '../../../agent/chat.js';
import type { DataValue, Flow, FlowData, FlowStep, StepView } from '../../../agent/flow/steps.js';
import { answerOf, isAcknowledgement, isRefusal } from '../../../base/spoken/answer.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import { utteranceWords, type Word } from '../../../base/spoken/words.js';
import type { SpeechHints } from '../../stt/stt.js';
import { reasonOf } from '../../../base/errors.js';
import type { CompiledForm, CompiledScript } from './compile.js';
import type { ScriptReply } from './conversation.js';
import { type Candidate, extract } from './extract.js';
import { speechHints } from './hints.js';
import { compilePattern, matchAll } from './match.js';
import { MatchMemory } from './memory.js';
import { parsePattern } from './pattern.js';
import { bestRule } from './rules.js';
import type { Say, SlotDefinition } from './schema.js';
import { Slot } from './slots/slot.js';
import { fillText, variants } from './text.js';

/**
 * The scripted model in a flow: it finds values in the user's words with the slots of forms, chooses transitions by
 * patterns, answers by the rules of the agent's script, and asks for what is missing.
 */

const INAUDIBLE = '[inaudible]';
/** Types whose values the words decide only as a whole; the checks of the flow read them. */
const RAW: ReadonlySet<FlowData['type']> = new Set(['email', 'card', 'text']);
/** Types whose answer may hold any words: patterns go before them. */
const FREE: ReadonlySet<FlowData['type']> = new Set(['text', 'name']);

/** The reply that is due in a step. */
export function followStep(
  script: CompiledScript,
  step: StepView,
  messages: readonly ChatMessage[],
  today: DayNumber | null,
): ScriptReply {
  return new StepFollower(script, step, messages, today).reply();
}

class StepFollower {
  readonly #script: CompiledScript;
  readonly #step: StepView;
  readonly #messages: readonly ChatMessage[];
  readonly #today: DayNumber | null;
  #calls: ToolCall[] = [];

  constructor(script: CompiledScript, step: StepView, messages: readonly ChatMessage[], today: DayNumber | null) {
    this.#script = script;
    this.#step = step;
    this.#messages = messages.filter(({ role }) => role !== 'system');
    this.#today = today;
  }

  reply(): ScriptReply {
    const at = this.#messages.findLastIndex(({ role }) => role === 'user');
    // A phrase of the step may stand between the user's words and their answer.
    const isOpen = at >= 0 && this.#messages.slice(at + 1).every((one) => one.role === 'assistant' && !one.toolCalls);
    const text = isOpen ? this.#answer(this.#messages[at]?.content ?? '') : this.#goOn();
    return { text, calls: this.#calls };
  }

  #answer(said: string): string {
    const { confirming } = this.#step;
    if (said === INAUDIBLE) return this.#with(this.#script.source.phrases.inaudible);
    const words = utteranceWords(said);
    if (confirming !== null) {
      const corrected = this.#values(words, said, confirming.name).filter(([name]) => name === confirming.name);
      if (corrected.length > 0) return this.#take(corrected);
      const answer = answerOf(words);
      if (answer !== null) return this.#call('confirm_data', { correct: answer === 'yes' });
    }
    const asked = this.#askedData();
    const choice = this.#choiceIn(words);
    const isFree = asked === null || FREE.has(asked.type);
    if (choice !== null && isFree) return this.#call('next_step', { step: choice });
    const values = this.#values(words, said, asked?.name ?? null);
    if (values.length > 0) return this.#take(values);
    if (choice !== null) return this.#call('next_step', { step: choice });
    const aside = this.#ruleFor(words);
    if (aside !== null) return aside;
    if (words.length === 0 || isAcknowledgement(words)) return this.#question();
    if (asked === null) return this.#with(this.#script.source.phrases.notUnderstood);
    if (asked.required === false && isRefusal(words)) return this.#take([[asked.name, null]]);
    return this.#take([[asked.name, said]]);
  }

  /** After a result: what is missing now. The words that led to another step may hold its values, too. */
  #goOn(): string {
    const last = this.#messages.findLast(({ role }) => role === 'assistant');
    const led = last?.role === 'assistant' && last.toolCalls?.at(-1)?.name === 'next_step';
    const said = led ? this.#messages.findLast(({ role }) => role === 'user')?.content : undefined;
    if (said !== undefined) {
      const values = this.#values(utteranceWords(said), said, null);
      if (values.length > 0) return this.#take(values);
    }
    const { refusal } = this.#step;
    const question = this.#askedData() === null && this.#step.confirming === null ? '' : this.#question();
    return refusal === null ? question : `${refusal} ${question}`.trim();
  }

  #take(values: readonly (readonly [string, DataValue | null])[]): string {
    return this.#call('set_data', Object.fromEntries(values));
  }

  #call(name: string, args: Readonly<Record<string, DataValue | null>>): string {
    const id = `script_${String(this.#messages.length)}_${name}`;
    this.#calls.push({ id, name, arguments: JSON.stringify(args) });
    return '';
  }

  #askedData(): FlowData | null {
    return this.#step.collect.find(({ name }) => name === this.#step.asked) ?? null;
  }

  #question(): string {
    const { confirming, attempts, entry } = this.#step;
    if (confirming !== null) return `I have ${confirming.spoken}. Is that right?`;
    const asked = this.#askedData();
    // Of an entry phrase, the question is enough.
    if (asked === null) return /[^.!?]+\?\s*$/.exec(entry ?? '')?.[0].trim() ?? entry ?? '';
    const wordings = asked.ask ?? [];
    const wording = wordings.length === 0 ? null : wordings[attempts % wordings.length];
    return wording ?? `What is the ${asked.name.replaceAll('_', ' ')}, please?`;
  }

  #with(say: Say): string {
    const wordings = variants(say);
    return `${wordings[this.#step.attempts % wordings.length] ?? ''} ${this.#question()}`.trim();
  }

  /** The transition whose pattern fits best; null = none. */
  #choiceIn(words: readonly Word[]): string | null {
    let best: { to: string; score: number } | null = null;
    for (const { to, phrases } of this.#step.choices) {
      for (const pattern of phrases) {
        const match = matchAll(matcherOf(pattern), words, this.#script.slots, this.#today)[0];
        if (match !== undefined && (best === null || match.score > best.score)) best = { to, score: match.score };
      }
    }
    return best?.to ?? null;
  }

  /** A reply by a rule of the script, or by one that every script has; null = none fits. */
  #ruleFor(words: readonly Word[]): string | null {
    const hit = bestRule(words, this.#script, [], this.#today);
    if (hit === null) return null;
    const { say, repeat, end } = hit.rule.action;
    if (repeat === true) return this.#question();
    if (say === undefined || (hit.builtIn && end === true)) return null;
    const [template = ''] = variants(say);
    const wording = fillText(template, { slots: new Map(), result: null, today: this.#today });
    return hit.rule.quiet === true ? wording : `${wording} ${this.#question()}`.trim();
  }

  #values(words: readonly Word[], said: string, asked: string | null): [string, DataValue][] {
    const { collect, known } = this.#step;
    const raw = collect.find(({ name, type }) => name === asked && RAW.has(type));
    if (raw?.type === 'email' && /@|\bat\b/i.test(said)) return [[raw.name, said]];
    if (raw?.type === 'card' && /\[card number/.test(said)) return [[raw.name, said]];
    const data = collect.filter(({ type }) => !RAW.has(type) || type === 'text');
    const slots = new Map(data.map((one) => [one.name, new Slot(one.name, slotOf(one))]));
    const form: CompiledForm = {
      name: this.#step.step,
      source: { slots: [], fill: [], done: {} },
      slots: data.map(({ name, ask, required }) => {
        const slot = { slot: name, optional: required === false, words: [] };
        return ask == null ? slot : { ...slot, ask };
      }),
      fill: [],
    };
    const found = extract({
      form,
      slots,
      memory: new MatchMemory(slots),
      words,
      today: this.#today,
      asked,
      known: new Map(),
      correcting: false,
      excluded: null,
      opening: null,
    });
    return found
      .filter(({ slot, value }: Candidate) => known[slot] !== value.value)
      .map(({ slot, value }: Candidate) => [slot, value.value]);
  }
}

const matchers = new Map<string, ReturnType<typeof compilePattern>>();
/** Patterns are few and stay the same: each is compiled once. */
const MAX_MATCHERS = 5_000;

function matcherOf(pattern: string): ReturnType<typeof compilePattern> {
  let matcher = matchers.get(pattern);
  if (matcher === undefined) {
    matcher = compilePattern(parsePattern(pattern));
    if (matchers.size >= MAX_MATCHERS) matchers.clear();
    matchers.set(pattern, matcher);
  }
  return matcher;
}

/** The slot that finds values of a type. */
function slotOf({ type, choices }: FlowData): SlotDefinition {
  switch (type) {
    case 'name':
    case 'number':
    case 'date':
    case 'time':
      return { type };
    case 'yes_no':
      return { type: 'yesno' };
    case 'choice':
      return {
        type: 'enum',
        values: Object.fromEntries((choices ?? []).map(({ value, phrases }) => [value, [...(phrases ?? [])]])),
      };
    case 'phone':
    case 'card':
      return { type: 'digits', minLength: 3, maxLength: 20 };
    default:
      return { type: 'text' };
  }
}

/** What the recogniser may hear in a flow: values, and the patterns of transitions. */
export function flowHints(flow: Flow): SpeechHints {
  const data = stepsIn(flow).flatMap(({ collect }) => collect ?? []);
  const slots = Object.fromEntries(data.map((one) => [one.name, slotOf(one)]));
  return speechHints({
    slots,
    hints: flowPatterns(flow)
      .map(({ pattern }) => pattern)
      .slice(0, 500),
  });
}

/** Patterns of a flow that have faults. */
export function flowPatternFaults(flow: Flow): { loc: (string | number)[]; reason: string }[] {
  return flowPatterns(flow).flatMap(({ loc, pattern }) => {
    try {
      if (parsePattern(pattern).slots.length === 0) return [];
      return [{ loc, reason: 'the patterns of a flow have no slots' }];
    } catch (error) {
      return [{ loc, reason: reasonOf(error) }];
    }
  });
}

function stepsIn({ steps, global: globals }: Flow): readonly FlowStep[] {
  return [...steps, ...(globals ?? [])];
}

function flowPatterns(flow: Flow): { loc: (string | number)[]; pattern: string }[] {
  const placed = (loc: (string | number)[], patterns: readonly string[] | null | undefined) =>
    (patterns ?? []).map((pattern, at) => ({ loc: [...loc, 'phrases', at], pattern }));
  const own = stepsIn(flow).flatMap(({ transitions }, at) => {
    const step = at < flow.steps.length ? ['steps', at] : ['global', at - flow.steps.length];
    return (transitions ?? []).flatMap(({ when }, index) =>
      (when ?? []).flatMap((one, nth) =>
        'choice' in one ? placed([...step, 'transitions', index, 'when', nth], one.phrases) : [],
      ),
    );
  });
  return [...own, ...(flow.global ?? []).flatMap(({ phrases }, at) => placed(['global', at], phrases))];
}
