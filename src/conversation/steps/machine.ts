import type { ToolSpec } from '../../agent/chat.js';
import type { ExpectedAnswer } from '../../agent/expected-answer.js';
import {
  fillData,
  type Flow,
  type FlowCondition,
  type FlowData,
  type FlowGlobalStep,
  type FlowStep,
  type FlowEnd,
  type DataValue,
  startOf,
  type StepsConfig,
  type StepView,
} from '../../agent/flow/steps.js';
import { parseJson } from '../../base/json.js';
import { localTime } from '../../base/local-time.js';
import type { DayNumber } from '../../base/spoken/date.js';
import { checkData } from './data.js';
import {
  CONFIRM_DATA,
  CONFIRM_RULE,
  CONFIRM_SPEC,
  DATA_RULES,
  fieldLine,
  nextStepSpec,
  SET_DATA,
  setDataSpec,
} from './functions.js';

/**
 * The steps of a flow. Where the conversation is, what is known, and what follows is decided here, in speech and in
 * writing alike. Values come from the model's calls, and phrases are said word for word by the host.
 */

/** A step that the conversation was in. */
export interface StepPassed {
  step: string;
  /** Since the beginning of the conversation. */
  fromMs: number;
  /** Null = the conversation ended in it, or is still there. */
  toMs: number | null;
  /** The step that followed. */
  to: string | null;
}

/** A value that was read back, and waits for the user's yes. */
export interface DataToConfirm {
  name: string;
  value: DataValue;
  spoken: string;
}

/** What belongs to one stay in a step. */
export interface StepStay {
  step: string;
  /** Refused attempts by name. */
  attempts: Record<string, number>;
  /** Of the tools that were called in this step. */
  results: Record<string, { ok: boolean; content: string }>;
  called: boolean;
}

/** Plain data. */
export interface StepsState extends StepStay {
  data: Record<string, DataValue>;
  /** What the user does not say: no attempt is left, or it was declined. */
  unknown: string[];
  confirming: DataToConfirm[];
  /** Where a global step was entered from, with the agent's last words there. */
  from: (StepStay & { words: string }) | null;
  /** The last words of the steps are a question. */
  asked: boolean;
  /** Why the last value was refused, until the next one is taken. */
  refusal: string | null;
  passed: StepPassed[];
  /** Nothing is recorded while a card number is said. */
  paused: boolean;
  /** What the step asks for, for the recogniser. */
  expects: ExpectedAnswer | null;
}

/** What the steps need from the conversation. */
export interface StepsHost {
  readonly nowMs: number;
  /** @param whole nothing may cut it off */
  say(text: string, whole: boolean): void;
  /** The question whether a value is right. */
  readBack(value: string): string;
  lastWords(): string;
  onEntered(passed: StepPassed): void;
  /** The call ends, or is transferred, once everything was said. */
  onEnd(end: FlowEnd): void;
}

/** A tool that parley calls. */
export interface StepCall {
  tool: string;
  /** JSON text of an object. */
  arguments: string;
}

/** Most steps that follow each other without waiting for anybody. */
const MOST_AT_ONCE = 20;

/** The tool whose result a transfer by `end` has. */
export const TRANSFER = 'transfer_call';

const CONFIRMED_TYPES: ReadonlySet<FlowData['type']> = new Set(['email', 'phone', 'card']);

export function newStay(step: string): StepStay {
  return { step, attempts: {}, results: {}, called: false };
}

/** A flow at work: the rules over its state. Holds nothing itself. */
export class Steps {
  readonly #config: StepsConfig;
  readonly #state: StepsState;
  readonly #host: StepsHost;

  constructor(config: StepsConfig, state: StepsState, host: StepsHost) {
    this.#config = config;
    this.#state = state;
    this.#host = host;
  }

  /** The beginning: the first step's phrase is said by `begin`. */
  static initialState({ flow }: StepsConfig): StepsState {
    return {
      ...newStay(startOf(flow)),
      data: {},
      unknown: [],
      confirming: [],
      from: null,
      asked: false,
      refusal: null,
      passed: [],
      paused: false,
      expects: null,
    };
  }

