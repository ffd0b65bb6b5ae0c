import { describe, expect, it } from 'vitest';
import type { AgentCall } from '../../../src/telephony/calls/agent-call.js';
import type { CallStatus } from '../../../src/telephony/calls/call-status.js';
import { numbersOf } from '../carriers/simulated/support.js';
import { ManualClock, OWN, PhoneRig } from './support.js';

const [PERSON, BUSY, ABSENT, REJECTING, BROKEN, MAILBOX, MANAGER] = [
  '+12025550101',
  '+12025550102',
  '+12025550103',
  '+12025550104',
  '+12025550105',
  '+12025550106',
  '+12025550114',
];

const NUMBERS = numbersOf(
  {
    number: PERSON,
    steps: [
      { wait: 300 },
      { say: 'hello?' },
      { listen: {} },
      { say: 'yes please do that' },
      { listen: { orMs: 5000 } },
      { hangUp: true },
    ],
  },
  { number: BUSY, picksUp: 'busy' },
  { number: ABSENT, picksUp: 'rings' },
  { number: REJECTING, picksUp: 'rejects' },
  { number: BROKEN, picksUp: 'fails' },
  {
    number: MAILBOX,
    steps: [
      { wait: 300 },
      { say: 'please leave a message after the tone' },
      { wait: 300 },
      { tone: { hz: [1000], ms: 400 } },
      { record: {} },
    ],
  },
  { number: MANAGER, ringMs: 500, steps: [{ say: 'manager here' }, { note: 'talked' }, { wait: 20_000 }] },
);

async function rigged(test: (rig: PhoneRig) => Promise<void>, rig = new PhoneRig(NUMBERS)): Promise<void> {
  try {
    await test(rig);
    expect(rig.errors).toEqual([]);
  } finally {
    await rig.close();
  }
  expect(rig.clock.pending).toBe(0);
}

