import * as z from 'zod';
import { optional, required } from '../../schema/field.js';
import type { Location } from '../../schema/issues.js';
import { instructionSchema, phraseSchema, phrasesSchema, toolNameSchema } from '../../schema/text.js';

/** Names of steps. */
const stepIdSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'Input should be a letter, then up to 63 letters, digits, _ or -');

/** Names of data, which stand in texts as `{name}`. */
const dataNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'Input should be a small letter, then up to 63 small letters, digits or _');

/** Patterns in the notation of agent scripts. */
const patternsSchema = z.array(z.string().min(1).max(300)).max(100);

const valueSchema = z.union([z.string().max(200), z.number(), z.boolean()]);

export const DATA_TYPES = [
  'text',
  'name',
  'number',
  'date',
  'time',
  'email',
  'phone',
  'card',
  'yes_no',
  'choice',
] as const;

const choiceSchema = z
  .strictObject({
    value: required(z.string().min(1).max(200), 'The value that is kept.'),
    phrases: optional(z.array(z.string().min(1).max(100)).max(50), 'Other words for it.', { default: 'none' }),
  })
  .meta({ id: 'FlowChoice', description: 'One of the values of a choice.' });

const dataSchema = z
  .strictObject({
    name: required(
      dataNameSchema,
      'What conditions and tools call it. `{name}` stands for its value in texts of the steps.',
    ),
    type: required(
      z.enum(DATA_TYPES),
      'Its type, which is checked in code. `date` is resolved by the clock of the call, `email` is spelled back, `card` ' +
        'has to fit the Luhn check and is stored nowhere.',
    ),
    description: optional(z.string().max(2_000), 'What it is, for the model.', { default: 'its name' }),
    ask: optional(phrasesSchema, 'The question; a repeated question uses the wordings in turn.', {
      default: "a model's own words; the scripted model asks by the name",
    }),
    required: optional(z.boolean(), 'Transitions on data wait for it. Others are taken if the user offers them.', {
      default: true,
    }),
    confirm: optional(z.boolean(), 'parley reads the value back, and the user says whether it is right.', {
      default: 'true for email, phone and card, else false',
    }),
    read_back: optional(
      phraseSchema,
      'How it is read back; `{value}` is the value, letter by letter or digit by digit.',
      {
        default: "a stock sentence in the agent's language",
      },
    ),
    retries: optional(z.int().min(0).max(10), 'Attempts after the first one that was refused, or read back wrong.', {
      default: 2,
    }),
    failed: optional(stepIdSchema, 'The step that follows when no attempt is left.', {
      default: 'the value stays unknown, and the step goes on without it',
    }),
    choices: optional(z.array(choiceSchema).min(1).max(100), 'The values of a `choice`.', { default: 'none' }),
    min: optional(z.number(), 'Lowest value of a `number`.', { default: 'none' }),
    max: optional(z.number(), 'Highest value of a `number`.', { default: 'none' }),
    period: optional(z.enum(['future', 'past', 'any']), 'Which dates a `date` may be; today is both.', {
      default: 'any',
    }),
    calling_code: optional(
      z.string().regex(/^\+[1-9]\d{0,3}$/, 'Input should be a calling code such as +49'),
      'Put before phone numbers without one, in place of a leading 0.',
      { default: 'national numbers stay as they are' },
    ),
  })
  .refine(({ type, choices }) => type !== 'choice' || choices != null, {
    error: 'The type choice needs choices',
    path: ['choices'],
  })
  .refine(({ min, max }) => min == null || max == null || min <= max, {
    error: 'Input should be greater than or equal to min',
    path: ['max'],
  })
  .meta({ id: 'FlowData', description: 'A value that a step learns from the user.' });

