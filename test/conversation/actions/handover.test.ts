import { describe, expect, it } from 'vitest';
import type { HandoverTarget } from '../../../src/agent/flow/handover.js';
import type { Flow } from '../../../src/agent/flow/steps.js';
import { mergeConfig } from '../../../src/agent/flow/conversation-config.js';
import { Conversation } from '../../../src/conversation/conversation.js';
import { firstPassed } from '../../../src/conversation/steps/steps.js';
import type { Stage, StageConfig } from '../../../src/stage/stage.js';
import { listening, traces } from '../listening.js';

const FIRST = { from: 1000, to: 2200 };
const SECOND = { from: 9000, to: 10_200 };
const ANNOUNCEMENT = 'Our billing team knows more about that.';

function target(changes: Partial<HandoverTarget> = {}): HandoverTarget {
  return {
    agent: { id: 'billing', name: 'Billing' },
    when: 'the user asks about money',
    plan: 'all',
    messages: 2,
    variables: [],
    announcement: null,
    mayReturn: true,
    ...changes,
  };
}

function config(...targets: HandoverTarget[]): StageConfig {
  return {
    agent: { id: 'desk', name: 'The desk' },
    systemPrompt: 'You are the desk.',
    handover: { targets, maxHops: 3 },
  };
}

const BILLING: StageConfig = { systemPrompt: 'You are billing.', language: 'de-DE' };

/** The desk hands the user's first turn over, and the next request is the other agent's. */
function handingOver(settings: StageConfig, args: object = {}): Stage {
  const stage = listening(settings);
  stage.agents.isReady('billing', BILLING);
  stage.model.calls([{ name: 'hand_over', args: { ...args } }]);
  stage.model.says('Your bill is ten euros.');
  stage.user.says('How much is my bill?', FIRST);
  return stage;
}

const contents = (stage: Stage, request: number): string[] =>
  (stage.model.requests[request]?.messages ?? []).map(({ role, content }) => `${role}: ${content}`);
const toolNames = (stage: Stage, request: number) => stage.model.requests[request]?.tools.map(({ name }) => name);

