import { networkInterfaces } from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { Ticker } from '../../../src/base/ticker.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { isRtcp, parseRtp } from '../../../src/transports/rtp/packet.js';
import { openRtpSession } from '../../../src/transports/rtp/session.js';
import { type OpenSocket, openUdpSocket } from '../../../src/transports/rtp/socket.js';
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

  it('runs ahead of no clock where the thread stands still now and then, and ticks are made up', async () => {
    const clock = new RealClock();
    const ticker = new Ticker(clock);
    const timestamps: number[] = [];
    const openSocket: OpenSocket = async (address, port) => {
      const socket = await openUdpSocket(address, port);
      const send = socket.send.bind(socket);
      socket.send = (datagram, to, toPort) => {
        const packet = isRtcp(datagram) ? null : parseRtp(datagram);
        if (packet !== null) timestamps.push(packet.timestamp);
        send(datagram, to, toPort);
      };
      return socket;
    };
    const ports = new RtpPorts({ clock, localAddress: '127.0.0.1', portRange: null, openSocket });
    const [caller, callee] = [
      await openRtpSession({ clock, ticker, ports }),
      await openRtpSession({
        clock,
        ticker,
        ports: new RtpPorts({ clock, localAddress: '127.0.0.1', portRange: null }),
      }),
    ];
    caller.accept(callee.answer(caller.offer()));
    caller.answered();
    const stop = ticker.subscribe(() => caller.line.play(new Int16Array(160).fill(500)));
    await vi.waitFor(() => expect(timestamps.length).toBeGreaterThan(2), { timeout: 5_000, interval: 10 });
    const [startMs, sent] = [clock.nowMs(), timestamps.length];
    for (let times = 1; times <= 4; times++) {
      for (const untilMs = clock.nowMs() + 115; clock.nowMs() < untilMs;); // nothing else runs on this thread
      const before = timestamps.length;
      await vi.waitFor(() => expect(timestamps.length).toBeGreaterThan(before + 5), { timeout: 5_000, interval: 10 });
    }
    const streamMs = (((timestamps.at(-1) ?? 0) - (timestamps[sent - 1] ?? 0)) >>> 0) / 8;
    expect(streamMs - (clock.nowMs() - startMs)).toBeLessThan(60);
    stop();
    await Promise.all([caller.close(), callee.close()]);
  });
});

const hasV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1') === true);

describe('IPv6', () => {
  it.runIf(hasV6)('carries calls as well, and is distinguished from IPv4', async () => {
    const clock = new RealClock();
    const ends = { clock, ticker: new Ticker(clock) };
    const ports = new RtpPorts({ clock, localAddress: '::1', portRange: null });
    const [caller, callee] = [await openRtpSession({ ...ends, ports }), await openRtpSession({ ...ends, ports })];
    const far = new Ear();
    callee.line.start(far);
    expect(caller.offer()).toContain('c=IN IP6 ::1');
    caller.accept(callee.answer(caller.offer()));
    for (const end of [caller, callee]) end.answered();
    caller.line.play(new Int16Array(160).fill(8_000));
    await vi.waitFor(() => expect(far.samples.filter((sample) => sample > 7_000)).toHaveLength(160), {
      timeout: 5_000,
      interval: 10,
    });
    expect(() => callee.answer(caller.offer().replaceAll('IN IP6 ::1', 'IN IP4 127.0.0.1'))).toThrow(
      'its address is of another family than ours',
    );
    await Promise.all([caller.close(), callee.close()]);
  });
});
