import type { ToolCall, ToolSpec } from '../../../agent/chat.js';
import type { CompiledScript, CompiledState } from './compile.js';
import type { Candidate } from './extract.js';
import { FormFilling, type FormTalk } from './form.js';
import type { PatternMatch } from './match.js';
import { bestRule, type RuleHit } from './rules.js';
import type { ScriptAction, CallAction, Say } from './schema.js';
import { isAcknowledgement } from '../../../base/spoken/answer.js';
import type { DayNumber } from '../../../base/spoken/date.js';
import type { SlotValue } from './slots/slot.js';
import { fillArgument, fillText, isWording, remainderOf, variants } from './text.js';
import type { Word } from '../../../base/spoken/words.js';
import { parseJson } from '../../../base/json.js';

/** A tool result as a script sees it. */
export interface ReadResult {
  /** The tool is still running. */
  running: boolean;
  ok: boolean;
  /** Parsed JSON, or the text. */
  value: unknown;
}

const RUNNING = /^still running\b/i;
const FAILURE =
  /\b(fail(ed|ure|s)?|error|timed? ?out|unreachable|refused|could not|cannot|not connected|nothing was|no answer|did not (answer|reply)|interrupted|HTTP [345]\d\d|status [345]\d\d)\b/i;

/**
 * Reads a tool result. JSON is a failure if it says so: `error`, `ok: false`, `success: false`, `status` 400 or more.
 * Text is a failure if it reads like one.
 */
export function readToolResult(content: string): ReadResult {
  const text = content.trim();
  if (RUNNING.test(text)) return { running: true, ok: false, value: text };
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return { running: false, ok: !FAILURE.test(text.slice(0, 300)), value: text };
  }
  return { running: false, ok: !saysFailure(value), value };
}

function saysFailure(value: unknown): boolean {
  if (typeof value === 'string') return FAILURE.test(value.slice(0, 300));
  if (typeof value !== 'object' || value === null) return value === false;
  const { error, errors, ok, success, status } = value as Record<string, unknown>;
  if (ok === false || success === false) return true;
  if (typeof status === 'number' && status >= 400) return true;
  return Boolean(error) || (Array.isArray(errors) ? errors.length > 0 : Boolean(errors));
}

