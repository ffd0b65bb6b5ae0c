import { afterEach, describe, expect, it } from 'vitest';
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

/** A caller who keeps a session busy for this long. */
const talks = (ms: number) => [{ wait: ms }];

describe('a call that finds all sessions taken', () => {
  it('waits with music and announcements, and is then answered on the same line without a gap', async () => {
    await opened();
    const first = rig.call(talks(60_000));
    await rig.after(2000);
    const second = rig.call(talks(120_000));
    await rig.until(() => second.state === 'answered');
    expect(rig.engine.sessions.size).toBe(1);
    await rig.until(() => first.state === 'ended');
    await rig.until(() => rig.logged(second)?.status === 'in-progress');
    await rig.until(() => rig.said.length === 4);
    await rig.after(400);
    // The greeting of the session is heard by now, and nothing but the answer was silent.
    expect(rig.longestSilenceMs(second)).toBeLessThan(100);
    expect(rig.said.map(({ text }) => text)).toEqual([
      'The desk speaks.',
      expect.stringMatching(/All lines are busy.*You are number 1 in the queue\.$/),
      'You are number 1 in the queue.',
      'The desk speaks.',
    ]);
    await rig.until(() => second.state === 'ended');
    await rig.until(() => rig.logged(second)?.endedUs != null);
    const { status, item } = rig.logged(second) ?? {};
    expect([status, item?.queue]).toEqual([
      'user-ended',
      { id: 'desk', position: 1, priority: 0, waited: expect.closeTo(58, 0) as number, left: 'answered' },
    ]);
  });
});
