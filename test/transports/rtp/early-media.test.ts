import { describe, expect, it, onTestFinished } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Ticker } from '../../../src/base/ticker.js';
import { Random } from '../../../src/base/random.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { openRtpSession } from '../../../src/transports/rtp/session.js';
import { UdpNetwork } from './udp-network.js';
import { Ear } from './pair.js';

describe('before the answer', () => {
  async function ringing() {
    const clock = new VirtualClock();
    const ends = { clock, ticker: new Ticker(clock) };
    const network = new UdpNetwork(clock, new Random(1));
    const portsAt = (localAddress: string): RtpPorts => new RtpPorts({ clock, localAddress, openSocket: network.open });
    const [ours, theirs] = [portsAt('10.0.0.1'), portsAt('10.0.0.2')];
    const caller = await openRtpSession({ ...ends, ports: ours, srtp: 'offered' });
    const callee = await openRtpSession({ ...ends, ports: theirs });
    const near = new Ear();
    caller.line.start(near);
    const answer = callee.answer(caller.offer());
    callee.answered();
    const says = async (ms: number, by = callee): Promise<void> => {
      for (let n = 0; n < ms / 20; n++) {
        by.line.play(new Int16Array(160).fill(5_000));
        await clock.advanceBy(20);
      }
    };
    onTestFinished(async () => {
      await Promise.all([caller.close(), callee.close()]);
    });
    return { clock, network, caller, callee, near, answer, says, ends, theirs };
  }

  it('sound that has overtaken the answer is heard, with its keys', async () => {
    const { caller, near, answer, says } = await ringing();
    await says(500);
    caller.accept(answer);
    caller.answered();
    expect(near.samples.filter((sample) => sample > 4_500)).toHaveLength(500 * 8);
    await says(200);
    expect(near.samples).toHaveLength(700 * 8);
    expect(caller.stats()).toMatchObject({ early: 0, lost: 0, isSecure: true });
  });

  it('an early answer announces ringing, which is counted and not heard', async () => {
    const { caller, near, answer, says } = await ringing();
    caller.accept(answer);
    await says(600);
    caller.accept(answer);
    caller.answered();
    expect(near.samples).toEqual([]);
    expect(caller.stats().early).toBe(30);
    await says(200);
    expect(near.samples.filter((sample) => sample > 4_500)).toHaveLength(1_600);
  });

  it('another source after the ringing is a party that has answered', async () => {
    const { caller, callee, near, answer, says, ends, theirs } = await ringing();
    caller.accept(answer);
    await says(3_000);
    const person = await openRtpSession({ ...ends, ports: theirs });
    const offer = caller.offer();
    const other = person.answer(offer);
    person.answered();
    await callee.close();
    await says(200, person);
    caller.accept(other);
    caller.answered();
    await says(100, person);
    expect(near.samples.filter((sample) => sample > 4_500).length).toBeGreaterThan(250 * 8);
    await person.close();
  });

  it('hears and sends nothing before the answer', async () => {
    const clock = new VirtualClock();
    const ends = { clock, ticker: new Ticker(clock) };
    const network = new UdpNetwork(clock, new Random(1));
    const ports = new RtpPorts({ clock, localAddress: '10.0.0.1', openSocket: network.open });
    const [caller, callee] = [await openRtpSession({ ...ends, ports }), await openRtpSession({ ...ends, ports })];
    const near = new Ear();
    caller.line.start(near);
    caller.accept(callee.answer(caller.offer()));
    const ring = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) {
        callee.line.play(new Int16Array(160).fill(5_000));
        await clock.advanceBy(20);
      }
    };
    callee.line.play(new Int16Array(160).fill(5_000));
    await clock.advanceBy(10_000);
    expect(network.sent).toEqual([]);
    callee.answered();
    await ring();
    expect(near.samples).toEqual([]);
    caller.answered();
    await ring();
    expect(near.samples).toHaveLength(1_600);
    await Promise.all([caller.close(), callee.close()]);
    const unanswered = await openRtpSession({ ...ends, ports });
    unanswered.answer(caller.offer());
    network.sent.length = 0;
    await unanswered.close();
    expect(network.sent).toEqual([]);
  });
});
