import type { ReplyTiming, ScriptedCall } from '../../stage/model.js';
import type { Random } from '../../base/random.js';
import type { Act } from './script.js';

const REPLIES = [
  'Yes.',
  'For how many people?',
  'We open at noon and close at eleven. On Sundays we are closed.',
  'Well, there is a table by the window, one in the garden, and one at the bar. Which of these would you like to have?',
  '…',
  'one two three four five six seven',
] as const;
const TOOLS = ['lookup', 'slow', 'never', 'missing', 'constructor'] as const;
const ACTIONS = ['end_call', 'end_call', 'transfer_call', 'press_digits', 'switch_language', 'do_not_call'] as const;
const ARGUMENTS = [
  '{}',
  '',
  '{"message":"Goodbye then."}',
  '{"message":5}',
  '{"digits":"1w2#"}',
  '{"language":"fr"}',
  '{broken',
] as const;

/** The model's replies. */
export function randomModel(random: Random): Act[] {
  const acts: Act[] = [];
  const trouble = random.pick([0, 0.2, 0.7]);
  const count = random.int(0, 8);
  if (random.chance(0.25)) acts.push({ on: 'model', does: 'speaksItself', with: [] });
  for (let index = 0; index < count; index++) {
    const timing = randomTiming(random, trouble);
    const saying = random.chance(0.5) ? { saying: random.pick(REPLIES) } : {};
    const unwell = random.chance(trouble);
    acts.push(
      random.weighted<Act>([
        [6, { on: 'model', does: 'says', with: [random.pick(REPLIES), timing] }],
        [3, { on: 'model', does: 'calls', with: [randomCalls(random), { ...timing, ...saying }] }],
        [unwell ? 4 : 0, { on: 'model', does: 'fails', with: [{ ...timing, ...saying }] }],
        [unwell ? 4 : 0, { on: 'model', does: 'stalls', with: [{ ...timing, ...saying }] }],
        [unwell ? 2 : 0, { on: 'model', does: 'saysNothing', with: [timing] }],
      ]),
    );
  }
  return acts;
}

/** Behaviours of the tools. */
export function randomTools(random: Random): Act[] {
  const afterMs = (): number => random.pick([0, 300, 2000, 12_000]);
  return [
    { on: 'tools', does: random.chance(0.8) ? 'answers' : 'fails', with: ['lookup', 'x', { afterMs: afterMs() }] },
    { on: 'tools', does: 'answers', with: ['slow', 'y', { afterMs: afterMs() }] },
    { on: 'tools', does: 'neverAnswers', with: ['never'] },
  ];
}

/** Outcomes of transfers. */
export function randomLine(random: Random): Act[] {
  const afterMs = random.pick([0, 2000, 15_000]);
  return random.weighted<Act[]>([
    [1, []],
    [1, [{ on: 'line', does: 'connects', with: [{ afterMs }] }]],
    [1, [{ on: 'line', does: 'doesNotConnect', with: ['busy', { afterMs }] }]],
    [1, [{ on: 'line', does: 'rings', with: [] }]],
  ]);
}

/** Faults of the agent's utterances, in order. */
export function randomVoice(random: Random): Act[] {
  const acts: Act[] = [];
  const count = random.chance(0.5) ? 0 : random.int(1, 4);
  for (let index = 0; index < count; index++) {
    const afterMs = random.pick([0, 300, 2000]);
    acts.push(
      random.weighted<Act>([
        [4, { on: 'voice', does: 'speaks', with: [{ count: random.int(1, 3) }] }],
        [2, { on: 'voice', does: 'isLate', with: [{ afterMs: random.pick([0, 400, 1900, 4800, 7000]) }] }],
        [1, { on: 'voice', does: 'fails', with: [{ count: random.int(1, 3), afterMs }] }],
        [1, { on: 'voice', does: 'stalls', with: [{ count: random.int(1, 3), afterMs }] }],
        [1, { on: 'voice', does: 'givesNoAudio', with: [{ count: random.int(1, 2) }] }],
      ]),
    );
  }
  return acts;
}

function randomTiming(random: Random, trouble: number): ReplyTiming {
  const usual = { afterMs: random.pick([0, 150, 600]), gapMs: random.pick([0, 20]) };
  if (!random.chance(trouble)) return usual;
  return { afterMs: random.pick([2000, 5000, 11_000]), gapMs: random.pick([0, 20, 300, 3000, 9000]) };
}

function randomCalls(random: Random): ScriptedCall[] {
  const names: string[] = random.chance(0.2) ? [random.pick(TOOLS)] : [];
  if (random.chance(0.4)) names.push(random.pick(ACTIONS));
  while (names.length === 0 || random.chance(0.3)) names.push(random.pick(TOOLS));
  return names.map((name) => {
    const call = { name, args: random.pick(ARGUMENTS) };
    return random.chance(0.3) ? { ...call, id: random.pick(['same', '', '__proto__']) } : call;
  });
}