const dataConditionSchema = z
  .strictObject({
    data: required(dataNameSchema, 'The value that it is about.'),
    known: optional(z.boolean(), 'Whether it is known.', { default: 'true without another member' }),
    is: optional(valueSchema, 'It is this.', { default: 'not checked' }),
    not: optional(valueSchema, 'It is known, and not this.', { default: 'not checked' }),
    in: optional(z.array(valueSchema).min(1).max(100), 'It is one of these.', { default: 'not checked' }),
    at_least: optional(
      z.union([z.number(), z.string().max(200)]),
      'It is this or more. Dates and times compare, too.',
      {
        default: 'not checked',
      },
    ),
    at_most: optional(z.union([z.number(), z.string().max(200)]), 'It is this or less.', { default: 'not checked' }),
  })
  .meta({ id: 'FlowDataCondition', description: 'Holds by a value of the call.' });

const toolConditionSchema = z
  .strictObject({
    tool: required(toolNameSchema, 'A tool that was called in this step; `transfer_call` for the transfer of `end`.'),
    ok: optional(z.boolean(), 'Whether it succeeded.', { default: 'either' }),
    path: optional(
      z.string().regex(/^[^.]{1,100}(\.[^.]{1,100}){0,9}$/, 'Input should be names with dots between them'),
      'A member of its result, such as `order.status` or `rooms.0.id`.',
      { default: 'the whole result' },
    ),
    is: optional(valueSchema, 'What that has to be.', { default: 'not checked' }),
  })
  .meta({ id: 'FlowToolCondition', description: "Holds by a tool's result." });

const choiceConditionSchema = z
  .strictObject({
    choice: required(
      z.string().min(1).max(2_000),
      'When the model chooses this transition. It is offered while the other conditions beside it hold.',
    ),
    phrases: optional(patternsSchema, 'What the user says then, for the scripted model: patterns as in its rules.', {
      default: 'none',
    }),
  })
  .meta({ id: 'FlowChoiceCondition', description: "Holds by the model's choice." });

const transitionSchema = z
  .strictObject({
    to: required(stepIdSchema, 'The step that follows.'),
    when: optional(
      z.array(z.union([dataConditionSchema, toolConditionSchema, choiceConditionSchema])).max(10),
      'All of these hold. Transitions are tried in order; without a `choice` or a `tool`, when all required data are known.',
      { default: 'always' },
    ),
  })
  .refine(({ when }) => (when ?? []).filter((one) => 'choice' in one).length <= 1, {
    error: 'Only one condition can be the choice of the model',
    path: ['when'],
  })
  .meta({ id: 'FlowTransition', description: 'A way from one step to the next.' });

const sayingSchema = z
  .strictObject({
    entry: optional(phraseSchema, 'Said when the step begins. If it ends in a question mark, the agent then listens.', {
      default: 'nothing',
    }),
    exit: optional(phraseSchema, 'Said when a transition leaves the step.', { default: 'nothing' }),
    whole: optional(z.boolean(), 'Both are said to their end: nothing that the user says cuts them off.', {
      default: false,
    }),
  })
  .meta({ id: 'FlowSaying', description: 'What parley says word for word.' });

const callSchema = z
  .strictObject({
    tool: required(toolNameSchema, 'The tool.'),
    arguments: optional(
      z.record(z.string().min(1).max(100), valueSchema),
      'Its arguments. A text that is `{name}` and nothing else is the value itself, with its type.',
      { default: 'all data of the step, by their names' },
    ),
  })
  .meta({ id: 'FlowCall', description: 'A tool that parley calls.' });

const endSchema = z
  .strictObject({
    action: required(
      z.enum(['hang_up', 'transfer', 'return', 'repeat']),
      '`hang_up` ends the call, `transfer` connects another number; `return` goes back to the step from which a global ' +
        'step was entered; `repeat` does so and says the last words before it again.',
    ),
    phone: optional(z.string().min(1).max(200), 'Where `transfer` connects to.', { default: 'none' }),
    summary: optional(phraseSchema, 'What an attended `transfer` tells whoever takes the call.', {
      default: 'nothing',
    }),
  })
  .refine(({ action, phone }) => action !== 'transfer' || phone != null, {
    error: 'The action transfer needs a phone',
    path: ['phone'],
  })
  .meta({ id: 'FlowEnd', description: 'What a step ends with.' });

