import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import {
  type IntakeDecision,
  CallIntake,
  type RefusedCalls,
  type Unconfirmed,
} from '../../../src/telephony/sip/call-intake.js';
import type { Hop } from '../../../src/telephony/sip/hop.js';
import { HOPS, phoneAt, place, take, Wire } from './support.js';

const TRUNK: Hop = { protocol: 'UDP', address: '192.0.2.1', port: 5060 };
const OTHER: Hop = { protocol: 'UDP', address: '192.0.2.2', port: 5060 };

class Bench {
  readonly clock = new VirtualClock();
  readonly reports: RefusedCalls[] = [];
  readonly intake: CallIntake;
  readonly released: Unconfirmed[] = [];

  constructor(mostCalls: number) {
    const onRefused = (refused: RefusedCalls): void => void this.reports.push(refused);
    this.intake = new CallIntake({ clock: this.clock, mostCalls, onRefused });
  }

  /** Calls come in at once, and are answered; returns those that were admitted. */
  call(count: number, hop = TRUNK): Unconfirmed[] {
    const calls: Unconfirmed[] = [];
    for (let n = 0; n < count; n++) if (this.intake.admit(hop) === 'admitted') calls.push(this.answered(hop));
    return calls;
  }

  answered(hop: Hop): Unconfirmed {
    const call = this.intake.begin(hop);
    call.answered(() => {
      this.released.push(call);
      call.ended();
    });
    return call;
  }

  /** An address that acknowledges. */
  prove(hop = TRUNK): void {
    for (const call of this.call(1, hop)) call.confirmed();
  }

  admissions(count: number, hop = TRUNK): IntakeDecision[] {
    return Array.from({ length: count }, () => this.intake.admit(hop));
  }
}

describe('calls that come in', () => {
  it('are few at once from an address that has acknowledged none, and many from one that has', () => {
    const bench = new Bench(100);
    expect(bench.call(30)).toHaveLength(10);
    const [first] = bench.call(1, OTHER);
    first?.confirmed();
    expect(bench.call(30, OTHER)).toHaveLength(30);
  });

  it('may be many at once over a connection, which proves that the peer exists', () => {
    expect(new Bench(100).call(30, { ...TRUNK, protocol: 'TCP' })).toHaveLength(30);
  });

  it('leave a quarter of the sessions to other channels until they are acknowledged', async () => {
    const bench = new Bench(20);
    for (const hop of [TRUNK, OTHER]) bench.prove(hop);
    const [here, there] = [bench.call(12), bench.call(12, OTHER)];
    expect([here.length, there.length]).toEqual([12, 3]);
    for (const call of here) call.confirmed();
    expect(bench.call(12, OTHER)).toHaveLength(12);
  });

  it('are no more a second from one address than a quarter of the sessions', async () => {
    const bench = new Bench(100);
    let admitted = 0;
    for (let tick = 0; tick < 1000; tick++) {
      for (const call of bench.call(10)) {
        admitted++;
        call.confirmed();
      }
      await bench.clock.advanceBy(10);
    }
    // Two seconds' worth at once, and 25 in each of ten seconds.
    expect(Math.abs(admitted - 300)).toBeLessThanOrEqual(1);
    expect(bench.call(1, OTHER)).toHaveLength(1);
  });

  it('are released early, and refused for half a minute, where acknowledgements stay away', async () => {
    const bench = new Bench(40);
    bench.prove();
    expect(bench.call(12)).toHaveLength(12);
    await bench.clock.advanceBy(3999);
    expect(bench.released).toHaveLength(0);
    await bench.clock.advanceBy(1);
    expect(bench.released).toHaveLength(12);
    expect(bench.call(1)).toHaveLength(0);
    expect(bench.call(1, OTHER)).toHaveLength(1);
    await bench.clock.advanceBy(30_000);
    // Nothing is known of it any more: it has few at once again.
    expect(bench.call(12)).toHaveLength(4);
  });

  it('are not released where single acknowledgements are lost', async () => {
    const bench = new Bench(40);
    bench.prove();
    const calls = bench.call(12);
    for (const call of calls.slice(3)) call.confirmed();
    await bench.clock.advanceBy(31_000);
    expect(bench.released).toHaveLength(0);
    for (const call of calls) call.confirmed();
    expect(bench.call(1)).toHaveLength(1);
  });

  it('are refused with a response fifty times a second, and reported in one line', async () => {
    const bench = new Bench(40);
    const first = bench.admissions(1000);
    expect(first.filter((admission) => admission === 'admitted')).toHaveLength(20);
    expect(first.filter((admission) => admission === 'refused')).toHaveLength(50);
    expect(first.filter((admission) => admission === 'ignored')).toHaveLength(930);
    bench.admissions(25, OTHER);
    await bench.clock.advanceBy(10_000);
    expect(bench.reports).toEqual([{ seconds: 10, count: 985, address: TRUNK.address, most: 980 }]);
    await bench.clock.advanceBy(60_000);
    expect(bench.reports).toHaveLength(1);
    bench.intake.close();
    bench.intake.close();
  });

  it('of thousands of addresses are kept in mind for a while only', () => {
    const bench = new Bench(40);
    for (let n = 0; n < 12_000; n++) {
      bench.intake.admit({ ...TRUNK, address: `10.${String(n >> 8)}.${String(n & 255)}.1` });
    }
    expect(bench.call(1)).toHaveLength(1);
  });
});