describe('a hand-over', () => {
  it('is offered with the names of the agents and when each is right', () => {
    const other = target({ agent: { id: 'support', name: 'Support' }, when: null, announcement: 'One moment.' });
    const stage = listening(config(target(), other));
    stage.user.says('Hello there.', FIRST);
    stage.playTo(5000);
    const [tool] = stage.model.requests[0]?.tools ?? [];
    expect(tool?.name).toBe('hand_over');
    expect(tool?.description).toContain('Billing: the user asks about money');
    expect(tool?.parameters).toMatchObject({
      required: ['agent'],
      properties: { agent: { enum: ['Billing', 'Support'] } },
    });
  });

  it('lets the other agent answer what the user said, with its own prompt, and no later than any other', () => {
    const plain = listening(config(target()));
    plain.model.says('Your bill is ten euros.');
    plain.user.says('How much is my bill?', FIRST);
    plain.playTo(8000);
    const stage = handingOver(config(target()), { reason: 'They ask for their bill.' });
    stage.playTo(8000);
    const [first, second] = stage.model.requests;
    expect(stage.agents.spoke).toEqual(['billing']);
    expect(second?.messages[0]?.content).toBe('You are billing.');
    expect(contents(stage, 1).slice(1)).toEqual([
      'user: How much is my bill?',
      'system: The conversation has been handed over to you by The desk. You are Billing. The desk tells you: They ask ' +
        'for their bill. The user has not been told of it. Answer what the user said last, and do not greet them again.',
    ]);
    // The model of the desk needs its own time to call; the other one is asked in the same moment.
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThanOrEqual(220);
    stage.expectAgent('Your bill').isHeardWhole();
    expect(stage.conversation.state.agentConfig?.language).toBe('de-DE');
    expect(stage.messages.at(-1)).toEqual({ role: 'assistant', content: 'Your bill is ten euros.', name: 'Billing' });
  });

  it('says the announcement word for word first, and asks the other agent meanwhile', () => {
    const stage = handingOver(config(target({ announcement: ANNOUNCEMENT })));
    stage.playTo(12_000);
    stage.expectAgent(ANNOUNCEMENT).isHeardWhole();
    stage.expectAgent('Your bill').isHeardWhole();
    const announcedMs = stage.timeline.utterances.find(({ text }) => text === ANNOUNCEMENT)?.played.at(-1)?.to ?? 0;
    expect(stage.model.requests[1]?.atMs).toBeLessThan(announcedMs);
    expect(contents(stage, 1).at(-1)).toContain(`The user has been told: "${ANNOUNCEMENT}"`);
  });

  it.each([
    ['none', {}, ['user: How much is my bill?']],
    ['variables', { variables: { order: '7' } }, ['user: How much is my bill?']],
    ['summary', { summary: 'They moved house.' }, ['user: How much is my bill?']],
    ['last', {}, ['user: I moved house.', 'assistant: All right.', 'user: How much is my bill?']],
  ] as const)('passes on what the plan %s says', (plan, args, expected) => {
    const stage = listening(config(target({ plan, variables: ['order'], messages: 3 })));
    stage.agents.isReady('billing', BILLING);
    stage.model.says('All right.');
    stage.model.calls([{ name: 'hand_over', args: { ...args } }]);
    stage.user.says('I moved house.', FIRST);
    stage.user.says('How much is my bill?', SECOND);
    stage.playTo(16_000);
    const [, ...messages] = contents(stage, 2);
    const note = messages.pop();
    expect(messages).toEqual(expected);
    expect(note).toContain('handed over to you by The desk');
    expect(note?.includes('Known: order: 7.')).toBe(plan === 'variables');
    expect(note?.includes('The conversation so far: They moved house.')).toBe(plan === 'summary');
  });

  it('passes on the last messages where there is no summary', () => {
    const stage = handingOver(config(target({ plan: 'summary', messages: 5 })));
    stage.playTo(8000);
    expect(contents(stage, 1)).toContain('user: How much is my bill?');
    expect(stage.conversation.state.handovers).toHaveLength(1);
  });

  it('goes back to the agent that it came from, which sees all of it', () => {
    const stage = listening(config(target({ plan: 'none' })));
    stage.agents.isReady('billing', BILLING).isReady('desk', { systemPrompt: 'You are the desk.' });
    stage.model.calls([{ name: 'hand_over' }]);
    stage.model.says('Your bill is ten euros.');
    stage.model.calls([{ name: 'hand_back', args: { reason: 'They want a room.' } }]);
    stage.model.says('We have a room.');
    stage.user.says('How much is my bill?', FIRST);
    stage.user.says('And do you have a room?', SECOND);
    stage.playTo(16_000);
    expect(toolNames(stage, 1)).toEqual(['hand_back']);
    expect(stage.agents.spoke).toEqual(['billing', 'desk']);
    const [system, ...messages] = contents(stage, 3);
    expect(system).toBe('system: You are the desk.');
    expect(messages).toEqual([
      'user: How much is my bill?',
      'system: The conversation went from The desk to Billing.',
      'assistant: Your bill is ten euros.',
      'user: And do you have a room?',
      expect.stringContaining('handed back to you by Billing. Billing tells you: They want a room.'),
    ]);
    stage.expectAgent('We have a room').isHeardWhole();
  });

  it('goes back to an agent in the middle, which sees no more than before and what came after', () => {
    const support = target({ agent: { id: 'support', name: 'Support' } });
    const stage = listening(config(target({ plan: 'none' })));
    stage.agents
      .isReady('billing', { ...BILLING, handover: { targets: [support], maxHops: 5 } })
      .isReady('support', { systemPrompt: 'You are support.' });
    stage.model.says('All right.');
    stage.model.calls([{ name: 'hand_over', args: { reason: 'Bill 7.' } }]);
    stage.model.calls([{ name: 'hand_over' }]);
    stage.model.says('It works again.');
    stage.model.calls([{ name: 'hand_back' }]);
    stage.model.says('Ten euros.');
    stage.user.says('I moved house.', FIRST);
    stage.user.says('My bill does not open.', SECOND);
    stage.user.says('And how much is it?', { from: 17_000, to: 18_200 });
    stage.playTo(26_000);
    expect(stage.agents.spoke).toEqual(['billing', 'support', 'billing']);
    expect(contents(stage, 5).slice(1)).toEqual([
      'user: My bill does not open.',
      expect.stringContaining('The desk tells you: Bill 7.'),
      'system: The conversation went from Billing to Support.',
      'assistant: It works again.',
      'user: And how much is it?',
      expect.stringContaining('handed back to you by Support'),
    ]);
  });

  it('leaves the call with the agent if the other one cannot be prepared, and tells it why', () => {
    const stage = listening(config(target()));
    stage.agents.isMissing('billing', 'it is disabled');
    stage.model.calls([{ name: 'hand_over' }]);
    stage.model.says('I am sorry, billing is closed.');
    stage.user.says('How much is my bill?', FIRST);
    stage.playTo(9000);
    expect(contents(stage, 1).at(-1)).toBe(
      'tool: The hand-over failed: it is disabled. The conversation is still yours.',
    );
    stage.expectAgent('billing is closed').isHeardWhole();
    expect(stage.agents.spoke).toEqual([]);
  });

  it('does not wait forever', () => {
    const stage = listening(config(target()));
    stage.agents.neverComes('billing');
    stage.model.calls([{ name: 'hand_over' }]);
    stage.model.says('I am sorry.');
    stage.user.says('How much is my bill?', FIRST);
    stage.playTo(14_000);
    expect(traces(stage).filter((name) => name === 'handover.timeout')).toHaveLength(1);
    expect(contents(stage, 1).at(-1)).toContain('Billing was not there in time');
  });

  it('does not pass the user around: no agent gets a turn twice, and the hops are limited', () => {
    const stage = listening(config(target()));
    const back = target({ agent: { id: 'desk', name: 'The desk' } });
    stage.agents
      .isReady('billing', { ...BILLING, handover: { targets: [back], maxHops: 3 } })
      .isReady('desk', config(target()));
    for (let time = 0; time < 4; time++) stage.model.calls([{ name: 'hand_over' }]);
    stage.model.says('I will help you myself.');
    stage.user.says('How much is my bill?', FIRST);
    stage.playTo(14_000);
    expect(stage.agents.spoke).toEqual(['billing', 'desk']);
    expect(traces(stage)).toContain('handover.refused');
    expect(contents(stage, 3).at(-1)).toContain('has had what the user said last, and has handed it on');
    stage.expectAgent('I will help you myself').isHeardWhole();
  });

  it('begins the steps of the other agent, also where the user speaks while it is prepared', () => {
    const flow: Flow = {
      steps: [
        {
          id: 'bill',
          say: { entry: 'Here is billing.' },
          collect: [{ name: 'number', type: 'number', ask: ['Which bill?'] }],
          transitions: [{ to: 'done' }],
        },
        { id: 'done', say: { entry: 'Goodbye!' }, end: { action: 'hang_up' } },
      ],
    };
    const steps = { flow, startUnixMs: 0, timezone: 'UTC' };
    const stage = listening(config(target({ announcement: ANNOUNCEMENT })));
    stage.agents.isReady('billing', { ...BILLING, steps }, { afterMs: 4000 });
    stage.model.calls([{ name: 'hand_over' }]);
    stage.model.says('Which bill is it?');
    stage.user.says('How much is my bill?', FIRST);
    // The agent is ready in the middle of this.
    stage.user.says('I mean the one that came last week, with the red letters on it.', { from: 5000, to: 8500 });
    stage.playTo(20_000);
    expect(stage.agents.spoke).toEqual(['billing']);
    stage.expectAgent('Here is billing.').isHeardWhole();
    expect(stage.model.requests).toHaveLength(2);
    expect(stage.model.requests[1]?.messages[0]?.content).toContain('You are billing.');
    expect(toolNames(stage, 1)).toContain('set_data');
  });

  it('closes the step that the first agent was in, and opens it when it gets the call back', () => {
    const flow: Flow = {
      steps: [
        { id: 'talk', instruction: 'Talk.', transitions: [{ to: 'done', when: [{ choice: 'The caller is done.' }] }] },
        { id: 'done', end: { action: 'hang_up' } },
      ],
    };
    const desk = { ...config(target()), steps: { flow, startUnixMs: 0, timezone: 'UTC' } };
    const stage = handingOver(desk);
    stage.agents.isReady('desk', desk);
    stage.playTo(8000);
    const { state } = stage.conversation;
    expect(firstPassed(state)).toEqual([
      { step: 'talk', fromMs: expect.any(Number) as number, toMs: expect.any(Number) as number, to: null },
    ]);
    stage.model.calls([{ name: 'hand_back' }]);
    stage.model.says('We have a room.');
    stage.user.says('And do you have a room?', SECOND);
    stage.playTo(16_000);
    expect(stage.agents.spoke).toEqual(['billing', 'desk']);
    expect(firstPassed(stage.conversation.state)).toMatchObject([{ step: 'talk', toMs: null, to: null }]);
  });

  it('keeps what the other agent was told in front of its model, whatever the limit of its history', () => {
    const stage = listening(config(target({ plan: 'none' })));
    stage.agents.isReady('billing', { ...BILLING, history: { messageLimit: 1, toolResultLimit: null } });
    stage.model.calls([{ name: 'hand_over', args: { reason: 'Bill 7.' } }]);
    stage.model.says('Your bill is ten euros.');
    stage.model.says('Yes.');
    stage.user.says('How much is my bill?', FIRST);
    stage.user.says('Is that all of it?', SECOND);
    stage.playTo(16_000);
    expect(contents(stage, 2).slice(1)).toEqual([
      expect.stringContaining('The desk tells you: Bill 7.'),
      'user: Is that all of it?',
    ]);
  });

  it('is asked for by a program, and is prepared before', () => {
    const stage = listening(config());
    stage.model.says('Hello, this is billing.');
    stage.send(
      {
        type: 'command.handover',
        id: 1,
        agent: { id: 'billing', name: 'Billing' },
        config: mergeConfig(BILLING),
        summary: null,
        variables: {},
        order: { plan: 'all', messages: 6, variables: [], announcement: ANNOUNCEMENT, reason: null, mayReturn: true },
      },
      { at: 3000 },
    );
    stage.playTo(12_000);
    stage.expectAgent(ANNOUNCEMENT).isHeardWhole();
    stage.expectAgent('this is billing').isHeardWhole();
    expect(stage.timeline.toString()).toContain('command.done');
  });

  it('lasts in a saved state', () => {
    const stage = handingOver(config(target()));
    stage.playTo(8000);
    const state = structuredClone(stage.conversation.state);
    const again = new Conversation(mergeConfig(config(target())), state);
    expect(again.systemPrompt).toBe('You are billing.');
  });
});