const STEP = {
  id: required(stepIdSchema, 'Its name; no two steps share one.'),
  title: optional(z.string().max(100), 'What people call it.', { default: 'its id' }),
  instruction: optional(instructionSchema, "The part of the model's prompt that is about this step.", {
    default: 'none',
  }),
  say: optional(sayingSchema, 'What is said word for word.', { default: 'nothing' }),
  tools: optional(z.array(toolNameSchema).max(50), 'Tools that the model can call in this step.', {
    default: 'those of the flow',
  }),
  collect: optional(z.array(dataSchema).max(50), 'What the step learns from the user, in the order of its questions.', {
    default: 'nothing',
  }),
  call: optional(callSchema, 'A tool that parley calls as soon as all required data of the step are known.', {
    default: 'none',
  }),
  transitions: optional(z.array(transitionSchema).max(50), 'What follows.', { default: 'none' }),
  end: optional(endSchema, 'What happens when the entry phrase was said: the step ends here.', {
    default: 'the step goes on until a transition',
  }),
};

const stepSchema = z.strictObject(STEP).meta({ id: 'FlowStep', description: 'A step of a flow.' });

const globalStepSchema = z
  .strictObject({
    ...STEP,
    choice: required(z.string().min(1).max(2_000), 'When the model chooses it, from any step.'),
    phrases: optional(patternsSchema, 'What the user says then, for the scripted model: patterns as in its rules.', {
      default: 'none',
    }),
  })
  .meta({ id: 'FlowGlobalStep', description: 'A step that can be reached from every step.' });

const graphSchema = z.strictObject({
  start: optional(stepIdSchema, 'Where the conversation begins.', { default: 'the first step' }),
  steps: required(z.array(stepSchema).min(1).max(200), 'The steps.'),
  global: optional(
    z.array(globalStepSchema).max(20),
    'Steps that can be reached from every step, for instance to speak to a person, to repeat, or to stop.',
    { default: 'none' },
  ),
  tools: optional(z.array(toolNameSchema).max(50), 'Tools that the model can call in every step that names none.', {
    default: 'none',
  }),
});

export type Flow = z.infer<typeof graphSchema>;
export type FlowStep = z.infer<typeof stepSchema>;
export type FlowGlobalStep = z.infer<typeof globalStepSchema>;
export type FlowData = z.infer<typeof dataSchema>;
export type FlowTransition = z.infer<typeof transitionSchema>;
export type FlowCondition = NonNullable<FlowTransition['when']>[number];
export type FlowEnd = z.infer<typeof endSchema>;

/** `extensions.flow`: the conversation is a graph of steps. */
export const flowSchema = graphSchema
  .superRefine((flow, context) => {
    for (const { path, message } of flowFaults(flow)) context.addIssue({ code: 'custom', path: [...path], message });
  })
  .meta({ id: 'FlowSteps', description: 'The conversation is a graph of steps.' });

/** A flow in one conversation. */
export interface StepsConfig {
  flow: Flow;
  /** The beginning of the conversation, which dates are counted from. */
  startUnixMs: number;
  /** IANA name. */
  timezone: string;
}

export type DataValue = string | number | boolean;

/** The present step for a model that follows it without reading the prompt. */
export interface StepView {
  step: string;
  /** All that the step can learn, and what it asks for now; null = nothing. */
  collect: readonly FlowData[];
  asked: string | null;
  known: Readonly<Record<string, DataValue>>;
  /** What was read back and waits for a yes or no. */
  confirming: { name: string; spoken: string } | null;
  /** Refused attempts of what is asked for. */
  attempts: number;
  refusal: string | null;
  choices: readonly { to: string; phrases: readonly string[] }[];
  /** The entry phrase of the step. */
  entry: string | null;
}

/** What is wrong with a flow as a graph. */
export interface FlowFault {
  readonly path: Location;
  readonly message: string;
}