describe('an outbound call', () => {
  it('goes from dispatching to its end, and both hear each other', () =>
    rigged(async (rig) => {
      const agent = rig.agent(['hello', 'yes please']);
      const call = await rig.switchboard.place({ ...agent, from: OWN, to: PERSON });
      const report = await rig.finished(call);
      expect(agent.statuses).toEqual(['dispatching', 'initiated', 'ringing', 'in-progress', 'user-ended']);
      expect(report).toMatchObject({ status: 'user-ended', error: null });
      expect(report.carrier).toMatchObject({ from: OWN, to: PERSON, end: { cause: 'hangup', by: 'remote' } });
      const said = report.session?.messages.map(({ role, content }) => `${role}: ${content}`);
      expect(said).toContain('user: yes please');
      expect(said?.join(' ')).toContain('I heard yes please');
      expect(rig.switchboard.calls.size).toBe(0);
    }));

  it.each([
    [BUSY, 'busy', null],
    [ABSENT, 'no-answer', null],
    [REJECTING, 'failed', '603 Decline'],
    [BROKEN, 'failed', '503 Service Unavailable'],
    ['+12025550188', 'failed', '404 Not Found'],
  ])('to %s ends %s', (to, status, error) =>
    rigged(async (rig) => {
      const agent = rig.agent([]);
      const call = await rig.switchboard.place({ ...agent, from: OWN, to, ringTimeoutMs: 20_000 });
      expect(await rig.finished(call)).toMatchObject({ status, error, session: null, carrier: { answeredMs: null } });
      expect(agent.statuses.at(-1)).toBe(status);
      expect(agent.statuses).not.toContain('in-progress');
    }),
  );

  it.each([
    [BUSY, 'The line was busy. Call again later.'],
    [REJECTING, /^The call was not connected: 603 Decline\. The other side declined/],
    [PERSON, null],
  ])('to %s tells the reason together with the end status, and only then', (to, reason) =>
    rigged(async (rig) => {
      const reported: (readonly [string, string | null])[] = [];
      const onStatus = (...status: readonly [string, string | null]): number => reported.push(status);
      const call = await rig.switchboard.place({ ...rig.agent(['yes please']), onStatus, from: OWN, to });
      const { status } = await rig.finished(call);
      const matching: unknown = reason instanceof RegExp ? expect.stringMatching(reason) : reason;
      expect(reported.at(-1)).toEqual([status, matching]);
      expect(reported.slice(0, -1).filter(([, early]) => early !== null)).toEqual([]);
    }),
  );

  it('is refused before dialling if the agent cannot speak', () =>
    rigged(async (rig) => {
      const place = (config: Record<string, unknown>, to: string = PERSON) =>
        rig.switchboard.place({ ...rig.agent([], config), from: OWN, to });
      await expect(place({ vad_threshold: 7 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      await expect(place({ status: 'disabled' })).rejects.toMatchObject({ code: 'AGENT_DISABLED' });
      await expect(place({}, '110')).rejects.toMatchObject({ code: 'CALL_FORBIDDEN' });
      await expect(place({}, 'the desk')).rejects.toMatchObject({ code: 'NUMBER_INVALID' });
      expect(rig.network.calls.size).toBe(0);
    }));

  it('can be given up while it rings, and ended while it is going on', () =>
    rigged(async (rig) => {
      const ringing = await rig.switchboard.place({ ...rig.agent([]), from: OWN, to: ABSENT });
      await rig.clock.runUntil(() => ringing.status === 'ringing', 10_000);
      void ringing.hangUp();
      expect((await rig.finished(ringing)).status).toBe('canceled');
      const talking = await rig.switchboard.place({ ...rig.agent([]), from: OWN, to: PERSON });
      await rig.clock.runUntil(() => talking.status === 'in-progress', 10_000);
      void talking.hangUp();
      expect(await rig.finished(talking)).toMatchObject({ status: 'api-ended', carrier: { end: { by: 'agent' } } });
    }));

  it('can be given up in the moment in which it begins to ring', () =>
    rigged(async (rig) => {
      let call: AgentCall | null = null;
      const onStatus = (status: CallStatus): void => void (status === 'ringing' && call?.hangUp());
      call = await rig.switchboard.place({ ...rig.agent([]), onStatus, from: OWN, to: ABSENT });
      expect((await rig.finished(call)).status).toBe('canceled');
    }));

  it('knows both numbers as variables', () =>
    rigged(async (rig) => {
      const agent = rig.agent([], { first_message: 'From {FromPhone} to {ToPhone}.' });
      const call = await rig.switchboard.place({ ...agent, from: OWN, to: PERSON });
      const { session } = await rig.finished(call);
      expect(session?.messages.map(({ content }) => content).join(' ')).toContain(`From ${OWN} to ${PERSON}.`);
    }));

  it('that is answered before the agent is ready gives up after ten seconds', () => {
    const impatient = new PhoneRig(NUMBERS, {}, new ManualClock());
    return rigged(async (rig) => {
      const stuck = { ...rig.agent([]), vad: { ...rig.agent([]).vad!, warmUp: () => new Promise<void>(() => {}) } };
      const call = await rig.switchboard.place({ ...stuck, from: OWN, to: MANAGER });
      const { status, error, carrier } = await rig.finished(call);
      expect([status, error]).toEqual(['failed', 'The agent was not ready within 10 s']);
      expect(carrier?.answeredMs).not.toBeNull();
    }, impatient);
  });
});

describe('a transfer', () => {
  const TRANSFER = { flow: { call_transfer: { phone: MANAGER, messages: ['I put you through.'] } } };

  it('that succeeds leaves the user with the target', () =>
    rigged(async (rig) => {
      const agent = rig.agent(['hello', 'use transfer_call {}'], TRANSFER);
      const call = await rig.switchboard.place({ ...agent, from: OWN, to: PERSON });
      let notes: readonly string[] = [];
      await rig.clock.runUntil(() => {
        const manager = [...rig.network.calls].find(({ to }) => to === MANAGER);
        notes = manager?.notes ?? notes;
        return notes.includes('talked');
      }, 60_000);
      const report = await rig.finished(call);
      expect(report).toMatchObject({ status: 'agent-ended', carrier: { end: { cause: 'transferred' } } });
      expect(report.session?.transfers).toMatchObject([{ target: MANAGER, ok: true }]);
    }));

  it('that fails returns to the user with a message', () =>
    rigged(async (rig) => {
      const busy = { flow: { call_transfer: { phone: BUSY, messages: ['I put you through.'] } } };
      const agent = rig.agent(['hello', 'use transfer_call {}'], busy);
      const call = await rig.switchboard.place({ ...agent, from: OWN, to: PERSON });
      const report = await rig.finished(call);
      expect(report.session?.transfers).toMatchObject([{ target: BUSY, ok: false, reason: 'busy' }]);
      expect(report.status).toBe('user-ended');
      expect(report.session?.messages.at(-1)?.role).toBe('assistant');
    }));
});

describe('an inbound call', () => {
  it('that is ended while it rings is canceled', () =>
    rigged(async (rig) => {
      const agent = rig.agent([]);
      let ringing: AgentCall | null = null;
      rig.switchboard.receive(
        () => agent,
        (call) => {
          ringing = call;
          void call.hangUp();
        },
      );
      const [silent] = numbersOf({ number: '+12025550178', steps: [{ wait: 1000 }, { hangUp: true }] });
      rig.network.callIn(silent!, OWN);
      await rig.clock.runUntil(() => ringing !== null, 10_000);
      const call = ringing as unknown as AgentCall;
      expect(await rig.finished(call)).toMatchObject({ status: 'canceled', error: null, session: null });
      expect(agent.statuses.at(-1)).toBe('canceled');
      let isOver = false;
      void call.session.then(({ finished }) => finished).then(() => (isOver = true));
      await rig.clock.runUntil(() => isOver, 20_000);
    }));

  const [caller] = numbersOf({
    number: '+12025550177',
    steps: [{ listen: {} }, { say: 'is this the desk' }, { listen: {} }, { hangUp: true }],
  });

  it('is answered by the agent of its number', () =>
    rigged(async (rig) => {
      const agent = rig.agent(['is this the desk']);
      rig.switchboard.receive(({ to, from }) => (to === OWN && from === '+12025550177' ? agent : null));
      const call = rig.network.callIn(caller!, OWN);
      await rig.clock.runUntil(() => rig.switchboard.calls.size === 1, 10_000);
      const report = await rig.finished([...rig.switchboard.calls][0] as AgentCall);
      expect(agent.statuses).toEqual(['ringing', 'in-progress', 'user-ended']);
      expect(report.session?.messages.map(({ content }) => content).join(' ')).toContain('I heard is this the desk');
      expect(call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
    }));

  it.each([
    ['nobody is meant', () => null, 'rejected'],
    ['the agent is disabled', (rig: PhoneRig) => rig.agent([], { status: 'disabled' }), 'rejected'],
  ])('is refused where %s', (_why, route, cause) =>
    rigged(async (rig) => {
      rig.switchboard.receive(() => route(rig));
      const call = rig.network.callIn(caller!, OWN);
      await rig.clock.runUntil(() => call.end !== null, 60_000);
      expect(call.end?.cause).toBe(cause);
      expect(call.record().answeredMs).toBeNull();
    }),
  );

  it('to a number that is not ours is not in service', () =>
    rigged(async (rig) => {
      rig.switchboard.receive(() => rig.agent([]));
      const call = rig.network.callIn(caller!, '+12025550198');
      await rig.clock.runUntil(() => call.end !== null, 10_000);
      expect(call.end).toMatchObject({ cause: 'failed', reason: '404 Not Found' });
    }));

  it('is refused where its route cannot be found because of a fault', async () => {
    const rig = new PhoneRig(NUMBERS);
    rig.switchboard.receive(() => Promise.reject(new Error('the database is away')));
    const call = rig.network.callIn(caller!, OWN);
    await rig.clock.runUntil(() => call.end !== null, 60_000);
    expect([call.end?.cause, rig.errors.map(String)]).toEqual(['rejected', ['Error: the database is away']]);
    await rig.close();
  });
});

describe('a thousand calls at once', () => {
  interface Kind {
    to: string;
    lines?: string[];
    config?: Record<string, unknown>;
    /** Hung up from outside as soon as it has come so far. */
    givenUp?: CallStatus;
    ends: CallStatus;
  }
  const mailbox = { to: MAILBOX, lines: ['please leave a message after the tone'] };
  const ANSWERED: readonly Kind[] = [
    { to: PERSON, lines: ['hello', 'yes'], ends: 'user-ended' },
    {
      to: PERSON,
      lines: ['hello', 'use transfer_call {}'],
      ends: 'agent-ended',
      config: { flow: { call_transfer: { phone: MANAGER, messages: ['I put you through.'] } } },
    },
    { to: PERSON, lines: ['hello', 'yes'], config: { session_timeout: { max_duration: 2 } }, ends: 'timeout' },
    { to: PERSON, lines: ['hello'], givenUp: 'in-progress', ends: 'api-ended' },
    { ...mailbox, config: { flow: { voicemail: { action: 'hangup' } } }, ends: 'voicemail-hangup' },
    {
      ...mailbox,
      ends: 'voicemail-message',
      config: { flow: { voicemail: { action: 'message', message: 'Please call us back.' } } },
    },
  ];
  const UNANSWERED: readonly Kind[] = [
    { to: PERSON, givenUp: 'ringing', ends: 'canceled' },
    { to: BUSY, ends: 'busy' },
    { to: ABSENT, ends: 'no-answer' },
    { to: REJECTING, ends: 'failed' },
    { to: BROKEN, ends: 'failed' },
  ];
  // Conversations are the work: of 21 calls, six are answered.
  const KINDS = [...ANSWERED, ...UNANSWERED, ...UNANSWERED, ...UNANSWERED];

  it('end as their numbers do, every one accounted for', { timeout: 240_000 }, async () => {
    const rig = new PhoneRig(NUMBERS);
    const calls = await Promise.all(
      Array.from({ length: 1000 }, async (_, index) => {
        const kind = KINDS[index % KINDS.length]!;
        const agent = rig.agent(kind.lines ?? [], kind.config);
        let call: AgentCall | null = null;
        const onStatus = (status: CallStatus): void => {
          agent.onStatus?.(status, null);
          if (status === kind.givenUp) void call?.hangUp();
        };
        call = await rig.switchboard.place({ ...agent, onStatus, from: OWN, to: kind.to, ringTimeoutMs: 20_000 });
        return { kind, call, statuses: agent.statuses };
      }),
    );
    expect(rig.network.calls.size).toBe(1000);
    let over = 0;
    for (const { call } of calls) void call.finished.then(() => over++);
    await rig.clock.runUntil(() => over === calls.length, 300_000);
    const counts: Record<string, number> = {};
    for (const { kind, call, statuses } of calls) {
      const { status } = await call.finished;
      expect([status, statuses.at(-1)], JSON.stringify(kind)).toEqual([kind.ends, kind.ends]);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    expect(counts).toEqual({
      'user-ended': 48,
      'agent-ended': 48,
      timeout: 48,
      'api-ended': 48,
      'voicemail-hangup': 48,
      'voicemail-message': 48,
      canceled: 143,
      busy: 143,
      'no-answer': 142,
      failed: 284,
    });
    // Transferred callers are with the manager still.
    await rig.clock.runUntil(() => rig.network.calls.size === 0, rig.clock.nowMs() + 60_000);
    expect([rig.network.calls.size, rig.switchboard.calls.size, rig.errors]).toEqual([0, 0, []]);
    await rig.close();
    expect(rig.clock.pending).toBe(0);
  });
});
