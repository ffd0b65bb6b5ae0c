import { afterEach, describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import type { SimulatedCall } from '../../../src/telephony/carriers/simulated/call.js';
import { QueueRig, type QueueRigOptions } from './rig.js';

let rig: QueueRig;

async function opened(options: QueueRigOptions = {}): Promise<QueueRig> {
  rig = await QueueRig.open(options);
  return rig;
}

afterEach(async () => {
  await rig.close();
  expect(rig.faults).toEqual([]);
});

/** A caller who holds the line for this long. */
const stays = (ms: number) => [{ wait: ms }];

const texts = (): string[] => rig.said.map(({ text }) => text);
const isWaiting = (call: SimulatedCall): boolean => rig.logged(call)?.status === 'queued' && call.state === 'answered';
const isOver = (call: SimulatedCall): boolean => rig.logged(call)?.endedUs != null;
const refusal = (call: SimulatedCall): string | undefined => call.end?.reason.slice(0, 3);

describe('a call that finds all sessions taken', () => {
  it('waits with music and announcements, and is then answered on the same line without a gap', async () => {
    await opened();
    const first = rig.call(stays(60_000));
    await rig.after(2000);
    const second = rig.call(stays(120_000));
    await rig.until(() => second.state === 'answered');
    expect(rig.engine.sessions.size).toBe(1);
    await rig.until(() => first.state === 'ended');
    await rig.until(() => rig.logged(second)?.status === 'in-progress');
    await rig.until(() => rig.said.length === 4);
    await rig.after(400);
    // The greeting of the session is heard by now, and nothing but the answer was silent.
    expect(rig.longestSilenceMs(second)).toBeLessThan(200);
    expect(texts()).toEqual([
      'The desk speaks.',
      expect.stringMatching(/All lines are busy.*You are number 1 in the queue\.$/),
      'You are number 1 in the queue.',
      'The desk speaks.',
    ]);
    await rig.until(() => isOver(second));
    const { status, item } = rig.logged(second) ?? {};
    expect([status, item?.queue]).toEqual([
      'user-ended',
      { id: 'desk', position: 1, priority: 0, waited: expect.closeTo(58, 0) as number, left: 'answered' },
    ]);
  });

  it('only rings for the time of `ring`, and costs nothing if its turn comes by then', async () => {
    await opened({ extensions: { queue: { ring: 30 } } });
    const first = rig.call(stays(20_000));
    await rig.after(2000);
    const second = rig.call(stays(10_000));
    await rig.after(10_000);
    expect([second.state, rig.logged(second)?.status]).toEqual(['ringing', 'queued']);
    await rig.until(() => second.state === 'answered');
    expect([first.state, texts()]).toEqual(['ended', ['The desk speaks.', 'The desk speaks.']]);
    const third = rig.call(stays(60_000));
    await rig.until(() => third.state === 'answered');
    expect(rig.logged(third)?.item.queue).toMatchObject({ position: 1, left: 'answered' });
  });

  it('hears `greeting`, `music` or none, and `announcements` `every` so often, with `position`, `wait` and `messages`', async () => {
    const greeting = 'Hello {FromPhone}. Number {position}. It takes {wait}.';
    const announcements = { every: 20, position: false, messages: ['We are on it.', 'Visit our page.'] };
    await opened({ extensions: { queue: { greeting, music: 'none', announcements } } });
    const lengths = [20_000, 20_000, 20_000];
    // Three calls that have ended make an estimate.
    for (const length of lengths) {
      const call = rig.call(stays(length));
      await rig.until(() => isOver(call));
    }
    rig.call(stays(120_000));
    await rig.after(5000);
    rig.said.length = 0;
    const second = rig.call(stays(60_000), { from: '+12025550177' });
    await rig.after(60_000);
    expect(texts()).toEqual([
      'Hello +12025550177. Number 1. It takes about one minute.',
      'The estimated wait is about one minute. We are on it.',
      'The estimated wait is about one minute. Visit our page.',
    ]);
    expect(rig.said.map(({ atMs }) => Math.round((atMs - (rig.said[0]?.atMs ?? 0)) / 1000))).toEqual([0, 21, 42]);
    // Without music there is silence between them.
    expect(rig.longestSilenceMs(second)).toBeGreaterThan(10_000);
  });

  it('hears the music as loud as `music_volume` says', async () => {
    await opened({ extensions: { queue: { music_volume: 0.1, greeting: 'Wait.', announcements: { every: 600 } } } });
    rig.call(stays(60_000));
    await rig.after(2000);
    const quiet = rig.call(stays(20_000));
    await rig.until(() => isOver(quiet));
    const loudest = Math.max(...(rig.heard.get(quiet) ?? []).slice(200));
    expect(loudest).toBeGreaterThan(-60);
    expect(loudest).toBeLessThan(-30);
  });

  it('is refused as before where no queue is set, and where `limit` calls wait', async () => {
    await opened({ extensions: { queue: { limit: 1 } } });
    rig.call(stays(30_000));
    await rig.after(2000);
    const waiting = rig.call(stays(10_000));
    await rig.until(() => isWaiting(waiting));
    const third = rig.call(stays(10_000));
    await rig.until(() => third.state === 'ended');
    expect([refusal(third), third.record().answeredMs]).toEqual(['503', null]);
    await rig.close();
    await opened({ extensions: {} });
    rig.call(stays(30_000));
    await rig.after(2000);
    const refused = rig.call(stays(10_000));
    await rig.until(() => refused.state === 'ended');
    expect(refusal(refused)).toBe('503');
  });

  it('is in the log if its caller hangs up, and leaves its place to the next', async () => {
    await opened();
    const first = rig.call(stays(60_000));
    await rig.after(2000);
    const [second, third] = [rig.call(stays(10_000)), rig.call(stays(90_000))];
    await rig.until(() => isOver(second));
    expect([rig.logged(second)?.status, rig.logged(second)?.item.queue]).toEqual([
      'user-ended',
      { id: 'desk', position: 1, priority: 0, waited: expect.closeTo(10, 0) as number, left: 'abandoned' },
    ]);
    expect([first.state, rig.logged(third)?.item.queue]).toMatchObject(['answered', { position: 2, left: null }]);
    await rig.until(() => rig.logged(third)?.status === 'in-progress');
    expect(rig.engine.sessions.size).toBe(1);
  });

  it('waits for `max_calls` of its agent while sessions are free for others', async () => {
    await opened({ maxSessions: 5, extensions: { queue: { max_calls: 2 } } });
    const first = [rig.call(stays(20_000)), rig.call(stays(40_000))];
    await rig.after(2000);
    const third = rig.call(stays(60_000));
    await rig.until(() => isWaiting(third));
    expect([rig.engine.sessions.size, rig.admission.isFull]).toEqual([2, false]);
    await rig.until(() => rig.logged(third)?.status === 'in-progress');
    expect(first.map(({ state }) => state)).toEqual(['ended', 'answered']);
  });

  it('finds its place kept from newcomers of all kinds', async () => {
    await opened();
    const first = rig.call(stays(20_000));
    await rig.after(2000);
    const second = rig.call(stays(60_000));
    await rig.until(() => isWaiting(second));
    const found: boolean[] = [];
    first.onState(() => found.push(rig.admission.isFull));
    while (rig.logged(second)?.status !== 'in-progress') {
      await rig.after(20);
      found.push(rig.admission.isFull);
    }
    expect([first.state, new Set(found)]).toEqual(['ended', new Set([true])]);
    const third = rig.call(stays(60_000));
    await rig.until(() => isWaiting(third));
    expect(rig.logged(third)?.item.queue).toMatchObject({ position: 1, left: null });
  });

  it('is told so when the daemon shuts down', async () => {
    await opened();
    rig.call(stays(60_000));
    await rig.after(2000);
    const second = rig.call(stays(60_000));
    await rig.until(() => isWaiting(second));
    await rig.after(10_000);
    rig.admission.shut();
    rig.queues.drain();
    await rig.until(() => isOver(second));
    expect(texts().at(-1)).toContain('Please call again later. Goodbye.');
    expect([rig.logged(second)?.status, rig.logged(second)?.item.queue]).toMatchObject([
      'agent-ended',
      { left: 'overflow' },
    ]);
    const late = rig.call(stays(60_000));
    await rig.until(() => late.state === 'ended');
    expect(refusal(late)).toBe('503');
  });
});

describe.each([1, 2, 3])('calls at random, with seed %i', (seed) => {
  it('are answered in their order, never more at once than may be, and none is lost', async () => {
    const maxSessions = 2;
    await opened({ maxSessions, extensions: { queue: { limit: 4, announcements: { every: 600 } } } });
    const random = new Random(seed);
    const calls: SimulatedCall[] = [];
    let most = 0;
    for (let count = 0; count < 14; count++) {
      calls.push(rig.call(stays(random.int(3000, 30_000)), { patienceMs: 10_000 }));
      const gapMs = random.int(200, 6000);
      for (let passed = 0; passed < gapMs; passed += 200) {
        await rig.after(200);
        most = Math.max(most, rig.engine.sessions.size);
      }
    }
    await rig.until(() => calls.every(({ state }) => state === 'ended'));
    await rig.until(() => calls.every((call) => refusal(call) === '503' || isOver(call)));
    expect(most).toBe(maxSessions);
    const waited = calls.map((call) => rig.logged(call)?.item.queue).filter((facts) => facts !== undefined);
    expect(waited.length).toBeGreaterThan(0);
    expect(waited.filter(({ left, waited: forS }) => left === null || forS === null)).toEqual([]);
    // Those who were answered were so in the order of their arrival.
    const answered = calls.filter((call) => rig.logged(call)?.item.queue?.left !== 'abandoned');
    const startedUs = answered.flatMap((call) => {
      const started = rig.calls.find(({ callId, status }) => callId === call.id && status === 'in-progress');
      return started === undefined ? [] : [rig.calls.indexOf(started)];
    });
    expect(startedUs).toEqual(startedUs.toSorted((a, b) => a - b));
    expect(rig.admission.isFull).toBe(false);
  });
});
