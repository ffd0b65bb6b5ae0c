import * as z from 'zod';
import { ParleyError } from '../../../base/errors.js';
import { parseClock } from '../../../base/spoken/time.js';
import { weekdayNamed } from '../../../base/spoken/date.js';

/**
 * The format of an agent script, see docs/agent-scripts.md. Validates everything except what needs the whole script
 * (names that refer to each other, patterns), which `compile.ts` checks.
 */

const text = z.string().trim().min(1).max(2_000);
/** What the agent says: a text, or several that alternate. */
const say = z.union([text, z.array(text).min(1).max(50)]);
const name = z
  .string()
  .regex(/^[a-z][a-zA-Z0-9_]*$/, 'must be a name such as "party" (a small letter, then letters, digits, _)');
const pattern = z.string().trim().min(1).max(300);
const patterns = z.union([pattern, z.array(pattern).min(1).max(200)]);
const clock = z.string().refine((value) => parseClock(value) !== null, 'must be a time such as "17:30"');
const weekday = z.string().refine((value) => weekdayNamed(value) >= 0, 'must be a weekday such as "monday"');

const slotBase = {
  /** Phrases that stand for a value: `{"just me": 1}`. */
  synonyms: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  /** Typical values, as hints for the recogniser. */
  examples: z.array(text).max(200).optional(),
  /** Said when a value is out of range; `{value}` is what was understood. */
  invalid: say.optional(),
};

const slot = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('number'), min: z.number().optional(), max: z.number().optional(), ...slotBase }),
  z.strictObject({ type: z.literal('time'), between: z.tuple([clock, clock]).optional(), ...slotBase }),
  z.strictObject({ type: z.literal('date'), closed: z.array(weekday).optional(), ...slotBase }),
  z.strictObject({ type: z.literal('name'), ...slotBase }),
  z.strictObject({
    type: z.literal('digits'),
    minLength: z.number().int().min(1).optional(),
    maxLength: z.number().int().max(40).optional(),
    ...slotBase,
  }),
  z.strictObject({ type: z.literal('yesno'), ...slotBase }),
  z.strictObject({
    type: z.literal('enum'),
    values: z.union([z.array(text).min(1), z.record(text, z.array(text))]),
    ...slotBase,
  }),
  z.strictObject({ type: z.literal('text'), ...slotBase }),
]);

const argument = z.union([z.string().max(2_000), z.number(), z.boolean()]);

const actionShape = {
  /** Said first. */
  say: say.optional(),
  /** Sets slots. */
  set: z.record(name, z.union([z.string(), z.number(), z.boolean()])).optional(),
  /** Empties slots. */
  unset: z.array(name).min(1).max(50).optional(),
  /** The next state. */
  goto: name.optional(),
  /** Opens a form, or continues it if it is already open. */
  form: name.optional(),
  get call() {
    return call.optional();
  },
  /** Repeats the last utterance. */
  repeat: z.literal(true).optional(),
  /** Leaves the form without running its action. */
  cancel: z.literal(true).optional(),
  /** Ends the conversation after `say`. */
  end: z.literal(true).optional(),
};

const action = z.strictObject(actionShape);

const call = z.strictObject({
  tool: z.string().min(1).max(100),
  /** `"{party}"` alone passes the slot's value with its type; slots within other text become text. */
  arguments: z.record(z.string(), argument).default({}),
  /** Runs when the tool succeeds, with `{result.field}` in the texts. */
  get ok() {
    return action;
  },
  get failed() {
    return action;
  },
  /** Runs in place of `ok` when the tool finds nothing: an empty text, list or object, or one with empty lists only. */
  get empty() {
    return action.optional();
  },
});

const rule = z.strictObject({ when: patterns, ...actionShape });

const state = z.strictObject({
  /** Asked on entering the state, and again after the agent answers a question in it. */
  prompt: say.optional(),
  rules: z.array(rule).max(500).default([]),
  /** Runs if no rule matches. Default: the phrases for unrecognised input. */
  otherwise: action.optional(),
});

const formSlot = z.strictObject({
  slot: name,
  /** The question; repeated questions use the wordings in turn. */
  ask: say.optional(),
  /** Said when only this slot has been filled. */
  thanks: say.optional(),
  /** The user may decline. Without `ask` the value is only taken if the user offers it. */
  optional: z.boolean().default(false),
  /** What the user calls it, as in "change the time". Default: its name. */
  called: z.array(text).optional(),
});

const form = z.strictObject({
  slots: z.array(formSlot).min(1).max(50),
  /** Patterns that fill slots at any time while the form is open. */
  fill: z.array(pattern).max(200).default([]),
  /** Reads everything back; the first wording whenever a value is new, the others when the question is repeated. */
  confirm: say.optional(),
  /** Runs when all values are known (and confirmed). */
  done: action,
});

const phrases = z.strictObject({
  notUnderstood: say.default([
    'Sorry, I did not get that.',
    'I am sorry, I still did not get that.',
    'I am having trouble understanding you, I am sorry.',
  ]),
  inaudible: say.default([
    'Sorry, I could not hear that properly.',
    'I am sorry, the line is not good. Could you say that again, a little slower?',
    'I still cannot make it out, I am sorry.',
  ]),
  spell: say.default(['Could you spell the name for me, please, letter by letter?', 'Just the letters, please.']),
  change: say.default(['What should I change?', 'Which part should be different?']),
  cancelled: say.default('All right, I have dropped that.'),
  working: say.default(['One moment, I am still on it.', 'Almost done, just a second.']),
  wait: say.default('Take your time.'),
  thanks: say.default('You are welcome.'),
  help: say.default('Just tell me what you need in your own words.'),
  goodbye: say.default('Goodbye!'),
});

const scriptSchema = z.strictObject({
  /** The opening, if the agent has no first_message. */
  greeting: say.optional(),
  /** The initial state. */
  start: name.optional(),
  slots: z.record(name, slot).default({}),
  /** Rules for every state. */
  rules: z.array(rule).max(1_000).default([]),
  states: z.record(name, state).default({}),
  forms: z.record(name, form).default({}),
  /** Wordings of the built-in replies. */
  phrases: phrases.prefault({}),
  /** Sentences for the recogniser only, as patterns. */
  hints: z.array(pattern).max(500).default([]),
});

export type AgentScript = z.infer<typeof scriptSchema>;
/** A script as written: everything with a default is optional. */
export type AgentScriptInput = z.input<typeof scriptSchema>;
export type SlotDefinition = AgentScript['slots'][string];
export type Say = z.infer<typeof say>;
export type RuleDefinition = AgentScript['rules'][number];
export type FormDefinition = AgentScript['forms'][string];
export type FormSlot = FormDefinition['slots'][number];
export type ScriptAction = z.infer<typeof action>;
export type CallAction = z.infer<typeof call>;
export type PhraseValues = AgentScript['phrases'];

/**
 * Parses a script.
 * @throws ParleyError CONFIG_INVALID naming the places of up to five errors
 */
export function parseScript(input: unknown): AgentScript {
  const result = scriptSchema.safeParse(input);
  if (result.success) return result.data;
  const reasons = result.error.issues.slice(0, 5).map((issue) => `${pathText(issue.path)}: ${issue.message}`);
  throw scriptError(reasons.join('; '));
}

export function scriptError(reason: string): ParleyError {
  return new ParleyError('CONFIG_INVALID', { reason: `script: ${reason}`, part: 'script' });
}

function pathText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the script' : path.map(String).join('.');
}
