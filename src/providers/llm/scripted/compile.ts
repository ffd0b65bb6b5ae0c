import { reasonOf } from '../../../base/errors.js';
import { builtInRules, type CompiledRule } from './built-in.js';
import { compilePattern, type Matcher } from './match.js';
import { MatchMemory } from './memory.js';
import { parsePattern } from './pattern.js';
import {
  scriptError,
  type ScriptAction,
  type AgentScript,
  type FormDefinition,
  type FormSlot,
  type RuleDefinition,
  type Say,
} from './schema.js';
import { Slot } from './slots/slot.js';
import { patternWords, type Word } from '../../../base/spoken/words.js';
import { placeholders, variants } from './text.js';

/** A compiled script: patterns as graphs, names checked. Immutable and shared by all conversations. */
export interface CompiledScript {
  readonly source: AgentScript;
  readonly slots: ReadonlyMap<string, Slot>;
  readonly rules: readonly CompiledRule[];
  readonly builtIn: readonly CompiledRule[];
  readonly states: ReadonlyMap<string, CompiledState>;
  readonly forms: ReadonlyMap<string, CompiledForm>;
  /** Match cache, shared by all conversations of this script. */
  readonly memory: MatchMemory;
}

export interface CompiledState {
  readonly prompt: Say | null;
  readonly rules: readonly CompiledRule[];
  readonly otherwise: ScriptAction | null;
}

export interface CompiledForm {
  readonly name: string;
  readonly source: FormDefinition;
  readonly slots: readonly CompiledFormSlot[];
  readonly fill: readonly Matcher[];
}

export interface CompiledFormSlot extends FormSlot {
  readonly words: readonly (readonly Word[])[];
}

/**
 * Compiles a script.
 * @throws ParleyError CONFIG_INVALID naming the place of the first error
 */
export function compileScript(source: AgentScript): CompiledScript {
  const checks = new Checks(source);
  const slots = new Map(Object.entries(source.slots).map(([name, definition]) => [name, new Slot(name, definition)]));
  for (const [name, definition] of Object.entries(source.slots))
    checks.say(definition.invalid, `slots.${name}.invalid`);
  const rules = compileRules(source.rules, 'rules', checks);
  const states = new Map<string, CompiledState>();
  for (const [name, state] of Object.entries(source.states)) {
    const path = `states.${name}`;
    checks.say(state.prompt, `${path}.prompt`);
    if (state.otherwise !== undefined) checks.action(state.otherwise, `${path}.otherwise`);
    states.set(name, {
      prompt: state.prompt ?? null,
      rules: compileRules(state.rules, `${path}.rules`, checks),
      otherwise: state.otherwise ?? null,
    });
  }
  const forms = new Map(
    Object.entries(source.forms).map(([name, form]) => [name, compileForm(name, form, checks)] as const),
  );
  for (const [index, hint] of source.hints.entries()) checks.pattern(hint, `hints.${String(index)}`);
  checks.say(source.greeting, 'greeting');
  for (const [name, say] of Object.entries(source.phrases)) checks.say(say, `phrases.${name}`);
  if (source.start !== undefined) checks.known('start', 'state', source.start, source.states);
  return { source, slots, rules, builtIn: builtInRules(source.phrases), states, forms, memory: new MatchMemory(slots) };
}

function compileRules(rules: readonly RuleDefinition[], path: string, checks: Checks): CompiledRule[] {
  return rules.map((rule, index) => {
    const place = `${path}.${String(index)}`;
    const { when, ...action } = rule;
    checks.action(action, place);
    return { matchers: variants(when).map((pattern) => checks.pattern(pattern, `${place}.when`)), action };
  });
}

function compileForm(name: string, source: FormDefinition, checks: Checks): CompiledForm {
  const path = `forms.${name}`;
  const slots = source.slots.map((slot, index) => {
    const place = `${path}.slots.${String(index)}`;
    checks.known(`${place}.slot`, 'slot', slot.slot, checks.source.slots);
    checks.say(slot.ask, `${place}.ask`);
    checks.say(slot.thanks, `${place}.thanks`);
    if (slot.ask === undefined && !slot.optional)
      throw scriptError(`${place}: a slot that is not optional needs "ask"`);
    return { ...slot, words: (slot.called ?? [slot.slot]).map((text) => patternWords(text)) };
  });
  const own = new Set(source.slots.map((slot) => slot.slot));
  const fill = source.fill.map((pattern, index) => {
    const place = `${path}.fill.${String(index)}`;
    const matcher = checks.pattern(pattern, place);
    const stranger = matcher.pattern.slots.find((slot) => !own.has(slot));
    if (matcher.pattern.slots.length === 0) throw scriptError(`${place}: "${pattern}" fills no slot`);
    if (stranger !== undefined) throw scriptError(`${place}: {${stranger}} is not a slot of this form`);
    return matcher;
  });
  checks.say(source.confirm, `${path}.confirm`);
  checks.action(source.done, `${path}.done`);
  return { name, source, slots, fill };
}

/** Checks names and patterns; every message names the place. */
class Checks {
  readonly source: AgentScript;

  constructor(source: AgentScript) {
    this.source = source;
  }

  pattern(pattern: string, path: string): Matcher {
    let matcher: Matcher;
    try {
      matcher = compilePattern(parsePattern(pattern));
    } catch (error) {
      throw scriptError(`${path}: the pattern "${pattern}": ${reasonOf(error)}`);
    }
    for (const slot of matcher.pattern.slots) this.known(path, 'slot', slot, this.source.slots);
    return matcher;
  }

  known(path: string, kind: string, name: string, among: Readonly<Record<string, unknown>>): void {
    if (Object.hasOwn(among, name)) return;
    const known = Object.keys(among).join(', ');
    throw scriptError(
      `${path}: there is no ${kind} "${name}" (${known === '' ? 'none is defined' : `known: ${known}`})`,
    );
  }

  say(say: Say | undefined, path: string): void {
    for (const text of say === undefined ? [] : variants(say)) this.#names(text, path);
  }

  action(action: ScriptAction, path: string): void {
    this.say(action.say, `${path}.say`);
    if (action.goto !== undefined) this.known(`${path}.goto`, 'state', action.goto, this.source.states);
    if (action.form !== undefined) this.known(`${path}.form`, 'form', action.form, this.source.forms);
    for (const slot of Object.keys(action.set ?? {})) this.known(`${path}.set`, 'slot', slot, this.source.slots);
    for (const slot of action.unset ?? []) this.known(`${path}.unset`, 'slot', slot, this.source.slots);
    if (action.call === undefined) return;
    for (const [name, value] of Object.entries(action.call.arguments)) {
      if (typeof value === 'string') this.#names(value, `${path}.call.arguments.${name}`);
    }
    this.action(action.call.ok, `${path}.call.ok`);
    this.action(action.call.failed, `${path}.call.failed`);
    if (action.call.empty !== undefined) this.action(action.call.empty, `${path}.call.empty`);
  }

  #names(text: string, path: string): void {
    for (const name of placeholders(text)) {
      if (name === 'value' || name === 'result' || name.startsWith('result.')) continue;
      this.known(path, 'slot', name.split('.')[0] ?? '', this.source.slots);
    }
  }
}
