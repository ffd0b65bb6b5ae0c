import { describe, expect, it } from 'vitest';
import { serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { serialiseRtcp } from '../../../src/transports/rtp/rtcp.js';
import { opened, sentBy, speak, way } from './spoken.js';

describe('the end of a call', () => {
  it('is reported to the line once, and frees the ports', async () => {
    const { caller, near, network } = await opened();
    await Promise.all([caller.close(), caller.close()]);
    await caller.close();
    expect(near.timesClosed).toBe(1);
    // A report says goodbye.
    expect([...(network.sent.at(-1)?.datagram ?? [])].slice(-8, -6)).toEqual([0x81, 203]);
  });

  it('leaves nothing behind, also where it is answered afterwards', async () => {
    const ends = await opened();
    await speak(ends, 40);
    await Promise.all([ends.caller.close(), ends.callee.close()]);
    ends.caller.answered();
    ends.callee.answered();
    await ends.clock.advanceBy(1_000);
    expect(ends.clock.pending).toBe(0);
  });

  it('is reported to the signalling when the agent closes the line', async () => {
    let closed = 0;
    const { caller, near, callee, clock, far } = await opened({ listener: { lineClosed: () => closed++ } }, {});
    caller.line.play(new Int16Array(160).fill(8_000));
    await caller.line.close();
    await caller.line.close();
    expect([closed, near.timesClosed]).toEqual([1, 1]);
    await clock.advanceBy(40);
    expect(far.samples.filter((sample) => sample > 7_000)).toHaveLength(160);
    await callee.close();
  });

  it('is a fault where nothing comes any more', async () => {
    const lost: string[] = [];
    const { callee, near, clock, network } = await opened(
      { silentMs: 20_000, listener: { lost: (error) => lost.push(error.message) } },
      {},
    );
    await clock.advanceBy(15_000);
    network.quality = { loss: 1 };
    await callee.close();
    await clock.advanceBy(19_000);
    expect(near.timesClosed).toBe(0);
    await clock.advanceBy(2_000);
    expect(near.error?.message).toBe('The line is lost: nothing came for 20 s');
    expect(lost).toHaveLength(1);
  });

  it('is sooner one where the other side has said goodbye, and none where it comes back', async () => {
    const ends = await opened({ silentMs: 30_000 }, {});
    await speak({ ...ends, caller: ends.callee }, 100);
    const [from, to] = way(ends, '10.0.0.2');
    const source = sentBy(ends, '10.0.0.2')[0]?.ssrc ?? 0;
    await ends.callee.close();
    await ends.clock.advanceBy(8_000);
    const packet = { payloadType: 0, marker: true, sequence: 900, timestamp: 900, payload: new Uint8Array(160) };
    ends.network.send(serialiseRtp({ ...packet, ssrc: source }), from, to);
    await ends.clock.advanceBy(20_000);
    expect(ends.near.timesClosed).toBe(0);
    const report = { kind: 'receiver-report', ssrc: source, blocks: [] } as const;
    ends.network.send(serialiseRtcp([report, { kind: 'bye', ssrcs: [source] }]), from, to);
    await ends.clock.advanceBy(9_000);
    expect(ends.near.timesClosed).toBe(0);
    await ends.clock.advanceBy(2_000);
    expect(ends.near.error?.message).toBe('The line is lost: nothing came for 10 s');
  });

  it('is none where the other side holds the call and is silent', async () => {
    const { caller, callee, near, clock } = await opened({ silentMs: 20_000 }, {});
    caller.accept(callee.answer(caller.offer()));
    const held = caller.answer(callee.offer('sendonly'));
    callee.accept(held);
    await callee.close();
    await clock.advanceBy(60_000);
    expect(near.timesClosed).toBe(0);
  });
});
