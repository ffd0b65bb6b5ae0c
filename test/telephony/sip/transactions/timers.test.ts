import { describe, expect, it } from 'vitest';
import { Bench, requestOf, TCP, UDP } from './support.js';

/** Each timer of RFC 3261, appendix A, and of RFC 6026. */
describe('the timers of client transactions', () => {
  it('A and B: an unanswered INVITE is repeated at doubled intervals, and times out after 64 T1', async () => {
    const bench = new Bench();
    const { reported } = bench.ask('INVITE');
    await bench.clock.advanceTo(31_999);
    expect(bench.times('INVITE')).toEqual([0, 500, 1500, 3500, 7500, 15_500, 31_500]);
    expect(reported).toEqual([]);
    await bench.clock.advanceTo(40_000);
    expect(reported).toEqual(['timeout']);
    expect([bench.transactions.size, bench.clock.pending]).toEqual([0, 0]);
  });

  it('B alone where the transport is reliable', async () => {
    const bench = new Bench();
    const { reported } = bench.ask('INVITE', TCP);
    await bench.clock.advanceTo(40_000);
    expect([bench.times('INVITE'), reported]).toEqual([[0], ['timeout']]);
  });

  it('a provisional response ends the repetitions, and waits for as long as it takes', async () => {
    const bench = new Bench();
    const { reported, receive } = bench.ask('INVITE');
    await bench.clock.advanceTo(600);
    receive(180);
    await bench.clock.advanceTo(600_000);
    expect([bench.times('INVITE'), reported]).toEqual([[0, 500], [180]]);
  });

  it('D: repeated refusals are each acknowledged, and reported once', async () => {
    const bench = new Bench();
    const { reported, receive } = bench.ask('INVITE');
    receive(486);
    await bench.clock.advanceTo(30_000);
    receive(486);
    await bench.clock.advanceTo(33_500);
    receive(486);
    expect([reported, bench.times('ACK'), bench.dropped]).toEqual([[486], [0, 30_000], ['stray-response']]);
    expect(bench.clock.pending).toBe(0);
  });

  it('D is nought on a reliable transport', async () => {
    const bench = new Bench();
    bench.ask('INVITE', TCP).receive(486);
    await bench.clock.advanceTo(0);
    expect([bench.times('ACK'), bench.transactions.size]).toEqual([[0], 0]);
  });

  it('M: each 2xx goes to the user, that is who acknowledges it', async () => {
    const bench = new Bench();
    const { reported, receive } = bench.ask('INVITE');
    receive(200);
    await bench.clock.advanceTo(31_000);
    receive(200);
    await bench.clock.advanceTo(32_001);
    receive(200);
    expect([reported, bench.times('ACK'), bench.dropped]).toEqual([[200, 200], [], ['stray-response']]);
  });

  it('E and F: other requests are repeated up to every T2', async () => {
    const bench = new Bench();
    const { reported } = bench.ask('OPTIONS');
    await bench.clock.advanceTo(40_000);
    expect(bench.times('OPTIONS')).toEqual([0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
    expect(reported).toEqual(['timeout']);
  });

  it('E after a provisional response: every T2; F goes on', async () => {
    const bench = new Bench();
    const { reported, receive } = bench.ask('BYE');
    receive(100);
    await bench.clock.advanceTo(9000);
    expect(bench.times('BYE')).toEqual([0, 500, 4500, 8500]);
    await bench.clock.advanceTo(33_000);
    expect(reported).toEqual([100, 'timeout']);
  });

  it('K: repeated answers are absorbed for T4', async () => {
    const bench = new Bench();
    const { reported, receive } = bench.ask('BYE');
    receive(200);
    await bench.clock.advanceTo(4999);
    receive(200);
    await bench.clock.advanceTo(5001);
    receive(200);
    expect([reported, bench.dropped, bench.clock.pending]).toEqual([[200], ['stray-response'], 0]);
  });
});

describe('the timers of server transactions', () => {
  it('G and H: a refusal is repeated up to every T2 until its ACK, for 64 T1', async () => {
    const bench = new Bench();
    bench.asked('INVITE').respond(486);
    await bench.clock.advanceTo(40_000);
    expect(bench.times(486)).toEqual([0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]);
    expect([bench.transactions.size, bench.clock.pending]).toEqual([0, 0]);
  });

  it('I: after the ACK nothing is repeated, further ACKs are absorbed for T4', async () => {
    const bench = new Bench();
    bench.asked('INVITE').respond(486);
    await bench.clock.advanceTo(600);
    bench.transactions.receiveRequest(requestOf('ACK', { toTag: 'b2' }), UDP);
    await bench.clock.advanceTo(5000);
    bench.transactions.receiveRequest(requestOf('ACK', { toTag: 'b2' }), UDP);
    await bench.clock.advanceTo(6000);
    expect([bench.times(486), bench.acks, bench.clock.pending]).toEqual([[0, 500], [], 0]);
  });

  it('I and G are nought on a reliable transport', async () => {
    const bench = new Bench();
    bench.asked('INVITE', TCP).respond(486);
    await bench.clock.advanceTo(10_000);
    bench.transactions.receiveRequest(requestOf('ACK', { toTag: 'b2' }), TCP);
    await bench.clock.advanceTo(10_000);
    expect([bench.times(486), bench.transactions.size]).toEqual([[0], 0]);
  });

  it('L: repeated INVITEs are absorbed after a 2xx, whose repetition is its sender’s; its ACK goes to the dialog', async () => {
    const bench = new Bench();
    const { respond, again } = bench.asked('INVITE');
    respond(200);
    again();
    await bench.clock.advanceTo(400);
    respond(200);
    bench.transactions.receiveRequest(requestOf('ACK', { branch: 'z9hG4bKother', toTag: 'b2' }), UDP);
    await bench.clock.advanceTo(33_000);
    expect([bench.times(200), bench.acks.length, bench.requests.length]).toEqual([[0, 400], 1, 1]);
    expect(bench.clock.pending).toBe(0);
  });

  it('an INVITE that comes again is answered as it was last', () => {
    const bench = new Bench();
    const { respond, again } = bench.asked('INVITE');
    respond(100);
    again();
    respond(180);
    again();
    expect(bench.sent.map(({ message }) => message.kind === 'response' && message.status)).toEqual([
      100, 100, 180, 180,
    ]);
  });

  it('J: other requests that come again are answered alike for 64 T1', async () => {
    const bench = new Bench();
    const { respond, again } = bench.asked('OPTIONS');
    again();
    respond(200);
    again();
    await bench.clock.advanceTo(31_000);
    again();
    await bench.clock.advanceTo(32_100);
    expect([bench.times(200), bench.transactions.size]).toEqual([[0, 0, 31_000], 0]);
  });
});