/** An empty text, list or object; an object with lists, all of them empty. */
function foundNothing(value: unknown): boolean {
  if (value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object') return false;
  const members = Object.values(value as Record<string, unknown>);
  const lists = members.filter((member) => Array.isArray(member));
  return members.length === 0 || (lists.length > 0 && lists.every((list) => list.length === 0));
}

/** An action that only says something or asks something else. */
function isRemark({ say, goto, ...others }: ScriptAction): boolean {
  return (say ?? goto) !== undefined && Object.values(others).every((effect) => effect === undefined);
}

/** "Hello", "good evening", "yes please" at the beginning. */
function isOpening({ match }: RuleHit): boolean {
  return match.start === 0 && match.end <= 2;
}

function isBeside({ start, end }: Candidate, { match }: RuleHit): boolean {
  return end <= match.start || start >= match.end;
}

/** What happened is no wish, and questions about a thing, a place or a reason are not answered by a form. */
const NO_WISH = new Set('yesterday last had did lost left why who where whose'.split(' '));

/** A value that opens a form on its own: a day, a time, or a number with its noun ("six of us"). */
function asksAlone(one: Candidate, words: readonly Word[], { slots }: CompiledScript): boolean {
  if (words.some((word) => NO_WISH.has(word.text)) || /^(what|how)$/.test(words[0]?.text ?? '')) return false;
  const type = slots.get(one.slot)?.definition.type;
  if (type === 'date' || type === 'time') return true;
  return type === 'number' && one.literals > 0 && (one.to > one.end || one.literals > 1);
}

/** What the agent says and does in one turn. */
export interface ScriptReply {
  text: string;
  calls: readonly ToolCall[];
}

const NOTHING: ScriptReply = { text: '', calls: [] };
/** The user turn that represents unintelligible speech. */
const INAUDIBLE = '[inaudible]';
export const END_TOOL = 'end_call';

/**
 * A scripted conversation. It is rebuilt from the messages for every request, so its state depends on nothing else: no
 * reply, finished or cancelled, leaves a trace.
 */
export class ScriptConversation implements FormTalk {
  readonly script: CompiledScript;
  readonly today: DayNumber | null;
  readonly values = new Map<string, SlotValue>();
  readonly #tools: readonly ToolSpec[];
  readonly #timesSaid = new Map<Say, number>();
  /** Completed forms: texts use their values until they are opened again. */
  readonly #doneForms = new Set<string>();
  #state: string | null;
  #form: FormFilling | null = null;
  #waiting: { call: CallAction; running: boolean } | null = null;
  #result: unknown = null;
  #calls: ToolCall[] = [];
  #reply: ScriptReply = NOTHING;
  /** The reply reports a tool's result. */
  #tellsResult = false;
  /** A tool's result that the user did not hear before they spoke again. */
  #unreported = '';
  #heard = '';
  #repeatable = '';
  #misses = 0;
  #turns = 0;
  #ended = false;

  constructor(script: CompiledScript, tools: readonly ToolSpec[], today: DayNumber | null) {
    this.script = script;
    this.today = today;
    this.#tools = tools;
    this.#state = script.source.start ?? null;
  }

  /** The reply to the latest user turn or tool result. */
  get reply(): ScriptReply {
    return this.#reply;
  }

  /** The user heard the agent say this, which may be only part of its reply. */
  heard(text: string): void {
    this.#heard = `${this.#heard} ${text}`.trim();
  }

  /** Another agent had the conversation: its values stay, and all else begins. */
  begin(): void {
    this.goOn();
    this.#state = this.script.source.start ?? null;
    this.#form = null;
    this.#doneForms.clear();
    this.#timesSaid.clear();
    this.#repeatable = '';
    this.#misses = 0;
    this.#turns = 0;
    this.#ended = false;
  }

  /** Another agent has had the conversation meanwhile. */
  goOn(): void {
    this.#begin();
    this.#waiting = null;
  }

  /** A turn of the user. */
  user(text: string): void {
    if (this.#waiting?.running === false) this.#settleUnseen(this.#waiting.call);
    const rest = remainderOf(this.#reply.text, this.#heard);
    // Reports a tool's result first, if the user has not heard it yet.
    const unreported = this.#tellsResult && this.#heard === '' ? this.#reply.text : '';
    // A greeting from outside the script can be repeated too.
    this.#repeatable ||= this.#heard;
    this.#begin();
    this.#turns++;
    this.#ended = false;
    const { phrases } = this.script.source;
    const words = this.script.memory.wordsOf(text, this.today);
    if (this.#waiting !== null) this.#speak(this.say(phrases.working));
    else if (rest !== '' && isAcknowledgement(words)) this.#speak(rest);
    else {
      const misses = this.#misses;
      const answer = text.trim() === INAUDIBLE ? this.#missed(phrases.inaudible) : this.#answer(words);
      // What was said before the result was heard is no answer to it: "please" behind a "yes" needs no apology.
      const isNoAnswer = unreported !== '' && this.#misses > misses;
      if (isNoAnswer) this.#misses = misses;
      this.#speak(isNoAnswer ? unreported : `${unreported} ${answer}`.trim());
      this.#unreported = unreported;
    }
  }

  /** The result of a tool, or a note that it is still running. */
  toolResult(content: string): void {
    this.#begin();
    const { running, ok, value } = readToolResult(content);
    if (this.#waiting === null) {
      if (!this.#ended) this.#speak(this.question());
    } else if (running) this.#waiting.running = true;
    else {
      const { call } = this.#waiting;
      this.#waiting = null;
      this.#result = value;
      if (ok && this.#form !== null) this.#doneForms.add(this.#form.name);
      this.#form = null;
      const done = foundNothing(value) ? (call.empty ?? call.ok) : call.ok;
      this.#speak(this.run(ok ? done : call.failed));
      this.#tellsResult = true;
    }
  }

  /** What to say if the user has not spoken since the agent did, or at all. */
  resume(): ScriptReply {
    if (this.#ended || this.#waiting !== null) return NOTHING;
    if (this.#turns === 0 && this.#heard === '') {
      const { greeting, phrases } = this.script.source;
      return { text: this.say(greeting ?? phrases.help), calls: [] };
    }
    const { working } = this.script.source.phrases;
    // The tool was done only after the user had been asked to wait.
    const hasWaited = this.#unreported !== '' && variants(working).some((wording) => isWording(wording, this.#heard));
    if (hasWaited) return { text: this.#reply.text, calls: [] };
    const rest = remainderOf(this.#reply.text, this.#heard);
    return { text: rest === '' ? this.question() : rest, calls: [] };
  }

  /** A call of a tool, with the parameters that have the name of a filled slot. */
  callWithKnown(tool: string): ScriptReply {
    const properties = this.#tools.find(({ name }) => name === tool)?.parameters['properties'] ?? {};
    const known = Object.keys(properties).flatMap((name) => {
      const value = this.values.get(name)?.value;
      return value === undefined ? [] : [[name, value] as const];
    });
    this.#calls = [];
    this.#addCall(tool, Object.fromEntries(known));
    return { text: '', calls: this.#calls };
  }

  runRule(hit: RuleHit, words: readonly Word[]): string {
    // A form weighs the values of the rule that opens it against the others in the words.
    const opened = this.script.forms.get(hit.rule.action.form ?? '');
    for (const { slot, value } of hit.match.captures) {
      if (value.allowed && opened?.slots.every((one) => one.slot !== slot) !== false) this.values.set(slot, value);
    }
    const text = this.run(hit.rule.action, hit, words);
    // What a tool or the goodbye still has to say comes before a question.
    const { quiet, action } = hit.rule;
    const isOpen = quiet !== true && action.call === undefined && action.end !== true;
    return isOpen && text === '' ? this.question() : text;
  }

  /** Runs an action and returns what to say. `hit` and `words` are what triggered it. */
  run(action: ScriptAction, hit?: RuleHit, words: readonly Word[] = []): string {
    for (const [slot, value] of Object.entries(action.set ?? {})) {
      this.values.set(slot, { value, spoken: String(value), allowed: true });
    }
    for (const slot of action.unset ?? []) this.values.delete(slot);
    if (action.repeat === true) return this.#repeatable || this.question() || this.say(this.script.source.phrases.help);
    const parts = action.say === undefined ? [] : [this.say(action.say)];
    if (action.cancel === true) {
      if (this.#form !== null) this.#forget(this.#form.name);
      this.#form = null;
      parts.push(this.say(this.script.source.phrases.cancelled));
    }
    if (action.goto !== undefined) {
      this.#state = action.goto;
      this.#form = null;
    }
    if (action.call !== undefined) parts.push(this.#call(action.call));
    else if (action.form !== undefined) parts.push(this.#open(action.form, words, hit?.match));
    else if (action.end === true) this.#end(parts.join(' '));
    else if (hit?.rule.quiet !== true) parts.push(this.question());
    return parts.filter((part) => part !== '').join(' ');
  }

  /** A form is complete: runs its action. The form stays open while a tool runs. */
  complete(action: ScriptAction): string {
    if (action.call === undefined) {
      if (this.#form !== null) this.#doneForms.add(this.#form.name);
      this.#form = null;
    }
    return this.run(action);
  }

  /** The question that is open: the form's, else the state's. */
  question(): string {
    if (this.#form !== null) return this.#form.question();
    const prompt = this.#currentState()?.prompt ?? null;
    return prompt === null ? '' : this.say(prompt);
  }

  /** Picks the next wording. `value` fills `{value}`. */
  say(say: Say, value?: string): string {
    const wordings = variants(say);
    const times = this.#timesSaid.get(say) ?? 0;
    this.#timesSaid.set(say, times + 1);
    return this.#fill(wordings[times % wordings.length] ?? '', value);
  }

  /** Picks the nth wording, from 0; beyond the last one, alternates between the last two. */
  sayNth(say: Say, times: number, value?: string): string {
    const wordings = variants(say);
    const beyond = Math.max(0, times - (wordings.length - 1));
    const index = Math.max(0, Math.min(times, wordings.length - 1) - (beyond % 2));
    return this.#fill(wordings[index] ?? '', value);
  }

  #answer(words: readonly Word[]): string {
    const state = this.#currentState();
    const hit = bestRule(words, this.script, this.#form === null ? (state?.rules ?? []) : [], this.today);
    const misses = this.#misses;
    this.#misses = 0;
    if (this.#form !== null) {
      const answer = this.#form.take(words, hit);
      if (answer !== null) return answer;
    } else {
      const form = this.#formFor(words, hit, state?.otherwise == null);
      if (form !== null) return this.#open(form, words);
      if (hit !== null) return this.runRule(hit, words);
      const nothingNew = isAcknowledgement(words) || words.length === 0;
      if (nothingNew) return this.question() || this.say(this.script.source.phrases.help);
      if (state?.otherwise != null) return this.run(state.otherwise);
    }
    this.#misses = misses;
    return this.#missed(this.script.source.phrases.notUnderstood);
  }

  /**
   * The form that the words open without a trigger phrase: with values for two of its slots or, if nothing else is
   * understood (`alone`), with one that asks for it. A word or two before the values, such as a greeting, do not count.
   */
  #formFor(words: readonly Word[], hit: RuleHit | null, alone: boolean): string | null {
    if (hit !== null && !(hit.builtIn ? hit.rule.action.cancel !== true : isRemark(hit.rule.action))) return null;
    for (const [name, form] of this.script.forms) {
      const found = new FormFilling(this, form).valuesIn(words);
      const isDone = this.#doneForms.has(name);
      if (isDone && found.every(({ slot, value }) => this.values.get(slot)?.value === value.value)) continue;
      const beside = hit === null || hit.builtIn ? found : found.filter((one) => isBeside(one, hit));
      const length = beside.reduce((sum, one) => sum + one.to - one.from, 0);
      const outweighs = hit === null || hit.builtIn || (isOpening(hit) && length > hit.match.end);
      if (beside.length >= 2 && outweighs) return name;
      if (alone && hit === null && !isDone && found.some((one) => asksAlone(one, words, this.script))) return name;
    }
    return null;
  }

  #open(name: string, words: readonly Word[], opening: PatternMatch | null = null): string {
    const form = this.script.forms.get(name);
    if (form === undefined) return '';
    if (this.#doneForms.delete(name)) this.#forget(name);
    if (this.#form?.name !== name) this.#form = new FormFilling(this, form);
    return this.#form.begin(words, opening);
  }

  #forget(form: string): void {
    for (const { slot } of this.script.forms.get(form)?.slots ?? []) this.values.delete(slot);
  }

  #call(call: CallAction): string {
    if (!this.#tools.some((tool) => tool.name === call.tool)) {
      this.#form = null;
      return this.run(call.failed);
    }
    const values = { slots: this.values, result: this.#result, today: this.today };
    const filled = Object.entries(call.arguments).map(([name, value]) => [name, fillArgument(value, values)] as const);
    const known = filled.filter(([, value]) => value !== undefined && value !== '');
    this.#waiting = { call, running: false };
    this.#addCall(call.tool, Object.fromEntries(known));
    return '';
  }

  /**
   * A call without a result among the messages was cancelled and counts as not done. But if only texts of the
   * conversation were kept, what the agent said next shows that it was done.
   */
  #settleUnseen(call: CallAction): void {
    this.#waiting = null;
    const done = [call.ok, call.empty].find(
      (action) => action?.say !== undefined && variants(action.say).some((wording) => isWording(wording, this.#heard)),
    );
    if (done === undefined) return;
    if (this.#form !== null) this.#doneForms.add(this.#form.name);
    this.#form = null;
    this.run(done);
    this.#waiting = null;
  }

  #end(message: string): void {
    this.#ended = true;
    this.#form = null;
    const required = this.#tools.find((tool) => tool.name === END_TOOL)?.parameters['required'] ?? null;
    if (!this.#tools.some((tool) => tool.name === END_TOOL)) return;
    this.#addCall(END_TOOL, Array.isArray(required) && required.includes('message') ? { message } : {});
  }

  #addCall(name: string, args: object): void {
    this.#calls.push({ id: `script_${String(this.#turns)}_${name}`, name, arguments: JSON.stringify(args) });
  }

  #currentState(): CompiledState | undefined {
    return this.#state === null ? undefined : this.script.states.get(this.#state);
  }

  #missed(say: Say): string {
    const text = this.sayNth(say, this.#misses++);
    return `${text} ${this.question()}`.trim();
  }

  #begin(): void {
    this.#heard = '';
    this.#calls = [];
    this.#reply = NOTHING;
    this.#tellsResult = false;
    this.#unreported = '';
  }

  #speak(text: string): void {
    if (this.#misses === 0 && text !== '') this.#repeatable = text;
    this.#reply = { text, calls: this.#calls };
  }

  #fill(template: string, value: string | undefined): string {
    const values = { slots: this.values, result: this.#result, today: this.today };
    return fillText(template, value === undefined ? values : { ...values, value });
  }
}