/** A step with its place in the flow. */
interface Placed {
  readonly step: FlowStep | FlowGlobalStep;
  readonly path: Location;
  readonly isGlobal: boolean;
}

/**
 * What the schema of the parts cannot see: names that mean nothing or two things, steps that cannot be reached or left,
 * circles that never wait, and data that no step before has asked for.
 */
export function flowFaults(flow: Flow): FlowFault[] {
  const steps = placedSteps(flow);
  const named = repeatedNames(steps);
  const unknown = unknownSteps(flow, steps);
  // A graph with unknown nodes has no reachability.
  if (named.length + unknown.length > 0) return [...named, ...unknown];
  const reachable = reachableFrom([startOf(flow), ...globalsOf(flow)], steps);
  return [
    ...steps
      .filter(({ step }) => !reachable.has(step.id))
      .map(({ step, path }) => fault([...path, 'id'], `No step leads to ${step.id}: it can never be reached`)),
    ...steps.flatMap(deadEnds),
    ...circles(steps),
    ...steps.flatMap((one) => missingData(one, steps)),
  ];
}

/** The step in which a flow begins. */
export function startOf({ start, steps }: Flow): string {
  return start ?? steps[0]?.id ?? '';
}

function globalsOf({ global: steps }: Flow): string[] {
  return (steps ?? []).map(({ id }) => id);
}

function placedSteps(flow: Flow): Placed[] {
  return [
    ...flow.steps.map((step, at): Placed => ({ step, path: ['steps', at], isGlobal: false })),
    ...(flow.global ?? []).map((step, at): Placed => ({ step, path: ['global', at], isGlobal: true })),
  ];
}

function fault(path: Location, message: string): FlowFault {
  return { path, message };
}

function repeatedNames(steps: readonly Placed[]): FlowFault[] {
  const ids = new Set<string>();
  const types = new Map<string, string>();
  const faults: FlowFault[] = [];
  for (const { step, path } of steps) {
    if (ids.has(step.id)) faults.push(fault([...path, 'id'], `Another step has the id ${step.id}`));
    ids.add(step.id);
    const own = new Set<string>();
    for (const [at, { name, type }] of (step.collect ?? []).entries()) {
      const place = [...path, 'collect', at];
      if (own.has(name)) faults.push(fault([...place, 'name'], `The step asks for ${name} twice`));
      own.add(name);
      const other = types.get(name) ?? type;
      types.set(name, other);
      if (other !== type) faults.push(fault([...place, 'type'], `Another step collects ${name} as ${other}`));
    }
  }
  return faults;
}

function unknownSteps(flow: Flow, steps: readonly Placed[]): FlowFault[] {
  const ids = new Set(steps.map(({ step }) => step.id));
  const faults: FlowFault[] = [];
  const check = (id: string, path: Location): void => {
    if (!ids.has(id)) faults.push(fault(path, `There is no step ${id}`));
  };
  if (flow.start != null) check(flow.start, ['start']);
  if (flow.start != null && globalsOf(flow).includes(flow.start)) {
    faults.push(fault(['start'], `${flow.start} is a global step: a flow begins with one of its steps`));
  }
  for (const { step, path } of steps) {
    for (const [at, { to }] of (step.transitions ?? []).entries()) check(to, [...path, 'transitions', at, 'to']);
    for (const [at, { failed }] of (step.collect ?? []).entries()) {
      if (failed != null) check(failed, [...path, 'collect', at, 'failed']);
    }
  }
  return faults;
}

/** Steps that may directly follow. */
function followers({ transitions, collect }: FlowStep): string[] {
  const failed = (collect ?? []).flatMap((one) => one.failed ?? []);
  return [...(transitions ?? []).map(({ to }) => to), ...failed];
}

function reachableFrom(starts: readonly string[], steps: readonly Placed[]): ReadonlySet<string> {
  const byId = new Map(steps.map(({ step }) => [step.id, step]));
  const reached = new Set<string>();
  const open = [...starts];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const step = byId.get(id);
    if (reached.has(id) || step === undefined) continue;
    reached.add(id);
    open.push(...followers(step));
  }
  return reached;
}

