import { describe, expect, it } from 'vitest';
import { topVia } from '../../../../src/telephony/sip/message.js';
import { Bench, requestOf, TCP, UDP } from './support.js';

describe('which message belongs to which transaction', () => {
  it('branches that are no unique ones are matched by the request itself', () => {
    const bench = new Bench();
    for (const branch of ['z9hG4bK', 'z9hG4bK', 'old']) {
      bench.transactions.receiveRequest(requestOf('INVITE', { branch }), UDP);
    }
    expect(bench.requests).toHaveLength(1);
  });

  it('a copy that came another way is refused: 482', () => {
    const bench = new Bench();
    bench.transactions.receiveRequest(requestOf('INVITE'), UDP);
    bench.transactions.receiveRequest(requestOf('INVITE', { branch: 'z9hG4bKtwo' }), UDP);
    expect([bench.requests.length, bench.times(482)]).toEqual([1, [0]]);
  });

  it('answers go back to where a request came from, as RFC 3581 has it', () => {
    const bench = new Bench();
    const behindNat = requestOf('OPTIONS');
    behindNat.headers.set('via', 'SIP/2.0/UDP 10.0.0.9:5062;branch=z9hG4bKn;rport');
    bench.transactions.receiveRequest(behindNat, { ...UDP, port: 40_000 });
    const via = topVia(behindNat);
    expect(via).toMatchObject({ host: '10.0.0.9', port: 5062 });
    expect([via?.parameters.get('rport'), via?.parameters.get('received')]).toEqual(['40000', '192.0.2.7']);
  });

  it('CANCEL finds its INVITE, and nothing else', () => {
    const bench = new Bench();
    const { server } = bench.asked('INVITE');
    bench.transactions.receiveRequest(requestOf('CANCEL'), UDP);
    expect(bench.requests.at(-1)).toMatchObject({ request: { method: 'CANCEL' }, server });
    expect(bench.times(200)).toEqual([0]);
    bench.transactions.receiveRequest(requestOf('CANCEL', { branch: 'z9hG4bKnobody', sequence: 9 }), UDP);
    expect(bench.times(481)).toEqual([0]);
  });

  it('a CANCEL that comes after the answer changes nothing', () => {
    const bench = new Bench();
    bench.asked('INVITE').respond(200);
    bench.transactions.receiveRequest(requestOf('CANCEL'), UDP);
    expect(bench.requests).toHaveLength(1);
  });

  it('a transport that fails ends what waits for it, once', () => {
    const bench = new Bench();
    const one = bench.ask('INVITE', TCP);
    const other = bench.ask('INVITE', UDP);
    bench.transactions.transportFailed(TCP);
    expect([one.reported, other.reported]).toEqual([['transport'], []]);
    bench.transactions.close();
    bench.transactions.close();
    expect([bench.transactions.size, bench.clock.pending]).toEqual([0, 0]);
  });

  it('there are no more than so many', () => {
    const bench = new Bench(2);
    for (const sequence of [1, 2, 3]) {
      bench.transactions.receiveRequest(requestOf('OPTIONS', { sequence, branch: `z9hG4bK${String(sequence)}` }), UDP);
    }
    expect([bench.requests.length, bench.dropped]).toEqual([2, ['too-many']]);
  });
});
