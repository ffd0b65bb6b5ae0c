import type { Flow, FlowCondition, FlowData, FlowGlobalStep, FlowStep, StepsConfig } from '../../agent/flow/steps.js';
import type { Random } from '../../base/random.js';
import type { Act } from './script.js';

/** Flows that chance has written. */

const DATA: readonly FlowData[] = [
  { name: 'day', type: 'date', period: 'future' },
  { name: 'count', type: 'number', min: 1, max: 8, retries: 0 },
  { name: 'mail', type: 'email', retries: 1 },
  { name: 'card', type: 'card' },
  { name: 'wish', type: 'text', required: false },
  { name: 'sure', type: 'yes_no', confirm: true, read_back: 'So {value}?' },
];
const PHRASES = [
  null,
  'All right.',
  'On which day shall that be?',
  'Thank you for {day}.',
  'You said {count}, is that so?',
];

/** A flow in one conversation, or none. */
export function randomSteps(random: Random): StepsConfig | null {
  if (random.chance(0.4)) return null;
  const startUnixMs = random.pick([0, 1_795_860_000_000]);
  return { flow: randomFlow(random), startUnixMs, timezone: random.pick(['UTC', 'Asia/Tokyo']) };
}

/** Two to six steps, two global ones. Some lead in circles, and some are never reached. */
function randomFlow(random: Random): Flow {
  const ids = Array.from({ length: random.int(1, 5) }, (_, index) => `s${String(index + 1)}`);
  const steps = ids.map((id, at) => randomStep(random, id, [...ids, 'last'], ids[at + 1] ?? 'last'));
  const last: FlowStep = { id: 'last', say: { entry: random.pick(PHRASES) }, end: { action: 'hang_up' } };
  return {
    steps: [...steps, last],
    global: GLOBALS.slice(0, random.int(0, 2)),
    tools: random.pick([[], ['lookup', 'end_call']]),
  };
}

const GLOBALS: FlowGlobalStep[] = [
  { id: 'again', choice: 'They ask to repeat.', end: { action: 'repeat' } },
  {
    id: 'person',
    choice: 'They want a person.',
    say: { entry: 'I connect you.', whole: true },
    end: { action: 'transfer', phone: '+4930123456' },
    transitions: [{ to: 'last', when: [{ tool: 'transfer_call', ok: false }] }],
  },
];

function randomStep(random: Random, id: string, ids: readonly string[], next: string): FlowStep {
  const collect = DATA.filter(() => random.chance(0.3)).map((data) => {
    return random.chance(0.2) ? { ...data, failed: random.pick(ids) } : data;
  });
  const to = (): string => random.pick(ids);
  const conditions: readonly FlowCondition[] = [
    { data: 'count', at_least: 4 },
    { data: 'mail', known: random.chance(0.5) },
    { tool: 'lookup', ok: true },
    { choice: 'They want it.' },
  ];
  const transitions = conditions.filter(() => random.chance(0.4)).map((when) => ({ to: to(), when: [when] }));
  const step: FlowStep = {
    id,
    instruction: random.pick([null, `This is ${id}.`]),
    say: { entry: random.pick(PHRASES), exit: random.pick(PHRASES), whole: random.chance(0.3) },
    collect,
    transitions: random.chance(0.8) ? [...transitions, { to: next }] : transitions,
  };
  if (random.chance(0.3)) step.call = { tool: random.pick(['lookup', 'slow', 'never', 'missing']) };
  if (random.chance(0.3)) step.tools = ['slow', 'end_call', 'transfer_call'];
  return step;
}

const VALUES = [
  { day: 'next friday', count: 5 },
  { day: 'yesterday', mail: 'ann at x dot de', wish: null },
  { count: 'many', sure: 'yes', card: '[card number ending in 4242]' },
  { count: 9, card: '4242', mail: 'nobody' },
] as const;

/** A model that follows the flow, more or less. */
export function randomFollowing(random: Random): Act[] {
  const call = (): { name: string; args: Readonly<Record<string, unknown>> } =>
    random.pick([
      { name: 'set_data', args: random.pick(VALUES) },
      { name: 'confirm_data', args: { correct: random.chance(0.7) } },
      { name: 'next_step', args: { step: random.pick(['s1', 's2', 's3', 'last', 'again', 'person']) } },
    ]);
  return Array.from({ length: random.int(0, 8) }, (): Act => {
    const saying = random.chance(0.3) ? { saying: 'Let me see.' } : {};
    return { on: 'model', does: 'calls', with: [random.chance(0.8) ? [call()] : [call(), call()], saying] };
  });
}
