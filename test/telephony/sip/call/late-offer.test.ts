import { describe, expect, it } from 'vitest';
import { Headers } from '../../../../src/telephony/sip/headers.js';
import { bodyText, type SipRequest, tagOf } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { HOPS, phoneAt, Puppet, take, TestMedia, Wire } from '../support.js';

/** Ann, who offers nothing in her INVITE, and what her ACK says. */
async function offered(answer: string | null) {
  const wire = new Wire();
  const bob = phoneAt(wire, HOPS.bob, 2);
  const ann = new Puppet(wire, HOPS.ann, (message, me, from) => {
    if (message.kind === 'request') me.say(responseTo(message, 200), from);
    else if (message.status === 200) {
      const ack = requestOf('ACK', tagOf(message, 'to'));
      if (answer === null) return me.say(ack, from);
      ack.headers.add('content-type', 'application/sdp');
      me.say({ ...ack, body: Buffer.from(answer) }, from);
    }
  });
  ann.say(requestOf('INVITE', null), HOPS.bob);
  await wire.clock.advanceBy(50);
  const [call] = bob.calls;
  if (call === undefined) throw new Error('no call came');
  const taken = take(call);
  return { wire, ann, bob, call, taken };
}

function requestOf(method: 'INVITE' | 'ACK', toTag: string | null): SipRequest {
  const headers = new Headers([
    ['via', `SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK${method}`],
    ['max-forwards', '70'],
    ['from', '<sip:ann@192.0.2.1>;tag=ann'],
    ['to', `<sip:bob@192.0.2.2>${toTag === null ? '' : `;tag=${toTag}`}`],
    ['call-id', 'late'],
    ['cseq', `1 ${method}`],
    ['contact', '<sip:ann@192.0.2.1>'],
  ]);
  return { kind: 'request', method, uri: 'sip:bob@192.0.2.2', headers, body: Buffer.alloc(0) };
}

describe('a call whose INVITE offers nothing', () => {
  it('is answered with an offer, and begins with the answer in the ACK', async () => {
    const { wire, ann, bob, call, taken } = await offered('v=0 of ann');
    expect(taken.answers).toBe(0);
    await wire.clock.advanceBy(100);
    const ok = ann.got.find((message) => message.kind === 'response' && message.status === 200);
    expect(ok && bodyText(ok)).toBe('offer 1 of bob');
    expect([taken.answers, taken.reported]).toEqual([1, []]);
    expect(taken.media.reported).toEqual(['accept v=0 of ann']);
    expect([bob.refused, call.leg?.isOver]).toEqual([[], false]);
  });

  it.each([
    ['no answer', null, 'the answer to our offer describes no media'],
    ['media that are of no use', 'nothing', 'nothing'],
  ])('is ended with a reason, and counted, where the ACK brings %s', async (_name, answer, why) => {
    const { wire, ann, bob, taken } = await offered(answer);
    await wire.clock.advanceBy(100);
    expect(taken.answers).toBe(0);
    expect(taken.reported).toEqual([expect.stringMatching(/^ended by network: 488 Not Acceptable Here: /)]);
    expect(taken.reported[0]).toContain(why);
    expect(bob.refused).toEqual([expect.stringMatching(`^488 .*${why}`)]);
    const [bye, ...more] = ann.requests('BYE');
    expect(more).toEqual([]);
    expect(bye?.headers.get('reason')).toMatch(/^SIP;cause=488;text="488 Not Acceptable Here: /);
    expect(bye?.headers.get('reason')).toContain(why);
    await wire.clock.advanceBy(60_000);
    expect([bob.agent.dialogs, bob.agent.transactions, wire.clock.pending]).toEqual([0, 0, 0]);
  });

  it('whose change is acknowledged without an answer ends, and is no refused call', async () => {
    const { wire, ann, bob, call, taken } = await offered('v=0 of ann');
    await wire.clock.advanceBy(100);
    const change = requestOf('INVITE', call.localTag);
    change.headers.set('cseq', '2 INVITE').set('via', 'SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKchange');
    ann.say(change, HOPS.bob);
    await wire.clock.advanceBy(30);
    const ack = requestOf('ACK', call.localTag);
    ack.headers.set('cseq', '2 ACK');
    ann.say(ack, HOPS.bob);
    await wire.clock.advanceBy(100);
    expect([taken.answers, taken.reported.length]).toEqual([1, 1]);
    expect(taken.reported[0]).toContain('488 Not Acceptable Here');
    expect(bob.refused).toEqual([]);
  });
});

it('a BYE of ours says why the call ends', async () => {
  const { wire, ann, call, taken } = await offered('v=0 of ann');
  await wire.clock.advanceBy(100);
  call.leg?.bye();
  await wire.clock.advanceBy(100);
  expect(ann.requests('BYE')[0]?.headers.get('reason')).toBe('Q.850;cause=16;text="Normal call clearing"');
  expect(taken.reported.at(-1)).toBe('ended by local: we hung up');
});

it('media of a call that has an offer are agreed upon with the answer', async () => {
  const wire = new Wire();
  const bob = phoneAt(wire, HOPS.bob, 2);
  const ann = new Puppet(wire, HOPS.ann, () => undefined);
  const invite = requestOf('INVITE', null);
  invite.headers.add('content-type', 'application/sdp');
  ann.say({ ...invite, body: Buffer.from(new TestMedia('ann').offer()) }, HOPS.bob);
  await wire.clock.advanceBy(50);
  expect(bob.calls.map((call) => take(call).answers)).toEqual([1]);
});