describe('a user agent with limits', () => {
  it('refuses with 503 and keeps nothing; calls and their changes go on', async () => {
    const wire = new Wire();
    const intake = new CallIntake({ clock: wire.clock, mostCalls: 4, onRefused: () => undefined });
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2, undefined, intake);
    const placed = Array.from({ length: 6 }, () => place(ann, HOPS.bob));
    await wire.clock.advanceBy(50);
    expect(bob.calls).toHaveLength(3);
    expect(placed.filter(({ reported }) => reported[0] === 'failed 503 Service Unavailable')).toHaveLength(3);
    expect(bob.agent.counts).toMatchObject({ 'refused.flood': 3 });
    expect(bob.agent.transactions).toBe(3);
    for (const call of bob.calls) take(call);
    await wire.clock.advanceBy(50);
    // They are acknowledged: there is room for others, and a change is no new call.
    expect(await changed(wire, placed[0]?.leg().reoffer())).toBe(true);
    const next = place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    expect([bob.calls.length, next.reported]).toEqual([4, []]);
  });

  it('answers fifty broken requests a second, and counts the others', async () => {
    const wire = new Wire();
    const intake = new CallIntake({ clock: wire.clock, mostCalls: 8, onRefused: () => undefined });
    const bob = phoneAt(wire, HOPS.bob, 2, undefined, intake);
    const broken = (n: number): Buffer =>
      Buffer.from(
        `INVITE sip:bob@192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK${String(n)}\r\n` +
          `From: <sip:a@b>;tag=1\r\nTo: <sip:b@c>\r\nCall-ID: ${String(n)}\r\nCSeq: nonsense\r\n\r\n`,
      );
    for (let n = 0; n < 1000; n++) bob.agent.receive(broken(n), HOPS.ann);
    await wire.clock.advanceBy(1000);
    bob.agent.receive(broken(1000), HOPS.ann);
    expect(wire.times('400')).toHaveLength(51);
    expect(bob.agent.counts).toEqual({ 'bad.request': 1001 });
  });

  it('ends calls whose answers are not acknowledged, and stops counting cancelled ones', async () => {
    const wire = new Wire();
    const intake = new CallIntake({ clock: wire.clock, mostCalls: 8, onRefused: () => undefined });
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2, undefined, intake);
    wire.passes = (message) => !(message.kind === 'request' && message.method === 'ACK');
    const cancelled = place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    take(bob.calls[0] as never, 'ringing');
    await wire.clock.advanceBy(50);
    cancelled.call.cancel();
    await wire.clock.advanceBy(50);
    for (let n = 0; n < 4; n++) place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    const reported = bob.calls.slice(1).map((call) => take(call).reported);
    expect(reported).toHaveLength(4);
    await wire.clock.advanceBy(3900);
    expect(reported.flat()).toEqual([]);
    await wire.clock.advanceBy(200);
    expect(reported.flat()).toEqual(
      Array.from({ length: 4 }, () => 'ended by network: the answer was not acknowledged'),
    );
    const refused = place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    expect(refused.reported).toEqual(['failed 503 Service Unavailable']);
  });
});

async function changed(wire: Wire, change: Promise<boolean> | undefined): Promise<boolean | undefined> {
  await wire.clock.advanceBy(100);
  return change;
}