function deadEnds({ step, path, isGlobal }: Placed): FlowFault[] {
  const end = step.end?.action;
  const returns = end === 'return' || end === 'repeat';
  const faults: FlowFault[] = [];
  if (end === undefined && (step.transitions ?? []).length === 0) {
    faults.push(fault([...path, 'transitions'], `${step.id} is a dead end: it has neither transitions nor \`end\``));
  }
  if (returns && !isGlobal) {
    faults.push(
      fault([...path, 'end', 'action'], `Only global steps can ${end}: ${step.id} has nowhere to go back to`),
    );
  }
  if (end !== undefined && (step.collect ?? []).length + (step.call == null ? 0 : 1) > 0) {
    faults.push(fault([...path, 'end'], `${step.id} ends at once: it cannot collect or call anything before`));
  }
  for (const [at, transition] of (step.transitions ?? []).entries()) {
    const tools = (transition.when ?? []).flatMap((one) => ('tool' in one ? one.tool : []));
    if (end === undefined || (end === 'transfer' && tools.includes('transfer_call'))) continue;
    const message = `${step.id} has ended by then: a transition can only follow a failed transfer (tool transfer_call)`;
    faults.push(fault([...path, 'transitions', at], message));
  }
  return faults;
}

/** Circles of steps that pass on at once, without waiting for anybody. */
function circles(steps: readonly Placed[]): FlowFault[] {
  const byId = new Map(steps.map(({ step }) => [step.id, step]));
  return steps.flatMap(({ step, path }) => {
    const seen = new Set<string>();
    for (let at: FlowStep | undefined = step; at !== undefined; at = byId.get(passesTo(at) ?? '')) {
      if (seen.has(at.id)) {
        if (at.id !== step.id) return [];
        const names = [...seen, step.id].join(', ');
        return [fault([...path, 'transitions'], `These steps lead to each other and never wait: ${names}`)];
      }
      seen.add(at.id);
    }
    return [];
  });
}

/** The step that always follows at once; null = the step waits for something. */
function passesTo({ collect, call, end, transitions }: FlowStep): string | null {
  if ((collect ?? []).some((one) => one.required !== false) || call != null || end != null) return null;
  const first = (transitions ?? [])[0];
  return first !== undefined && (first.when ?? []).length === 0 ? first.to : null;
}

const PLACEHOLDER = /\{([a-z][a-z0-9_]*)\}/g;

/** Data that a step uses, and that neither it nor a step before it collects. */
function missingData(placed: Placed, steps: readonly Placed[]): FlowFault[] {
  const { step, path } = placed;
  const before = steps.filter(({ step: other, isGlobal }) => {
    return isGlobal || other.id === step.id || reachableFrom(followers(other), steps).has(step.id);
  });
  // A global step can follow any step.
  const sources = placed.isGlobal ? steps : before;
  const known = new Set(sources.flatMap(({ step: { collect } }) => (collect ?? []).map(({ name }) => name)));
  const faults: FlowFault[] = [];
  const missing = (name: string, at: Location): void => {
    if (!known.has(name)) faults.push(fault([...path, ...at], `No step before ${step.id} collects ${name}`));
  };
  for (const [at, { when }] of (step.transitions ?? []).entries()) {
    for (const [index, one] of (when ?? []).entries()) {
      if ('data' in one) missing(one.data, ['transitions', at, 'when', index, 'data']);
    }
  }
  for (const [name, value] of Object.entries(step.call?.arguments ?? {})) {
    const whole = typeof value === 'string' ? /^\{([a-z][a-z0-9_]*)\}$/.exec(value)?.[1] : undefined;
    if (whole !== undefined) missing(whole, ['call', 'arguments', name]);
  }
  return faults;
}

/** Fills values into `{name}`; a name without a value stays as it is. */
export function fillData(text: string, valueOf: (name: string) => string | null): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => valueOf(name) ?? whole);
}
