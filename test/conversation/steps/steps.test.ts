import { describe, expect, it } from 'vitest';
import type { Flow, FlowStep } from '../../../src/agent/flow/steps.js';
import type { ConversationEffect } from '../../../src/conversation/events.js';
import { Stage } from '../../../src/stage/stage.js';

const START_UNIX_MS = Date.parse('2026-11-28T10:00:00Z');
const DONE: FlowStep = {
  id: 'done',
  say: { entry: 'You are booked for {day}. Goodbye!' },
  end: { action: 'hang_up' },
};
const DETAILS: FlowStep = {
  id: 'details',
  say: { entry: 'Which day would you like?', exit: 'Thank you.' },
  instruction: 'Ask for the day.',
  tools: ['find_day'],
  collect: [{ name: 'day', type: 'date', period: 'future' }],
  transitions: [{ to: 'done' }],
};

function stageOf(flow: Flow, more: Record<string, unknown> = {}): Stage {
  const steps = { flow, startUnixMs: START_UNIX_MS, timezone: 'UTC' };
  return new Stage({ config: { systemPrompt: 'You take bookings.', steps, ...more } });
}

/** What the model was given with its nth request. */
function request(stage: Stage, at: number): { prompt: string; tools: string[] } {
  const { messages, tools } = stage.model.requests[at] as Stage['model']['requests'][number];
  return { prompt: messages[0]?.content ?? '', tools: tools.map(({ name }) => name) };
}

/** The steps in order, with the way out of each. */
function passed(stage: Stage): string[] {
  return (stage.conversation.state.steps?.passed ?? []).map(({ step, to }) => `${step} > ${to ?? ''}`);
}

