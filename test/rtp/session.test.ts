import { afterEach, describe, expect, it, vi } from 'vitest';
import { Ear, loopbackPair, type Pair } from './pair.js';

let pair: Pair | null = null;

afterEach(async () => {
  await pair?.dispose();
  pair = null;
});

const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 5_000, interval: 10 });

describe('an RTP session over the loopback', () => {
  it('carries sound both ways', async () => {
    pair = await loopbackPair();
    const { caller, callee } = pair;
    const [near, far] = [new Ear(), new Ear()];
    caller.line.start(near);
    callee.line.start(far);
    caller.line.play(new Int16Array(160).fill(8_000));
    callee.line.play(new Int16Array(160).fill(-4_000));
    await until(() => {
      expect(far.samples.filter((sample) => Math.abs(sample - 8_000) < 300)).toHaveLength(160);
      expect(near.samples.filter((sample) => Math.abs(sample + 4_000) < 300)).toHaveLength(160);
    });
    expect(caller.stats()).toMatchObject({ codec: 'PCMU', isSecure: false, strangers: 0, junk: 0 });
  });

  it('carries keys as events', async () => {
    pair = await loopbackPair();
    const { caller, callee } = pair;
    const far = new Ear();
    callee.line.start(far);
    await caller.line.sendDigits?.('1*#', new AbortController().signal);
    await until(() => expect(far.keys).toBe('1*#'));
  });

  it('closes once, and tells its line', async () => {
    pair = await loopbackPair();
    const { caller } = pair;
    const near = new Ear();
    caller.line.start(near);
    await Promise.all([caller.close(), caller.close()]);
    await caller.close();
    expect(near.timesClosed).toBe(1);
  });
});
