import { describe, expect, it, vi } from 'vitest';
import { Ear, loopbackPair } from './pair.js';

describe('a call over the UDP of this machine', () => {
  it.each(['off', 'required'] as const)('carries sound and keys both ways: SRTP %s', async (srtp) => {
    const { caller, callee, dispose } = await loopbackPair({ srtp });
    const [near, far] = [new Ear(), new Ear()];
    caller.line.start(near);
    callee.line.start(far);
    caller.line.play(new Int16Array(160).fill(8_000));
    callee.line.play(new Int16Array(160).fill(-4_000));
    await caller.line.sendDigits?.('1*#', new AbortController().signal);
    await vi.waitFor(
      () => {
        expect(far.samples.filter((sample) => Math.abs(sample - 8_000) < 300)).toHaveLength(160);
        expect(near.samples.filter((sample) => Math.abs(sample + 4_000) < 300)).toHaveLength(160);
        expect(far.keys).toBe('1*#');
      },
      { timeout: 5_000, interval: 10 },
    );
    expect(caller.stats()).toMatchObject({
      codec: 'PCMU',
      isSecure: srtp === 'required',
      forged: 0,
      strangers: 0,
      junk: 0,
    });
    await dispose();
    expect([near.timesClosed, far.timesClosed]).toEqual([1, 1]);
  });
});
