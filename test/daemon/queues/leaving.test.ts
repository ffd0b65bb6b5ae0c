import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { QueueSettings } from '../../../src/agent/extensions/queue.js';
import type { SimulatedCall } from '../../../src/telephony/carriers/simulated/call.js';
import type { ScriptStep } from '../../../src/telephony/carriers/simulated/script.js';
import { OWN, QueueRig } from './rig.js';

let rig: QueueRig;

/** A queue behind a session that is taken for two minutes. */
async function busy(queue: QueueSettings): Promise<void> {
  rig = await QueueRig.open({ extensions: { queue } });
  rig.call([{ wait: 120_000 }]);
  await rig.after(2000);
  rig.said.length = 0;
}

afterEach(async () => {
  await rig.close();
  expect(rig.faults).toEqual([]);
});

const stays = (ms: number): ScriptStep[] => [{ wait: ms }];
const texts = (): string[] => rig.said.map(({ text }) => text);
const isOver = (call: SimulatedCall): boolean => rig.logged(call)?.endedUs != null;

/** How a call has ended, by its item in the log. */
async function over(call: SimulatedCall) {
  await rig.until(() => isOver(call));
  const { status, item } = rig.logged(call) ?? {};
  return { status, ...item?.queue };
}

describe('a call that overflows', () => {
  it('after `max_wait` hears the `message` of `overflow`, whose `action` it is', async () => {
    await busy({ max_wait: 30, overflow: { action: 'message', message: 'Nobody is free for {FromPhone}.' } });
    const call = rig.call(stays(90_000), { from: '+12025550177' });
    expect(await over(call)).toMatchObject({ status: 'agent-ended', left: 'overflow', position: 1, waited: 30 });
    expect(texts().at(-1)).toBe('Nobody is free for +12025550177.');
    expect(rig.left).toEqual(['overflow']);
  });

  it('beyond the `limit` is connected to the `phone` of a `transfer`', async () => {
    await busy({ limit: 1, overflow: { action: 'transfer', phone: '+12025550111' } });
    rig.call(stays(90_000));
    await rig.after(2000);
    const call = rig.call(stays(20_000));
    expect(await over(call)).toMatchObject({ status: 'agent-ended', left: 'transferred', position: 0 });
    expect(rig.logged(call)?.item.carrier_call_log).toMatchObject({
      transfer: { target: '+12025550111', outcome: { ok: true } },
    });
  });

  it('hears that nobody is free where the other number does not answer', async () => {
    await busy({ max_wait: 10, overflow: { action: 'transfer', phone: '+12025550119' } });
    const call = rig.call(stays(60_000));
    expect(await over(call)).toMatchObject({ status: 'agent-ended', left: 'overflow' });
    expect(texts().at(-1)).toContain('We cannot answer your call now.');
    expect(rig.faults.splice(0).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^the queue desk: the call could not be connected to \+12025550119: /),
    ]);
  });

  it('leaves a `voicemail`, at most of `voicemail_limit`: the log has its words and the recording', async () => {
    await busy({ max_wait: 10, overflow: { action: 'voicemail' }, voicemail_limit: 60 });
    const steps = [
      { listen: { quietMs: 900, maxMs: 40_000 } },
      { wait: 8000 },
      { say: 'Please call me.' },
      { wait: 60_000 },
    ];
    const call = rig.call(steps);
    await rig.until(() => rig.logged(call)?.status === 'in-progress');
    expect(texts().at(-1)).toMatch(/leave a message after the tone/);
    // The recording takes no session from others.
    expect([rig.engine.sessions.size, rig.admission.room]).toEqual([2, 0]);
    const ended = await over(call);
    expect(ended).toMatchObject({ left: 'voicemail', position: 1 });
    const item = rig.logged(call);
    expect(JSON.parse(item?.item.chat ?? '[]')).toEqual([{ role: 'user', content: 'hello' }]);
    expect(existsSync(item?.recording ?? '')).toBe(true);
    // Nothing is said to somebody who leaves a message.
    expect(texts().at(-1)).toMatch(/leave a message after the tone/);
    // Ten seconds of silence end it.
    expect(item?.item.duration).toBeLessThan(60);
  });
});

