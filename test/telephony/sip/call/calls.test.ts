import { describe, expect, it } from 'vitest';
import { connected, HOPS, phoneAt, place, Puppet, take, Wire } from '../support.js';
import { Headers } from '../../../../src/telephony/sip/headers.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { bodyText } from '../../../../src/telephony/sip/message.js';

function two() {
  const wire = new Wire();
  return { wire, ann: phoneAt(wire, HOPS.ann, 1), bob: phoneAt(wire, HOPS.bob, 2) };
}

describe('a call', () => {
  it('is placed, rings, is answered and ended', async () => {
    const { wire, placed, taken, annLeg, ann, bob } = await connected();
    expect(wire.said).toBe('INVITE 100 180 200 ACK');
    expect(placed.reported).toEqual(['ringing', 'answered']);
    expect([placed.media.reported, taken.media.reported]).toEqual([
      ['accept answer of bob'],
      ['answer offer 1 of ann'],
    ]);
    annLeg.bye();
    await wire.clock.advanceBy(100);
    expect(taken.reported).toEqual(['ended by remote: Q.850;cause=16;text="Normal call clearing"']);
    expect(placed.reported.at(-1)).toBe('ended by local: we hung up');
    await wire.clock.advanceBy(60_000);
    expect([ann.agent.dialogs, bob.agent.dialogs, ann.agent.transactions, bob.agent.transactions]).toEqual([
      0, 0, 0, 0,
    ]);
    expect(wire.clock.pending).toBe(0);
  });

  it('comes about though every other message is lost', async () => {
    const { wire, ann, bob } = two();
    let sent = 0;
    wire.passes = () => ++sent % 2 === 0;
    const placed = place(ann, HOPS.bob);
    await wire.clock.runUntil(() => bob.calls.length === 1, 10_000);
    take(bob.calls[0] as never);
    await wire.clock.runUntil(() => placed.reported.includes('answered'), 60_000);
    await wire.clock.advanceBy(5000);
    placed.leg().bye();
    await wire.clock.advanceBy(60_000);
    expect([bob.calls.length, placed.reported.filter((what) => what === 'answered').length]).toEqual([1, 1]);
    expect([ann.agent.dialogs, bob.agent.dialogs]).toEqual([0, 0]);
  });

  it('whose answer is never acknowledged is ended', async () => {
    const { wire, ann, bob } = two();
    wire.passes = (message) => message.kind === 'response' || message.method !== 'ACK';
    place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    const { reported } = take(bob.calls[0] as never);
    await wire.clock.advanceBy(31_000);
    expect(wire.times('200').length).toBe(10);
    await wire.clock.advanceBy(2000);
    expect(reported).toEqual(['ended by network: the answer was not acknowledged']);
    expect(wire.said).toContain('BYE');
  });

  it.each([
    [486, 'failed 486 Busy Here'],
    [603, 'failed 603 Decline'],
    [404, 'failed 404 Not Found'],
  ])('that is refused with %i says so', async (status, reported) => {
    const { wire, ann, bob } = two();
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    take(bob.calls[0] as never, 'ringing');
    bob.calls[0]?.reject(status);
    await wire.clock.advanceBy(60_000);
    expect(placed.reported).toEqual(['ringing', reported]);
    expect(placed.failure().status).toBe(status);
    expect(wire.clock.pending).toBe(0);
  });

  it('is cancelled while it rings', async () => {
    const { wire, ann, bob } = two();
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    const { reported } = take(bob.calls[0] as never, 'ringing');
    await wire.clock.advanceBy(50);
    placed.call.cancel();
    await wire.clock.advanceBy(60_000);
    expect(wire.said).toBe('INVITE 100 180 CANCEL 200 487 ACK');
    expect(reported).toEqual(['ended by remote: 487 Request Terminated']);
    expect(placed.failure()).toMatchObject({ status: 487, isCancelled: true });
    expect([wire.clock.pending, ann.agent.dialogs, bob.agent.dialogs]).toEqual([0, 0, 0]);
  });

  it('is not cancelled before the other side has given a sign', async () => {
    const { wire, ann } = two();
    wire.passes = (_message, from) => from.address === HOPS.bob.address;
    const placed = place(ann, HOPS.bob);
    placed.call.cancel();
    await wire.clock.advanceBy(20_000);
    expect(wire.times('CANCEL')).toEqual([]);
    await wire.clock.advanceBy(60_000);
    expect(placed.reported).toHaveLength(1);
    expect(wire.clock.pending).toBe(0);
  });

  it('that is answered as it is given up is ended', async () => {
    const { wire, ann, bob } = two();
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    const { reported } = take(bob.calls[0] as never);
    placed.call.cancel();
    await wire.clock.advanceBy(60_000);
    expect(placed.reported.at(-1)).toContain('failed');
    expect(reported).toEqual(['ended by remote: BYE']);
    expect(wire.clock.pending).toBe(0);
  });

  it('from unknown callers, and for unknown methods, is refused as the RFC says', async () => {
    const { wire, ann, bob } = two();
    const ask = async (headers: [string, string][]) => {
      const placed = place(ann, HOPS.bob, { headers });
      await wire.clock.advanceBy(100);
      return placed.reported;
    };
    expect(await ask([['require', 'nothing']])).toEqual(['failed 420 Bad Extension']);
    expect(await ask([['accept', 'text/plain']])).toEqual(['failed 406 Not Acceptable']);
    expect(await ask([['content-encoding', 'gzip']])).toEqual(['failed 415 Unsupported Media Type']);
    expect(await ask([['replaces', 'a;to-tag=b;from-tag=c']])).toEqual(['failed 481 Call/Transaction Does Not Exist']);
    expect(bob.calls).toHaveLength(0);
  });

  it('without an offer gets one in the answer, and its answer in the ACK', async () => {
    const { wire, bob } = two();
    const puppet = new Puppet(wire, HOPS.ann, (message, me, from) => {
      if (message.kind === 'response' && message.status === 200) {
        const ack = messageLike(message, 'ACK');
        ack.headers.add('content-type', 'application/sdp');
        me.say({ ...ack, body: Buffer.from('answer of puppet') }, from);
      }
    });
    puppet.say(inviteWithout(), HOPS.bob);
    await wire.clock.advanceBy(50);
    const { media, reported } = take(bob.calls[0] as never);
    await wire.clock.advanceBy(50);
    expect(bodyText(wire.last('200'))).toBe('offer 1 of bob');
    expect(media.reported).toEqual(['accept answer of puppet']);
    await wire.clock.advanceBy(40_000);
    expect(reported).toEqual([]);
  });

  it.each([
    ['media that are of no use', 'nothing', 'nothing'],
    ['no media', '', 'the answer describes no media'],
  ])('that is answered with %s has failed, and is ended', async (_name, body, reason) => {
    const { wire, ann } = two();
    const puppet = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method === 'ACK') return;
      const headers: [string, string][] = [
        ['contact', '<sip:x@192.0.2.2>'],
        ['content-type', 'application/sdp'],
      ];
      me.say(responseTo(message, 200, { toTag: 'one', headers, body: Buffer.from(body) }), from);
    });
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(1000);
    expect(placed.reported).toHaveLength(1);
    expect(placed.failure()).toMatchObject({ status: 488, isCancelled: false });
    expect(placed.failure().reason).toContain('answered without usable media');
    expect(placed.failure().reason).toContain(reason);
    expect(puppet.requests('ACK')).toHaveLength(1);
    expect(puppet.requests('BYE').map(({ headers }) => headers.get('reason'))).toEqual([
      'SIP;cause=488;text="Not Acceptable Here"',
    ]);
    await wire.clock.advanceBy(60_000);
    expect([ann.agent.dialogs, ann.agent.transactions]).toEqual([0, 0]);
  });

  it('that is forked keeps the first answer and ends the second', async () => {
    const { wire, ann } = two();
    const puppet = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method === 'ACK') return;
      if (message.method === 'BYE') return me.say(responseTo(message, 200), from);
      const answer = (toTag: string, body: string) =>
        responseTo(message, 200, {
          toTag,
          headers: [
            ['contact', '<sip:x@192.0.2.2>'],
            ['content-type', 'application/sdp'],
          ],
          body: Buffer.from(body),
        });
      me.say(answer('one', 'first'), from);
      me.say(answer('two', 'second'), from);
    });
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(1000);
    expect(puppet.requests('ACK').map(({ headers }) => headers.get('to'))).toEqual([
      '<sip:bob@example.com>;tag=one',
      '<sip:bob@example.com>;tag=two',
    ]);
    expect(puppet.requests('BYE').map(({ headers }) => headers.get('to'))).toEqual(['<sip:bob@example.com>;tag=two']);
    expect([placed.reported, placed.media.reported]).toEqual([['answered'], ['accept first']]);
  });
});

function inviteWithout() {
  return messageLike(null, 'INVITE');
}

/** A request of a puppet's. */
function messageLike(of: { headers: { get(name: string): string | undefined } } | null, method: string) {
  const headers = new Headers();
  headers.add('via', `SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK${method}1;rport`);
  headers.add('from', '<sip:puppet@example.com>;tag=p');
  headers.add('to', of?.headers.get('to') ?? '<sip:bob@example.com>');
  headers.add('call-id', 'puppet').add('cseq', `1 ${method}`).add('contact', '<sip:puppet@192.0.2.1>');
  return { kind: 'request' as const, method, uri: 'sip:bob@192.0.2.2', headers, body: new Uint8Array(0) };
}