  begin(): void {
    this.#arrive(this.#state.step);
  }

  get step(): FlowStep | FlowGlobalStep {
    const { steps, global: globals } = this.#flow;
    const { step: id } = this.#state;
    const step = [...steps, ...(globals ?? [])].find((one) => one.id === id);
    if (step === undefined) throw new Error(`the flow has no step ${id}`);
    return step;
  }

  /** What the user is asked for: a value, the yes to one that was read back, or nothing in particular. */
  get asks(): FlowData['type'] | null {
    if (this.#state.confirming.length > 0) return 'yes_no';
    return this.#askedData()?.type ?? null;
  }

  /** Whether the user is about to say the number of a card, or may correct one. */
  get asksForCard(): boolean {
    const [first] = this.#state.confirming;
    if (first !== undefined) return this.#fields().find(({ name }) => name === first.name)?.type === 'card';
    // One without a question may be offered as soon as nothing else is asked for.
    const offered = this.#fields().find((one) => one.type === 'card' && this.#isOpen(one));
    return (this.#askedData() ?? offered)?.type === 'card';
  }

  /** Names of the tools that the model may use now. */
  get toolNames(): string[] {
    return [...(this.step.tools ?? this.#flow.tools ?? []), ...this.specs().map(({ name }) => name)];
  }

  /** The functions with which the model tells what it has learned, and chooses. */
  specs(): ToolSpec[] {
    const { confirming } = this.#state;
    const fields = this.#fields();
    const choices = this.#choices();
    return [
      ...(fields.length > 0 ? [setDataSpec(fields)] : []),
      ...(confirming.length > 0 ? [CONFIRM_SPEC] : []),
      ...(choices.length > 0 ? [nextStepSpec(choices)] : []),
    ];
  }

  /** The part of the system prompt that is about the present step. */
  prompt(): string {
    const { data, unknown, confirming } = this.#state;
    const { id, title, instruction } = this.step;
    const open = this.#fields().filter(({ name }) => data[name] === undefined && !unknown.includes(name));
    const [first] = confirming;
    const parts = [
      `The conversation follows steps, and is in the step "${title ?? id}" now. Keep to it.`,
      instruction == null ? '' : this.#filled(instruction, (_field, value) => String(value)),
      open.length === 0 ? '' : `Find out, in this order:\n${open.map(fieldLine).join('\n')}`,
      this.#fields().length === 0 ? '' : DATA_RULES,
      first === undefined
        ? ''
        : `The user was asked whether ${first.name} = ${String(first.value)} is right: ${CONFIRM_RULE}`,
      this.#knownLine(),
    ];
    return parts.filter((part) => part !== '').join('\n\n');
  }

  view(): StepView {
    const { step, data, confirming, attempts, refusal } = this.#state;
    const asked = this.#askedData();
    const [first] = confirming;
    const entry = this.step.say?.entry ?? null;
    return {
      step,
      collect: this.#fields(),
      asked: asked?.name ?? null,
      known: { ...data },
      confirming: first === undefined ? null : { name: first.name, spoken: first.spoken },
      attempts: asked === null ? 0 : (attempts[asked.name] ?? 0),
      refusal,
      choices: this.#choices().map(({ to, phrases }) => ({ to, phrases })),
      entry: entry === null ? null : this.#spokenText(entry),
    };
  }

  /** Carries out a call of one of the functions. @returns what the model reads */
  take(name: string, args: string): string {
    const values = argumentsOf(args);
    if (values === null) return 'Not taken: the arguments are no JSON object.';
    if (name === SET_DATA) return this.#takeData(values);
    return name === CONFIRM_DATA ? this.#takeAnswer(values['correct']) : this.#takeChoice(values['step']);
  }

  /** A tool of the agent has ended. */
  noteResult(tool: string, ok: boolean, content: string): void {
    this.#state.results[tool] = { ok, content };
    if (this.step.call?.tool === tool) this.#state.called = true;
  }

  /**
   * Takes the transitions that hold, one after the other.
   * @returns a tool to call, or who goes on: the model, or the user
   */
  advance(): StepCall | 'model' | 'user' {
    const state = this.#state;
    for (let count = 0; count < MOST_AT_ONCE; count++) {
      const to = this.#due();
      if (to === null) break;
      this.#go(to);
    }
    const { call, end } = this.step;
    if (end != null) return state.results[TRANSFER] === undefined ? 'user' : 'model';
    if (call != null && !state.called && !state.asked && this.#isComplete()) {
      state.called = true;
      return { tool: call.tool, arguments: JSON.stringify(this.#argumentsOf(call.arguments ?? null)) };
    }
    const isAsked = state.asked;
    state.asked = false;
    return isAsked ? 'user' : 'model';
  }

  get #flow(): Flow {
    return this.#config.flow;
  }

  get #today(): DayNumber {
    const { startUnixMs, timezone } = this.#config;
    const { year, month, day } = localTime(startUnixMs + this.#host.nowMs, timezone);
    return Date.UTC(year, month - 1, day) / 86_400_000;
  }

  #fields(): readonly FlowData[] {
    return this.step.end == null ? (this.step.collect ?? []) : [];
  }

  #isOpen({ name }: FlowData): boolean {
    const { data, unknown, confirming } = this.#state;
    return data[name] === undefined && !unknown.includes(name) && !confirming.some((one) => one.name === name);
  }

  /** Optional values without a question are only taken when they are offered. */
  #askedData(): FlowData | null {
    return this.#fields().find((one) => this.#isOpen(one) && (one.required !== false || one.ask != null)) ?? null;
  }

  #isComplete(): boolean {
    return this.#state.confirming.length === 0 && this.#askedData() === null;
  }

  /** The step that follows without anybody's choice; null = none yet. */
  #due(): string | null {
    const { call, end, transitions } = this.step;
    const { results } = this.#state;
    const isComplete = this.#isComplete() && (call == null || results[call.tool] !== undefined);
    for (const { to, when } of transitions ?? []) {
      const conditions = when ?? [];
      if (conditions.some((one) => 'choice' in one)) continue;
      const isByTool = conditions.some((one) => 'tool' in one);
      if (!isByTool && (!isComplete || end != null)) continue;
      if (conditions.every((one) => this.#holds(one))) return to;
    }
    return null;
  }

  #holds(condition: FlowCondition): boolean {
    if ('choice' in condition) return true;
    if ('tool' in condition) {
      const result = this.#state.results[condition.tool];
      if (result === undefined || (condition.ok ?? result.ok) !== result.ok) return false;
      return condition.is == null || isSame(memberOf(result.content, condition.path ?? null), condition.is);
    }
    const { known, is, not, in: list, at_least: least, at_most: most } = condition;
    const value = this.#state.data[condition.data];
    if (known === false) return value === undefined;
    if (value === undefined) return false;
    return (
      (is == null || isSame(value, is)) &&
      (not == null || !isSame(value, not)) &&
      (list == null || list.some((one) => isSame(value, one))) &&
      (least == null || isOrdered(least, value)) &&
      (most == null || isOrdered(value, most))
    );
  }

  /** What the model may choose: the step's own transitions whose other conditions hold, and the global steps. */
  #choices(): { to: string; choice: string; phrases: readonly string[] }[] {
    if (this.step.end != null) return [];
    const own = (this.step.transitions ?? []).flatMap(({ to, when }) => {
      const choice = (when ?? []).find((one) => 'choice' in one);
      if (choice === undefined || !(when ?? []).every((one) => this.#holds(one))) return [];
      return [{ to, choice: choice.choice, phrases: choice.phrases ?? [] }];
    });
    const globals = (this.#flow.global ?? [])
      .filter(({ id }) => id !== this.#state.step)
      .map(({ id: to, choice, phrases }) => ({ to, choice, phrases: phrases ?? [] }));
    return [...own, ...globals];
  }

  #takeData(values: Readonly<Record<string, unknown>>): string {
    const before = this.#state.step;
    const lines: string[] = [];
    this.#state.refusal = null;
    for (const [name, raw] of Object.entries(values)) {
      if (this.#state.step !== before) break; // no attempt was left, and another step follows
      const data = this.#fields().find((one) => one.name === name);
      if (data === undefined) lines.push(`${name}: not taken, this step does not ask for it.`);
      else lines.push(`${name}: ${this.#takeValue(data, raw)}`);
    }
    this.#readBack();
    return lines.length === 0 ? 'Nothing was given.' : lines.join('\n');
  }

  #takeValue(data: FlowData, raw: unknown): string {
    const { name } = data;
    const { confirming, unknown } = this.#state;
    if (raw === null && data.required === false) {
      unknown.push(name);
      return 'noted that the user does not say it.';
    }
    const checked = checkData(data, raw, this.#today);
    if (!checked.ok) return this.#refuse(data, checked.reason);
    const { value, spoken } = checked;
    this.#state.unknown = unknown.filter((one) => one !== name);
    this.#state.confirming = confirming.filter((one) => one.name !== name);
    if (this.#state.data[name] === value) return `is ${String(value)} already.`;
    if (!(data.confirm ?? CONFIRMED_TYPES.has(data.type))) {
      this.#state.data[name] = value;
      return `taken as ${String(value)}.`;
    }
    this.#state.confirming.push({ name, value, spoken });
    return `understood as ${String(value)}. It is read back to the user for you: wait for their answer, then call ${CONFIRM_DATA}.`;
  }

  #refuse(data: FlowData, reason: string): string {
    const { attempts, unknown } = this.#state;
    const { name, failed } = data;
    const count = (attempts[name] ?? 0) + 1;
    attempts[name] = count;
    const left = (data.retries ?? 2) + 1 - count;
    this.#state.refusal = reason;
    if (left > 0) return `not taken. ${reason} Tell the user so and ask again. Attempts left: ${String(left)}.`;
    unknown.push(name);
    if (failed == null) return `not taken. ${reason} No attempt is left: go on without it.`;
    this.#go(failed);
    return `not taken. ${reason} No attempt is left: another step follows.`;
  }

  /** Asks whether the first of the new values is right. */
  #readBack(): void {
    const [first] = this.#state.confirming;
    if (first === undefined) return;
    const data = this.#fields().find(({ name }) => name === first.name);
    const own = data?.read_back ?? null;
    const text = own === null ? this.#host.readBack(first.spoken) : own.replaceAll('{value}', first.spoken);
    this.#say(text, false);
    this.#state.asked = true;
  }

  #takeAnswer(correct: unknown): string {
    const [first, ...others] = this.#state.confirming;
    if (first === undefined) return 'Nothing waits for an answer.';
    if (typeof correct !== 'boolean') return 'Not taken: `correct` has to be true or false.';
    this.#state.confirming = others;
    const data = this.#fields().find(({ name }) => name === first.name);
    let result: string;
    if (correct) {
      this.#state.data[first.name] = first.value;
      this.#state.refusal = null;
      result = `${first.name} is ${String(first.value)}.`;
    } else {
      const reason = 'That was not right.';
      result = data === undefined ? reason : `${first.name}: ${this.#refuse(data, reason)}`;
    }
    this.#readBack();
    return result;
  }

  #takeChoice(to: unknown): string {
    const choices = this.#choices();
    const chosen = choices.find((one) => one.to === to);
    if (chosen === undefined) {
      return `Not changed: \`step\` has to be one of ${choices.map((one) => one.to).join(', ')}.`;
    }
    this.#go(chosen.to);
    return `The conversation is in the step ${this.#state.step} now.`;
  }

  /** Leaves the step for another one. */
  #go(to: string): void {
    const { exit } = this.step.say ?? {};
    const { step, attempts, results, called, from } = this.#state;
    const isGlobal = (this.#flow.global ?? []).some(({ id }) => id === to);
    const words = this.#host.lastWords();
    if (exit != null) this.#say(exit, true);
    this.#state.from = isGlobal ? (from ?? { step, attempts, results, called, words }) : null;
    this.#leaveFor(to);
    Object.assign(this.#state, newStay(to));
    this.#arrive(to);
  }

  #leaveFor(to: string): void {
    const last = this.#state.passed.at(-1);
    if (last !== undefined) Object.assign(last, { toMs: this.#host.nowMs, to });
    this.#state.confirming = [];
    this.#state.refusal = null;
  }

  #arrive(id: string): void {
    const passed: StepPassed = { step: id, fromMs: this.#host.nowMs, toMs: null, to: null };
    this.#state.passed.push(passed);
    this.#host.onEntered(passed);
    const { say, end } = this.step;
    this.#state.asked = false;
    if (say?.entry != null) this.#say(say.entry, true);
    if (end == null) return;
    if (end.action === 'hang_up' || end.action === 'transfer') this.#host.onEnd(end);
    else this.#return(end.action === 'repeat');
  }

  /** Back from a global step. */
  #return(repeats: boolean): void {
    const { from } = this.#state;
    if (from === null) return;
    const { words, ...stay } = from;
    this.#leaveFor(stay.step);
    Object.assign(this.#state, stay, { from: null });
    const passed: StepPassed = { step: stay.step, fromMs: this.#host.nowMs, toMs: null, to: null };
    this.#state.passed.push(passed);
    this.#host.onEntered(passed);
    if (!repeats || words === '') return;
    this.#say(words, false);
    this.#state.asked = true;
  }

  #say(text: string, isPhrase: boolean): void {
    const said = isPhrase ? this.#spokenText(text) : text;
    this.#host.say(said, isPhrase && this.step.say?.whole === true);
    this.#state.asked = /[?？]["'”’»)\]]*\s*$/u.test(said);
  }

  #knownLine(): string {
    const known = Object.entries(this.#state.data).map(([name, value]) => `${name} = ${String(value)}`);
    return known.length === 0 ? '' : `Known so far: ${known.join('; ')}.`;
  }

  #spokenText(text: string): string {
    return this.#filled(text, ({ type }, value) => {
      if (type !== 'date' && type !== 'time') return typeof value === 'string' ? value : spokenScalar(value);
      const checked = checkData({ name: 'value', type }, value, this.#today);
      return checked.ok ? checked.spoken : String(value);
    });
  }

  #filled(text: string, valueText: (data: FlowData, value: DataValue) => string): string {
    const all = [...this.#flow.steps, ...(this.#flow.global ?? [])].flatMap(({ collect }) => collect ?? []);
    return fillData(text, (name) => {
      const value = this.#state.data[name];
      const data = all.find((one) => one.name === name);
      return value === undefined || data === undefined ? null : valueText(data, value);
    });
  }

  #argumentsOf(given: Readonly<Record<string, DataValue>> | null): Record<string, DataValue> {
    const { data } = this.#state;
    if (given === null) {
      const names = this.#fields().map(({ name }) => name);
      return Object.fromEntries(Object.entries(data).filter(([name]) => names.includes(name)));
    }
    const filled = Object.entries(given).flatMap(([name, value]): [string, DataValue][] => {
      if (typeof value !== 'string') return [[name, value]];
      const whole = /^\{([a-z][a-z0-9_]*)\}$/.exec(value)?.[1];
      if (whole === undefined) return [[name, this.#filled(value, (_data, one) => String(one))]];
      const own = data[whole];
      return own === undefined ? [] : [[name, own]];
    });
    return Object.fromEntries(filled);
  }
}

function argumentsOf(args: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = parseJson(args === '' ? '{}' : args);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : null;
  } catch {
    return null;
  }
}

/** A member of a tool's result; the whole text if it is no JSON. */
function memberOf(content: string, path: string | null): unknown {
  let value: unknown;
  try {
    value = parseJson(content);
  } catch {
    return path === null ? content.trim() : undefined;
  }
  for (const part of path?.split('.') ?? []) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** Texts compare without case, and a number equals its text. */
function isSame(value: unknown, wanted: DataValue): boolean {
  return value === wanted || comparable(value) === comparable(wanted);
}

function comparable(value: unknown): string {
  return typeof value === 'string' ? value.trim().toLowerCase() : JSON.stringify(value ?? null);
}

/** Numbers by their value; texts, such as dates and times, by their order. */
function isOrdered(low: DataValue, high: DataValue): boolean {
  const [a, b] = [Number(low), Number(high)];
  return Number.isFinite(a) && Number.isFinite(b) ? a <= b : String(low) <= String(high);
}

function spokenScalar(value: DataValue): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}
