import type { ToolCall, ToolSpec } from '../agent/chat.js';
import type { Clock } from '../base/clock.js';
import type { ServiceFunction } from '../agent/function.js';
import type { Param } from '../agent/param.js';
import { fillVariables, type Variables } from '../agent/variables.js';
import { type Arguments, readArguments } from './arguments.js';
import { abortAfter } from '../base/deadlines.js';
import { type JsonSchema, checkJson } from '../schema/json-schema.js';
import { functionSpec, paramsSchema } from './function-spec.js';
import {
  type Screen,
  type Tool,
  type ToolContext,
  type ToolResult,
  type ToolSpeech,
  toolSpeech,
  wrongArguments,
} from './tool.js';

/** A converted value, or an error text that a form can show and a model can say. */
export type ReadValue = { ok: true; value: string | number | boolean } | { ok: false; problem: string };

const MAX_CHARS = 10_000;
/** One `@` with text on both sides and a dot after it: the mail server checks the rest (RFC 5321 limits). */
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['on', true],
  ['false', false],
  ['no', false],
  ['off', false],
]);

/** Whether the value is absent. */
export function isMissing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
}

/**
 * Validates a value from a form or a model. Clients send text for everything, so text that parses as the type is
 * accepted. Types: string, number (integer), boolean, email; any other word is a string. The other keywords of the param
 * hold for the converted value.
 */
export function readValue(param: Param, value: unknown): ReadValue {
  const read = typedValue(param, value);
  if (!read.ok) return read;
  const checked = checkJson(paramsSchema([param]).properties[param.name] as JsonSchema, read.value, param.name);
  return checked.ok ? read : { ok: false, problem: checked.problems.join(' ') };
}

function typedValue(param: Param, value: unknown): ReadValue {
  const text = typeof value === 'string' ? value.trim() : value;
  switch ((param.type ?? 'string').toLowerCase()) {
    case 'number':
    case 'float':
      return numberOf(param, text, Number.isFinite, 'a number');
    case 'integer':
    case 'int':
      return numberOf(param, text, Number.isSafeInteger, 'a whole number');
    case 'boolean':
    case 'bool': {
      const read = typeof text === 'string' ? BOOLEANS.get(text.toLowerCase()) : text;
      return typeof read === 'boolean' ? { ok: true, value: read } : wrong(param, 'yes or no');
    }
    case 'email': {
      const is = typeof text === 'string' && text.length <= 254 && EMAIL.test(text);
      return is ? { ok: true, value: text } : wrong(param, 'an email address such as name@example.com');
    }
    default:
      return typeof text === 'string' && text.length <= MAX_CHARS ? { ok: true, value: text } : wrong(param, 'a text');
  }
}

function numberOf(param: Param, value: unknown, fits: (value: number) => boolean, words: string): ReadValue {
  const read = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof read === 'number' && fits(read) ? { ok: true, value: read } : wrong(param, words);
}

function wrong({ name }: Param, words: string): ReadValue {
  return { ok: false, problem: `${name} should be ${words}.` };
}

/** How long a user may take to fill in a form. */
const FORM_MS = 120_000;

export interface WebFormOptions {
  clock: Clock;
  variables: Variables;
  /** Whether the user's client shows forms. If not, the agent asks by voice. */
  hasScreen: boolean;
}

/**
 * Asks the user for a value in a form on the screen. On a line without a screen the model asks by voice and passes the
 * value with the call, with the same validation.
 */
export class WebForm implements Tool {
  readonly spec: ToolSpec;
  readonly speech: ToolSpeech;
  readonly maxMs = FORM_MS;
  readonly #fn: ServiceFunction;
  readonly #options: WebFormOptions;
  /** The form field, with variables filled in. */
  readonly #field: Param;
  readonly #params: readonly Param[];

  constructor(fn: ServiceFunction, options: WebFormOptions) {
    this.#fn = fn;
    this.#options = options;
    const { param } = fn.data;
    this.#field = { ...param, description: fillVariables(param.description ?? '', options.variables) };
    this.#params = withField(fn.params ?? [], options.hasScreen ? null : param);
    this.spec = functionSpec({ ...fn, params: [...this.#params] }, options.variables);
    this.speech = toolSpeech(fn, options.variables);
  }

  async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
    context.signal.throwIfAborted();
    const read = readArguments(this.#params, call.arguments);
    if (!read.ok) return wrongArguments(read.problem, this.#fn.name);
    const given = read.values[this.#field.name];
    if (!this.#options.hasScreen || context.screen === undefined) return this.#byVoice(given);
    return this.#onScreen(context.screen, read.values, context.signal);
  }

  #byVoice(given: unknown): ToolResult {
    const { name, type, required } = this.#field;
    if (isMissing(given)) {
      if (required !== true && given !== undefined) return { ok: true, content: valueText(this.#field, null) };
      const repeat = type?.toLowerCase() === 'email' ? ' Have it spelled, and read it back.' : '';
      return {
        ok: false,
        content:
          `The form cannot be shown: the user has no screen here. Ask them for ${name} (${type ?? 'string'}) in words.${repeat} ` +
          `Then call ${this.#fn.name} again with ${name}.`,
      };
    }
    const value = readValue(this.#field, given);
    if (value.ok) return { ok: true, content: valueText(this.#field, value.value) };
    return { ok: false, content: `${value.problem} Ask the user again, then call ${this.#fn.name} with it.` };
  }

  async #onScreen(screen: Screen, values: Arguments, signal: AbortSignal): Promise<ToolResult> {
    const { clock } = this.#options;
    const deadline = abortAfter(clock, FORM_MS, signal);
    const { name, type } = this.#fn;
    const { [this.#field.name]: suggested, ...params } = values;
    let problem: string | null = null;
    let value: unknown = suggested ?? null;
    try {
      for (;;) {
        const data = { param: this.#field, value, problem: problem ?? undefined };
        const answer = await screen.ask({ name, data: { type, params, data } }, deadline.signal);
        if (isMissing(answer)) return skipped(this.#field);
        const read = readValue(this.#field, answer);
        if (read.ok) return { ok: true, content: valueText(this.#field, read.value) };
        ({ problem } = read);
        value = answer;
      }
    } catch {
      signal.throwIfAborted();
      return { ok: false, content: 'The user did not answer the form in time. Ask whether they need help with it.' };
    } finally {
      deadline.cancel();
    }
  }
}

/** Without a form the field becomes an argument too; it is validated here only. */
function withField(params: readonly Param[], field: Param | null): readonly Param[] {
  if (field === null || params.some(({ name }) => name === field.name)) return params;
  return [...params, { ...field, required: false }];
}

function skipped({ name, required }: Param): ToolResult {
  if (required !== true) return { ok: true, content: valueText({ name }, null) };
  return { ok: false, content: `The form failed: the user closed it without filling in ${name}.` };
}

function valueText({ name }: Param, value: string | number | boolean | null): string {
  return JSON.stringify({ [name]: value });
}