describe('a call outside the opening `hours`', () => {
  const open = [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'] as const, from: '09:00', to: '17:00' }];
  const hours = { open: open.map(({ days, ...rest }) => ({ days: [...days], ...rest })) };

  it.each<[string, QueueSettings['hours']]>([
    ['in another `timezone`', { ...hours, timezone: 'Australia/Sydney' }],
    ['on one of the `holidays`', { ...hours, holidays: ['2026-11-25'] }],
    ['on other `days`', { open: [{ days: ['sat'], from: '09:00', to: '24:00' }] }],
    ['before the time `from`', { open: [{ days: ['wed'], from: '10:30', to: '24:00' }] }],
    ['after the time `to`', { open: [{ days: ['wed'], from: '08:00', to: '10:00' }] }],
  ])('%s hears that it is closed', async (_when, given) => {
    rig = await QueueRig.open({ extensions: { queue: { hours: given } } });
    const call = rig.call(stays(60_000));
    expect(await over(call)).toMatchObject({ status: 'agent-ended', left: 'closed', position: 0 });
    expect(texts()).toEqual(['We are closed now. Please call again later. Goodbye.']);
  });

  it('does what `closed` says, and within the times of `open` goes to the agent', async () => {
    rig = await QueueRig.open({
      extensions: { queue: { hours: { ...hours, holidays: ['2026-11-25'], closed: { action: 'refuse' } } } },
    });
    const call = rig.call(stays(60_000));
    await rig.until(() => call.state === 'ended');
    expect([call.end?.reason, call.record().answeredMs]).toEqual(['480 Temporarily Unavailable', null]);
    await rig.close();
    rig = await QueueRig.open({ extensions: { queue: { hours } } });
    const answered = rig.call(stays(5000));
    await rig.until(() => isOver(answered));
    expect(texts()).toEqual(['The desk speaks.']);
  });
});

describe('the order of `priorities`', () => {
  it('counts their `minutes` as waiting, by numbers `from` and `to` and by `values` of a `variable`', async () => {
    const priorities = [
      { minutes: 5, from: ['+1202555888'] },
      { minutes: 1, to: [OWN], variable: 'tier', values: ['gold'] },
      { minutes: -2, from: ['+12025557777'] },
    ];
    rig = await QueueRig.open({
      extensions: { queue: { priorities, announcements: { every: 600 } } },
      telephone: {
        inbound: { ask: async ({ from }) => ({ metadata: { tier: from === '+12025556666' ? 'gold' : 'iron' } }) },
      },
    });
    const first = rig.call(stays(40_000));
    await rig.after(2000);
    const order: SimulatedCall[] = [];
    const calls = ['+12025557777', '+12025551111', '+12025556666', '+12025558881'].map((from) => {
      return rig.call(stays(400_000), { from });
    });
    for (const call of calls) {
      await rig.until(() => rig.logged(call)?.status === 'queued');
    }
    expect(calls.map((call) => rig.logged(call)?.item.queue?.priority)).toEqual([-2, 0, 1, 5]);
    await rig.until(() => first.state === 'ended');
    while (order.length < calls.length) {
      await rig.until(() => calls.some((call) => !order.includes(call) && rig.logged(call)?.status === 'in-progress'));
      const next = calls.find((call) => !order.includes(call) && rig.logged(call)?.status === 'in-progress');
      if (next === undefined) break;
      order.push(next);
      void rig.telephone.find(rig.logged(next)?.sessionId ?? '')?.hangUp();
      await rig.until(() => next.state === 'ended');
    }
    expect(order.map((call) => calls.indexOf(call))).toEqual([3, 2, 1, 0]);
  });
});

describe('a `callback`', () => {
  const confirm = 'We call you back at 1 2 0 2 5 5 5 0 1 7 7.';

  it('by its `key` is confirmed with the own number, becomes a record, and keeps the place', async () => {
    await busy({ callback: { key: '5' } });
    const call = rig.call([{ wait: 12_000 }, { press: '5' }, { wait: 15_000 }, { press: '1' }, { wait: 60_000 }], {
      from: '+12025550177',
    });
    expect(await over(call)).toMatchObject({ status: 'agent-ended', left: 'callback' });
    expect(texts()[0]).toContain('To be called back instead, press 5.');
    expect(texts().slice(-2)).toEqual([expect.stringContaining(confirm), 'Thank you. We will call you back. Goodbye.']);
    const { sessionId } = rig.logged(call) ?? {};
    expect(rig.promised).toEqual([
      { queueId: 'desk', campaign: null, from: OWN, to: '+12025550177', metadata: { callback_of: sessionId } },
    ]);
    // The place is kept: a newcomer is the second.
    const next = rig.call(stays(300_000));
    await rig.until(() => rig.logged(next)?.status === 'queued');
    expect(rig.logged(next)?.item.queue).toMatchObject({ position: 2 });
    await rig.until(() => rig.admission.room === 1);
    await rig.after(1000);
    expect([rig.admission.isFullFor('+12025550177'), rig.admission.isFullFor('+12025550100')]).toEqual([false, true]);
    // It is not dialled here: after a minute the next caller gets the session.
    await rig.until(() => rig.logged(next)?.status === 'in-progress');
  });

  it('takes another number, and asks again for one that cannot be called', async () => {
    await busy({ callback: { campaign: 'evening' } });
    const call = rig.call(
      [
        { wait: 12_000 },
        { press: '1' },
        { wait: 3000 },
        { press: '2' },
        { wait: 3000 },
        { press: '99#' },
        { wait: 3000 },
        { press: '2025550188#' },
        { wait: 5000 },
        { press: '1' },
        { wait: 60_000 },
      ],
      { from: '+12025550177' },
    );
    expect(await over(call)).toMatchObject({ left: 'callback' });
    expect(texts().at(-3)).toMatch(/^This number cannot be called\. Please enter/);
    expect(rig.promised).toMatchObject([{ campaign: 'evening', to: '+12025550188' }]);
  });

  it('by its `phrases` is asked for in words', async () => {
    await busy({ callback: { phrases: ['hello'] } });
    const call = rig.call([{ wait: 15_000 }, { say: 'Hello.' }, { wait: 20_000 }, { press: '1' }, { wait: 60_000 }], {
      from: '+12025550177',
    });
    expect(await over(call)).toMatchObject({ left: 'callback' });
    expect(rig.promised).toHaveLength(1);
  });

  it('is not promised where no campaign takes it: the caller waits on', async () => {
    await busy({ callback: {} });
    rig.callBacks.add = () => Promise.reject(new Error('the campaign takes none'));
    const call = rig.call([{ wait: 12_000 }, { press: '1' }, { wait: 15_000 }, { press: '1' }, { wait: 30_000 }], {
      from: '+12025550177',
    });
    expect(await over(call)).toMatchObject({ left: 'abandoned' });
    expect(texts()).toContain('We cannot call you back. Please stay on the line.');
    expect(rig.faults.splice(0).map(({ message }) => message)).toEqual(['the campaign takes none']);
  });
});

describe('a number with a queue of its own', () => {
  it("has that in place of the agent's", async () => {
    await busy({ limit: 5 });
    await rig.phones.change(OWN, { queue: { greeting: 'This number waits.' } });
    const call = rig.call(stays(20_000));
    expect(await over(call)).toMatchObject({ id: OWN, left: 'abandoned' });
    expect(texts()).toEqual(['This number waits.']);
  });
});