describe('a conversation with steps', () => {
  it('says the phrases word for word, checks what the model takes, and hangs up at the end', () => {
    const stage = stageOf({ steps: [DETAILS, DONE] });
    stage.model.calls([{ name: 'set_data', args: { day: 'next friday' } }]);
    stage.user.says('Next Friday, please.', { from: 3000, to: 4000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent('Which day would you like?').isHeardWhole();
    stage.expectAgent('Thank you.').isHeardWhole();
    stage.expectAgent('You are booked for Friday the fourth of December. Goodbye!').isHeardWhole();
    expect(stage.model.requests).toHaveLength(1);
    expect(request(stage, 0).tools).toEqual(['set_data']);
    expect(request(stage, 0).prompt).toContain('You take bookings.');
    expect(request(stage, 0).prompt).toContain('Ask for the day.');
    expect(request(stage, 0).prompt).not.toContain('You are booked');
    expect(passed(stage)).toEqual(['details > done', 'done > ']);
  });

  it('gives the model the reason of a refusal, and another step once no attempt is left', () => {
    const [day] = DETAILS.collect ?? [];
    const person: FlowStep = {
      id: 'person',
      say: { entry: 'A person will call you. Goodbye.' },
      end: { action: 'hang_up' },
    };
    const details = {
      ...DETAILS,
      collect: [{ ...day, name: 'day', type: 'date' as const, retries: 1, failed: 'person' }],
    };
    const stage = stageOf({ steps: [details, DONE, person] });
    stage.model.calls([{ name: 'set_data', args: { day: 'yesterday' } }]).says('That day is over. Which one?');
    stage.user.says('Yesterday.', { from: 3000, to: 4000 });
    stage.playUntilAgentSays('That day is over');
    const refusal = stage.model.requests[1]?.messages.at(-1);
    expect(refusal).toMatchObject({ role: 'tool' });
    expect(refusal?.content).toContain('Attempts left: 1');
    stage.model.calls([{ name: 'set_data', args: { day: 'never' } }]);
    stage.user.says('Never.', { from: stage.nowMs + 4000, to: stage.nowMs + 5000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    expect(passed(stage)).toEqual(['details > person', 'person > ']);
  });

  it('reads a value back itself and keeps it with the yes only', () => {
    const mail: FlowStep = {
      id: 'mail',
      say: { entry: 'What is your address?' },
      collect: [{ name: 'mail', type: 'email' }],
      transitions: [{ to: 'end' }],
    };
    const stage = stageOf({
      steps: [mail, { id: 'end', say: { entry: 'Noted. Goodbye.' }, end: { action: 'hang_up' } }],
    });
    stage.model.calls([{ name: 'set_data', args: { mail: 'ann at x dot de' } }]);
    stage.user.says('Ann at x dot de.', { from: 3000, to: 4000 });
    stage.playUntilAgentSays('I have a, n, n, at, x, dot de. Is that right?');
    expect(stage.conversation.state.steps?.data).toEqual({});
    stage.model.calls([{ name: 'confirm_data', args: { correct: true } }]);
    stage.user.says('Yes.', { from: stage.nowMs + 5000, to: stage.nowMs + 5500 });
    stage.playToEnd();
    expect(request(stage, 1).tools).toEqual(['set_data', 'confirm_data']);
    expect(stage.conversation.state.steps?.data).toEqual({ mail: 'ann@x.de' });
    stage.expectAgent('Noted. Goodbye.').isHeardWhole();
  });

  it('calls a tool of the step by itself and follows its result', () => {
    const stage = stageOf({
      steps: [
        {
          ...DETAILS,
          call: { tool: 'book', arguments: { on: '{day}', note: 'day {day}' } },
          transitions: [
            { to: 'full', when: [{ tool: 'book', path: 'state', is: 'full' }] },
            { to: 'done', when: [{ tool: 'book', ok: true }] },
          ],
        },
        DONE,
        { id: 'full', say: { entry: 'We are full. Goodbye.' }, end: { action: 'hang_up' } },
      ],
    });
    stage.tools.answers('book', '{"state":"full"}');
    stage.model.calls([{ name: 'set_data', args: { day: '2026-12-01' } }]);
    stage.user.says('On the first of December.', { from: 3000, to: 4000 });
    stage.playToEnd();
    const call = stage.timeline.effects.find(({ effect }) => effect.type === 'tool.start')?.effect;
    const args = (call as Extract<ConversationEffect, { type: 'tool.start' }>).call.arguments;
    expect(JSON.parse(args)).toEqual({ on: '2026-12-01', note: 'day 2026-12-01' });
    expect(passed(stage)).toEqual(['details > full', 'full > ']);
  });

  it('offers the model what it may choose, and refuses everything else', () => {
    const menu: FlowStep = {
      id: 'menu',
      say: { entry: 'Book or ask?' },
      transitions: [{ to: 'details', when: [{ choice: 'They book.' }] }],
    };
    const stop = { id: 'stop', choice: 'They stop.', say: { entry: 'Goodbye.' }, end: { action: 'hang_up' } } as const;
    const stage = stageOf({ steps: [menu, DETAILS, DONE], global: [stop] });
    stage.model
      .calls([{ name: 'next_step', args: { step: 'done' } }])
      .calls([{ name: 'next_step', args: { step: 'details' } }]);
    stage.user.says('I would like to book.', { from: 3000, to: 4000 });
    stage.playUntilAgentSays('Which day would you like?');
    expect(request(stage, 0).tools).toEqual(['next_step']);
    expect(stage.model.requests[1]?.messages.at(-1)?.content).toBe(
      'Not changed: `step` has to be one of details, stop.',
    );
    stage.model.calls([{ name: 'next_step', args: { step: 'stop' } }]);
    stage.user.says('Stop it, please.', { from: stage.nowMs + 4000, to: stage.nowMs + 5000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    expect(passed(stage)).toEqual(['menu > details', 'details > stop', 'stop > ']);
  });

  it('goes back from a global step with what was known, and repeats the last words', () => {
    const again = { id: 'again', choice: 'They ask to repeat.', end: { action: 'repeat' } } as const;
    const stage = stageOf({ steps: [DETAILS, DONE], global: [again] });
    stage.model.calls([{ name: 'next_step', args: { step: 'again' } }]);
    stage.user.says('Say that again, please.', { from: 3000, to: 4000 });
    stage.playTo(9000);
    expect(stage.timeline.utterances.filter(({ text }) => text === 'Which day would you like?')).toHaveLength(2);
    expect(stage.model.requests).toHaveLength(1);
    expect(stage.conversation.state.steps?.step).toBe('details');
  });

  it('follows a transfer that fails', () => {
    const person: FlowStep = {
      id: 'person',
      say: { entry: 'I connect you.', whole: true },
      end: { action: 'transfer', phone: '+12025550101' },
      transitions: [{ to: 'sorry', when: [{ tool: 'transfer_call', ok: false }] }],
    };
    const sorry: FlowStep = { id: 'sorry', say: { entry: 'Nobody is there. Goodbye.' }, end: { action: 'hang_up' } };
    const stage = stageOf({ steps: [person, sorry] });
    stage.line.doesNotConnect('busy');
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent('I connect you.').isHeardWhole();
    stage.expectAgent('Nobody is there. Goodbye.').isHeardWhole();
    expect(stage.model.requests).toEqual([]);
  });

  it('records nothing while a card number is asked for', () => {
    const pay: FlowStep = {
      id: 'pay',
      say: { entry: 'Your card number, please?' },
      collect: [{ name: 'card', type: 'card' }],
      transitions: [{ to: 'end' }],
    };
    const stage = stageOf({ steps: [pay, { id: 'end', say: { entry: 'Thank you.' }, end: { action: 'hang_up' } }] });
    stage.model.calls([{ name: 'set_data', args: { card: '[card number ending in 4242]' } }]);
    stage.model.calls([{ name: 'confirm_data', args: { correct: true } }]);
    stage.user.types('[card number ending in 4242]', { at: 4000 });
    stage.playUntilAgentSays('I have 4 2 4 2');
    stage.user.types('yes', { at: stage.nowMs + 3000 });
    stage.playToEnd();
    const pauses = stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'recording.pause' ? effect.on : []));
    expect(pauses).toEqual([true, false]);
  });

  it('records nothing either while one may be offered, but keeps what else the step asks for', () => {
    const pay: FlowStep = {
      id: 'pay',
      say: { entry: 'What is your number?' },
      collect: [
        { name: 'phone', type: 'phone', confirm: false },
        { name: 'card', type: 'card', required: false },
      ],
      transitions: [{ to: 'end', when: [{ choice: 'They want nothing else.' }] }],
    };
    const stage = stageOf({ steps: [pay, { id: 'end', say: { entry: 'Thank you.' }, end: { action: 'hang_up' } }] });
    const isAsked: boolean[] = [];
    const calls = [{ name: 'set_data', args: { phone: '2025550143' } }];
    stage.model
      .calls(calls)
      .says('Noted.')
      .calls([{ name: 'next_step', args: { step: 'end' } }]);
    stage.user.types('2025550143', { at: 4000 });
    stage.playUntilAgentSays('What is your number?');
    isAsked.push(stage.conversation.asksForCard);
    stage.playUntilAgentSays('Noted.');
    isAsked.push(stage.conversation.asksForCard);
    stage.user.types('That is all.', { at: stage.nowMs + 4000 });
    stage.playToEnd();
    expect(isAsked).toEqual([false, true]);
    const pauses = stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'recording.pause' ? effect.on : []));
    expect(pauses).toEqual([true, false]);
  });

  const PARTY: FlowStep['collect'] = [
    { name: 'party', type: 'number', description: 'how many people' },
    { name: 'wish', type: 'text', required: false },
  ];

  it.each<[NonNullable<NonNullable<FlowStep['transitions']>[number]['when']>, string]>([
    [[{ data: 'party', at_least: 8 }], 'party > other'],
    [[{ data: 'party', at_most: 8 }], 'party > end'],
    [[{ data: 'party', in: [6, 7] }], 'party > end'],
    [[{ data: 'party', is: '6' }], 'party > end'],
    [
      [
        { data: 'party', not: 6 },
        { data: 'wish', known: false },
      ],
      'party > other',
    ],
    [[{ data: 'wish' }], 'party > other'],
    [[{ data: 'wish', known: true }], 'party > other'],
  ])('follows the data: %j', (when, way) => {
    const stage = stageOf({
      steps: [
        { id: 'party', collect: PARTY, transitions: [{ to: 'end', when }, { to: 'other' }] },
        { id: 'end', end: { action: 'hang_up' } },
        { id: 'other', end: { action: 'hang_up' } },
      ],
    });
    stage.model.says('For how many?').calls([{ name: 'set_data', args: { party: 'six', wish: null } }]);
    stage.user.says('For six.', { from: 4000, to: 5000 });
    stage.playToEnd();
    expect(request(stage, 0).prompt).toContain('- party (how many people; a number)');
    expect(passed(stage)[0]).toBe(way);
  });

  it('takes a value without its read-back where confirm says so, and reads it back in other words', () => {
    const step = (more: object): Flow => ({
      steps: [
        {
          id: 'phone',
          say: { entry: 'Your number?' },
          collect: [{ name: 'phone', type: 'phone', ...more }],
          transitions: [{ to: 'end' }],
        },
        { id: 'end', title: 'The end', end: { action: 'hang_up' } },
      ],
    });
    const phone = { name: 'set_data', args: { phone: '5550123' } };
    const taken = stageOf(step({ confirm: false }));
    taken.model.calls([phone]);
    taken.user.says('It is five five five oh one two three.', { from: 3000, to: 5000 });
    expect(taken.playToEnd()).toBe('agent-ended');
    const asked = stageOf(step({ read_back: 'So {value}, yes?' }));
    asked.model.calls([phone]);
    asked.user.says('It is five five five oh one two three.', { from: 3000, to: 5000 });
    asked.playUntilAgentSays('So 5 5 5, 0 1 2, 3, yes?');
    asked.model.calls([{ name: 'confirm_data', args: { correct: false } }]).says('What is it then?');
    asked.user.says('No.', { from: asked.nowMs + 4000, to: asked.nowMs + 4500 });
    asked.playUntilAgentSays('What is it then?');
    expect(asked.conversation.state.steps?.attempts).toEqual({ phone: 1 });
  });

  it('tells whoever takes a transferred call what it is about', () => {
    const end = { action: 'transfer', phone: '+12025550101', summary: 'A caller from the menu.' } as const;
    const attended = { briefing: null, confirm: true, ringMs: 30_000, holdSound: 'music', holdMessages: [] } as const;
    const stage = stageOf(
      { steps: [{ id: 'person', say: { entry: 'One moment.' }, end }] },
      { transfer: { targets: [], instruction: null, messages: [], attended } },
    );
    stage.line.connects();
    stage.playToEnd();
    const asked = stage.timeline.effects.find(({ effect }) => effect.type === 'line.transfer')?.effect;
    expect(asked).toMatchObject({ target: '+12025550101', attended: { summary: 'A caller from the menu.' } });
  });

  it('hangs up after an answer to a user who speaks again at the end', () => {
    const stage = stageOf({ steps: [{ id: 'end', say: { entry: 'Goodbye!' }, end: { action: 'hang_up' } }] });
    stage.model.says('You are welcome.');
    stage.user.says('Wait, thank you very much.', { from: 150, to: 900 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent('You are welcome.').isHeardWhole();
  });
});
