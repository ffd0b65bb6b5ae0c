import { describe, expect, it } from 'vitest';
import type { Stage, StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const SAID = { from: 1000, to: 2200 };
const SALES = '+15550100';
const SERVICE = '+15550111';
const NOTICE = 'Please hold the line while I connect you to a colleague.';

function config(changes: Partial<NonNullable<StageConfig['transfer']>> = {}): StageConfig {
  const targets = [
    { phone: SALES, description: 'for new orders' },
    { phone: SERVICE, description: 'for repairs' },
  ];
  return { transfer: { targets, instruction: null, messages: [NOTICE], ...changes } };
}

function transferring(args: object = { phone: SERVICE }, settings = config()): Stage {
  const stage = listening(settings);
  stage.model.calls([{ name: 'transfer_call', args: { ...args } }]);
  stage.user.says('Can I talk to a person?', SAID);
  return stage;
}

const results = (stage: Stage, request: number) =>
  stage.model.requests[request]?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));

describe('a transfer', () => {
  it('is offered with its numbers and when each is right', () => {
    const stage = listening(config({ instruction: 'Only for customers.' }));
    stage.user.says('Hello there.', SAID);
    stage.playTo(5000);
    const [tool] = stage.model.requests[0]?.tools ?? [];
    expect(tool?.name).toBe('transfer_call');
    expect(tool?.description).toContain('Only for customers.');
    expect(JSON.stringify(tool?.parameters)).toContain(`"enum":["${SALES}","${SERVICE}"]`);
    expect(JSON.stringify(tool?.parameters)).toContain(`${SALES}: for new orders; ${SERVICE}: for repairs`);
  });

  it.each([null, { targets: [], instruction: null, messages: [] }])('is not offered without a number', (transfer) => {
    const stage = listening({ transfer });
    stage.user.says('Hello there.', SAID);
    stage.playTo(5000);
    expect(stage.model.requests[0]?.tools).toEqual([]);
  });

  it('is asked of the line when the notice has been played out, and ends the agent part of the call', () => {
    const stage = transferring();
    stage.line.connects({ afterMs: 7000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent(NOTICE).isHeardWhole();
    const heardMs = stage.timeline.utterances[0]?.played[0]?.to ?? 0;
    expect(stage.line.transfers).toEqual([{ target: SERVICE, atMs: heardMs - 20, cancelledMs: null, attended: null }]);
    expect(stage.timeline.end?.atMs).toBe(heardMs - 20 + 7000);
    expect(stage.messages.at(-1)?.content).toBe('The user was connected.');
  });

  it('lets what the model says with it be heard first', () => {
    const stage = listening(config());
    stage.model.calls([{ name: 'transfer_call', args: { phone: SALES } }], { saying: 'I cannot order that myself.' });
    stage.user.says('Can I order?', SAID);
    stage.line.connects();
    stage.playToEnd();
    stage.expectAgent('I cannot order').isHeardWhole();
    stage.expectAgent(NOTICE).isHeardWhole();
    expect(stage.line.transfers[0]?.atMs).toBeGreaterThan(stage.timeline.utterances[1]?.played[0]?.from ?? Infinity);
  });

  it.each([
    [{ message: 'You will now speak with Ann.' }, 'You will now speak with Ann.'],
    [{}, "One moment, I'll connect you."],
  ])('says the words of the model where none are configured: %j', (args, words) => {
    const stage = transferring({ phone: SALES, ...args }, config({ messages: [] }));
    stage.line.connects();
    stage.playToEnd();
    stage.expectAgent(words).isHeardWhole();
  });

  it.each(['+1 (555) 01-11', '+1 555 0111', SERVICE])('knows the number written as %s', (phone) => {
    const stage = transferring({ phone });
    stage.line.connects();
    stage.playToEnd();
    expect(stage.line.transfers[0]?.target).toBe(SERVICE);
  });

  it('needs no number where there is only one', () => {
    const stage = transferring({}, config({ targets: [{ phone: 'sip:desk@example.com', description: null }] }));
    stage.line.connects();
    stage.playToEnd();
    expect(stage.line.transfers[0]?.target).toBe('sip:desk@example.com');
  });

  it.each([{ phone: '+19005550199' }, {}, { phone: '' }, { phone: 7 }, { phone: '()' }])(
    'to a number that is not in the list is refused: %j',
    (args) => {
      const stage = transferring(args);
      stage.model.says('I cannot connect you there.');
      stage.playTo(15_000);
      expect(stage.line.transfers).toEqual([]);
      expect(results(stage, 1)).toEqual([expect.stringMatching(/^Not transferred/)]);
      stage.expectAgent(NOTICE).isNeverSaid();
      stage.expectAgent('I cannot connect you there.').isHeardWhole();
    },
  );

  it('waits for the results of calls beside it, which may change the plan', () => {
    const stage = listening(config());
    stage.tools.answers('lookup', 'They are closed.');
    stage.model.calls([{ name: 'lookup' }, { name: 'transfer_call', args: { phone: SALES } }]);
    stage.model.says('They are closed now.');
    stage.user.says('Can I talk to sales?', SAID);
    stage.playTo(15_000);
    expect(stage.line.transfers).toEqual([]);
    stage.expectAgent('They are closed now.').isHeardWhole();
  });
});

describe('talking over the notice', () => {
  it.each(['Stop!', 'no wait, I have changed my mind', 'mm-hm'])('"%s" does not undo the transfer', (words) => {
    const stage = transferring();
    stage.line.connects();
    const atMs = stage.playUntilAgentSays('Please hold');
    stage.user.says(words, { from: atMs + 300, to: atMs + 1400 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent(NOTICE).isHeardWhole();
    expect(timesOf(stage, 'playout.hold')).toEqual([]);
  });

  it('nor do keys, typed text, or words that came before it and were still being judged', () => {
    const stage = listening(config());
    stage.model.calls([{ name: 'transfer_call', args: { phone: SALES } }], { saying: 'Of course.', gapMs: 400 });
    stage.user.says('Can I talk to sales?', SAID);
    stage.line.connects();
    const atMs = stage.playUntilAgentSays('Of course');
    stage.user.noise({ from: atMs + 100, to: atMs + 2500 });
    stage.user.presses('1', { at: atMs + 2600 });
    stage.user.types('wait', { at: atMs + 2700 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent(NOTICE).isHeardWhole();
  });

  it('is answered if the transfer fails', () => {
    const stage = transferring();
    stage.line.doesNotConnect('busy');
    stage.model.says('They are busy. What did you want to add?');
    const atMs = stage.playUntilAgentSays('Please hold');
    stage.user.says('Wait, one more thing.', { from: atMs + 300, to: atMs + 1400 });
    stage.playTo(atMs + 20_000);
    expect(stage.timeline.turns.at(-1)?.text).toBe('Wait, one more thing.');
    expect(stage.model.requests).toHaveLength(2);
    expect(results(stage, 1)).toEqual(['Not connected: busy. The user is still on the line.']);
    stage.expectAgent('What did you want').isHeardWhole();
  });
});

describe('a transfer that fails', () => {
  it.each(['busy', 'no answer', 'not supported by this line'])('(%s) returns to the user, who hears so', (reason) => {
    const stage = transferring();
    stage.line.doesNotConnect(reason);
    stage.model.says('I am sorry, nobody is there. Can I help you?');
    stage.playTo(20_000);
    expect(results(stage, 1)?.[0]).toContain(reason);
    stage.expectAgent('I am sorry, nobody').isHeardWhole();
    expect(stage.conversation.state.line).toBe('open');
    stage.user.says('Yes please.', { from: 21_000, to: 21_800 });
    stage.playTo(30_000);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('may be tried again, to another target', () => {
    const stage = transferring();
    stage.line.doesNotConnect('busy').connects();
    stage.model.calls([{ name: 'transfer_call', args: { phone: SALES } }]);
    expect(stage.playToEnd()).toBe('agent-ended');
    expect(stage.line.transfers.map(({ target }) => target)).toEqual([SERVICE, SALES]);
  });

  it('without any answer is given up', () => {
    const stage = transferring();
    stage.line.rings();
    stage.model.says('Nobody answers.');
    stage.playTo(120_000);
    const { atMs, cancelledMs } = stage.line.transfers[0] ?? { atMs: 0, cancelledMs: 0 };
    expect(cancelledMs).toBe(atMs + 60_000);
    stage.expectAgent('Nobody answers.').isHeardWhole();
  });

  it('long ago is forgotten: a late result changes nothing', () => {
    const stage = transferring();
    stage.line.doesNotConnect('busy');
    stage.send({ type: 'transfer.result', callId: 'call-1', ok: true, reason: '' }, { at: 15_000 });
    stage.playTo(30_000);
    expect(stage.conversation.state.line).toBe('open');
  });
});

describe('while the line connects', () => {
  it('the agent neither bridges the wait nor asks whether the user is there', () => {
    const stage = transferring(undefined, {
      ...config(),
      filler: { afterMs: 500, messages: ['Let me see.'] },
      inactivity: { idleMs: 5000, message: null },
      limits: { maxIdleMs: 15_000 },
    });
    stage.line.connects({ afterMs: 40_000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual([NOTICE]);
  });

  it.each([
    ['api-ended', { type: 'command.end' }, 1],
    ['user-ended', { type: 'line.closed', error: null }, 1],
    ['agent-ended', { type: 'command.say', text: 'They will be with you shortly.' }, 0],
  ] as const)('%s: %j', (status, event, cancelled) => {
    const stage = transferring();
    stage.line.connects({ afterMs: 20_000 });
    stage.send(event, { at: 12_000 });
    expect(stage.playToEnd()).toBe(status);
    expect(timesOf(stage, 'line.transfer.cancel')).toHaveLength(cancelled);
    expect(traces(stage).at(-1)).toBe('ended');
  });

  it('a notice that cannot be spoken does not keep it from connecting', () => {
    const stage = transferring();
    stage.voice.fails();
    stage.line.connects();
    expect(stage.playToEnd()).toBe('agent-ended');
  });
});

describe('an attended transfer', () => {
  const attended = { briefing: null, confirm: true, ringMs: 30_000, holdSound: 'music', holdMessages: [] } as const;
  const asking = (changes: Partial<typeof attended> = {}) => config({ attended: { ...attended, ...changes } });

  it('passes the summary on, and gives the waiting user updates', () => {
    const stage = transferring({ phone: SALES, summary: 'Ann wants to order.' }, asking());
    stage.line.connects({ afterMs: 40_000 });
    expect(stage.playToEnd()).toBe('agent-ended');
    const [asked] = stage.line.transfers;
    expect(asked).toMatchObject({ target: SALES, attended: { summary: 'Ann wants to order.', ringMs: 30_000 } });
    const words = 'Thank you for waiting. I am still trying to reach somebody.';
    expect(stage.timeline.utterances.map(({ text }) => text)).toEqual([NOTICE, words, words]);
  });

  it('is asked of the model with a summary', () => {
    const stage = transferring({ phone: SALES }, asking());
    stage.line.connects();
    stage.playToEnd();
    const tool = stage.model.requests[0]?.tools.find(({ name }) => name === 'transfer_call');
    expect(tool?.parameters).toMatchObject({ required: ['phone', 'summary'] });
  });

  it('that fails is what the model hears of last, whatever was said meanwhile', () => {
    const stage = transferring(
      { phone: SALES },
      config({ attended: { ...attended, holdMessages: ['Still ringing.'] } }),
    );
    stage.line.doesNotConnect('they cannot take the call', { afterMs: 20_000 });
    stage.model.says('They are busy.');
    stage.playTo(60_000);
    stage.expectAgent('Still ringing.').isHeardWhole();
    expect(stage.model.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('they cannot take the call') as string,
    });
    stage.expectAgent('They are busy.').isHeardWhole();
  });

  it('is given up where nothing comes of it at all', () => {
    const stage = transferring({ phone: SALES }, asking());
    stage.line.rings();
    stage.model.says('Nobody answers.');
    stage.playTo(300_000);
    const { atMs, cancelledMs } = stage.line.transfers[0] ?? { atMs: 0, cancelledMs: 0 };
    expect(cancelledMs).toBe(atMs + 210_000);
    stage.expectAgent('Nobody answers.').isHeardWhole();
  });
});
