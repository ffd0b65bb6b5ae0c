import type { EvalMode } from '../../src/eval/suite/suite-schema.js';

/** A member, an index, or the rule of a list that has this pattern. */
type Step = string | number | { when: string };

/** A mistake that an author might make, and the case that catches it. */
export interface Mutation {
  agent: 'restaurant' | 'appointments' | 'survey';
  mistake: string;
  /** Members of the agent file with their new values; undefined = removed. */
  changes: readonly (readonly [place: readonly Step[], value: unknown])[];
  /** Name of a case that fails; null where none does. */
  caughtBy: string | null;
  mode: EvalMode;
}

/** Makes the mistake in an agent file. */
export function mutate(file: unknown, { changes }: Mutation): void {
  for (const [place, value] of changes) {
    const parent = place.slice(0, -1).reduce(memberOf, file) as Record<string, unknown>;
    const name = place.at(-1) as string;
    if (!Object.hasOwn(parent, name)) throw new Error(`there is no ${JSON.stringify(place)}`);
    if (value === undefined) Reflect.deleteProperty(parent, name);
    else parent[name] = value;
  }
}

function memberOf(value: unknown, step: Step): unknown {
  if (typeof step !== 'object') return (value as Record<string | number, unknown>)[step];
  const rule = (value as { when: string | string[] }[]).find(({ when }) => [when].flat().includes(step.when));
  if (rule === undefined) throw new Error(`no rule has the pattern ${step.when}`);
  return rule;
}

const BOOKING = ['script', 'forms', 'booking'];

/** Twenty mistakes in prompts, scripts, tools and settings. */
export const MUTATIONS: readonly Mutation[] = [
  {
    agent: 'restaurant',
    mistake: 'it books without asking whether everything is right',
    changes: [[[...BOOKING, 'confirm'], undefined]],
    caughtBy: 'books nothing before the guest has agreed',
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'it has tables for thirty',
    changes: [[['script', 'slots', 'party', 'max'], 30]],
    caughtBy: 'has no table for twenty',
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'its tool has another name than the script calls',
    changes: [[['config', 'tools', 0, 'name'], 'reserve_table']],
    caughtBy: 'books a table in one sentence',
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'it hangs up once the table is booked',
    changes: [[[...BOOKING, 'done', 'call', 'ok'], { say: 'Done. Your table is booked. Goodbye!', end: true }]],
    caughtBy: 'books a table step by step',
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'it says that a table is booked when the tool has failed',
    changes: [[[...BOOKING, 'done', 'call', 'failed', 'say'], 'Done. Your table is booked.']],
    caughtBy: 'is honest when the booking fails for good',
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'it greets guests of another house',
    changes: [[['config', 'first_message'], 'Good evening, The Golden Spoon. How can I help you?']],
    caughtBy: "greets the guest by the house's name",
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'guests cannot interrupt it',
    changes: [[['config', 'flow', 'interruption', 'allowed'], false]],
    caughtBy: 'stops when the guest speaks over the greeting',
    mode: 'voice',
  },
  {
    agent: 'restaurant',
    mistake: 'it gives up on silent guests after eight seconds',
    changes: [[['config', 'session_timeout', 'max_idle'], 8]],
    caughtBy: 'asks whether a silent guest is still there',
    mode: 'text',
  },
  {
    agent: 'restaurant',
    mistake: 'its prompt no longer asks it to read everything back',
    changes: [
      [['config', 'prompt'], 'You are Olive, the front desk of The Crooked Fork. Book tables with book_table at once.'],
    ],
    // The embedded model follows the script and reads no prompt; prompt-mutation.test.ts has a model's double that does.
    caughtBy: null,
    mode: 'text',
  },
  {
    agent: 'appointments',
    mistake: 'it has appointments at the weekend',
    changes: [[['script', 'slots', 'day', 'closed'], undefined]],
    caughtBy: 'is closed on Saturdays',
    mode: 'text',
  },
  {
    agent: 'appointments',
    mistake: 'it books without the country code',
    changes: [[[...BOOKING, 'done', 'call', 'arguments', 'phone'], '{phone}']],
    caughtBy: 'books a free time',
    mode: 'text',
  },
  {
    agent: 'appointments',
    mistake: 'it puts emergencies through to the reception',
    changes: [[['script', 'rules', { when: 'bleeding' }, 'call', 'arguments', 'phone'], '+12025550130']],
    caughtBy: 'puts pain through to the dentist on call',
    mode: 'text',
  },
  {
    agent: 'appointments',
    mistake: 'it asks for a time where a day has none',
    changes: [[['script', 'forms', 'visit', 'done', 'call', 'empty'], undefined]],
    caughtBy: 'offers another day when one is full',
    mode: 'text',
  },
  {
    agent: 'appointments',
    mistake: 'it keeps the old time when the day changes',
    changes: [[['script', 'rules', { when: '{day} instead' }, 'unset'], undefined]],
    caughtBy: 'looks again when the caller prefers another day',
    mode: 'text',
  },
  {
    agent: 'survey',
    mistake: 'it leaves no message on mailboxes',
    changes: [[['config', 'flow', 'voicemail'], { action: 'hangup' }]],
    caughtBy: 'leaves a message on a mailbox with a beep',
    mode: 'voice',
  },
  {
    agent: 'survey',
    mistake: 'it may not press keys',
    changes: [[['config', 'flow', 'dtmf_dial', 'enabled'], false]],
    caughtBy: 'presses the key for the front desk',
    mode: 'text',
  },
  {
    agent: 'survey',
    mistake: 'it notes a broken connection as a working one',
    changes: [[['script', 'states', 'works', 'rules', { when: 'not working' }, 'set', 'works'], true]],
    caughtBy: 'takes zero for an answer',
    mode: 'text',
  },
  {
    agent: 'survey',
    mistake: 'it never saves the answers',
    changes: [[['script', 'forms', 'comment', 'done'], { say: 'Thank you for your help. Goodbye!', end: true }]],
    caughtBy: 'takes a survey by voice',
    mode: 'text',
  },
  {
    agent: 'survey',
    mistake: 'it does not notice who wants no more calls',
    changes: [[['config', 'privacy_settings', 'do_not_call_detection'], false]],
    caughtBy: 'never calls again on request',
    mode: 'text',
  },
  {
    agent: 'survey',
    mistake: 'its support team has another number than the script transfers to',
    changes: [[['config', 'flow', 'call_transfer', 'phones', 0, 'phone'], '+12025550141']],
    caughtBy: 'puts a broken connection through to support',
    mode: 'text',
  },
];
