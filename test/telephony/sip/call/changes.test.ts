import { describe, expect, it } from 'vitest';
import { Headers } from '../../../../src/telephony/sip/headers.js';
import { bodyText, NO_BODY, type SipRequest, messageBytes } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { connected, HOPS, phoneAt, place, Puppet, take, Wire } from '../support.js';

describe('changes within a call', () => {
  it('a re-INVITE changes the media, whoever sends it', async () => {
    const { wire, annLeg, bobLeg, placed, taken } = await connected();
    const changed = annLeg.reoffer();
    await wire.clock.advanceBy(100);
    expect(await changed).toBe(true);
    expect(taken.media.reported.at(-1)).toBe('answer offer 2 of ann');
    const back = bobLeg.reoffer();
    await wire.clock.advanceBy(100);
    expect(await back).toBe(true);
    expect(placed.media.reported.at(-1)).toBe('answer offer 1 of bob');
    expect(wire.said).toBe('INVITE 100 180 200 ACK INVITE 200 ACK INVITE 200 ACK');
  });

  it('two that meet are both refused, and come about one after the other', async () => {
    const { wire, annLeg, bobLeg, placed } = await connected();
    const both = Promise.all([annLeg.reoffer(), bobLeg.reoffer()]);
    await wire.clock.advanceBy(30);
    expect(wire.times('491')).toHaveLength(2);
    await wire.clock.advanceBy(10_000);
    expect(await both).toEqual([true, true]);
    expect(placed.media.reported).toContain('rollback');
    // Who has made the call waits for longer (RFC 3261, 14.1).
    const again = wire.log.find(({ what, atMs }) => what === 'INVITE' && atMs > 200);
    expect(again?.from).toBe(HOPS.bob.address);
  });

  it('one that cannot be taken leaves the call as it was', async () => {
    const { wire, placed, annLeg, taken } = await connected();
    placed.media.offer = () => 'nothing';
    const changed = annLeg.reoffer();
    await wire.clock.advanceBy(200);
    expect(await changed).toBe(false);
    expect([wire.times('488').length, taken.reported, annLeg.isOver]).toEqual([1, [], false]);
  });

  it('a call that the other side knows nothing of any more is over', async () => {
    const { wire, placed, annLeg, bob } = await connected();
    bob.agent.close();
    new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind === 'request' && message.method !== 'ACK') me.say(responseTo(message, 481), from);
    });
    void annLeg.reoffer();
    await wire.clock.advanceBy(100);
    expect(placed.reported.at(-1)).toBe('ended by network: 481 Call/Transaction Does Not Exist');
  });

  it('a request out of its order is refused, REFER too', async () => {
    const { wire, bob } = await connected();
    const bye = wire.last('INVITE') as SipRequest;
    const ack = wire.last('ACK') as SipRequest;
    const ask = async (method: string, sequence: number, extra: [string, string][] = []): Promise<number> => {
      const headers = ack.headers.copy();
      headers.set('via', `SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK${method}${String(sequence)};rport`);
      headers.set('cseq', `${String(sequence)} ${method}`);
      for (const [name, value] of extra) headers.add(name, value);
      const { log } = wire;
      const before = log.length;
      bob.agent.receive(bytesOf({ ...ack, method, headers }), HOPS.ann);
      await wire.clock.advanceBy(1);
      const answer = log[before]?.message;
      return answer?.kind === 'response' ? answer.status : 0;
    };
    expect(bye.method).toBe('INVITE');
    expect(await ask('INFO', 1)).toBe(500);
    expect(await ask('REFER', 5, [['refer-to', '<sip:+19005550100@example.com>']])).toBe(603);
    expect(await ask('SUBSCRIBE', 6)).toBe(405);
    expect(await ask('NOTIFY', 7, [['event', 'presence']])).toBe(489);
    expect(await ask('OPTIONS', 8)).toBe(200);
  });
});

describe('the session timer', () => {
  it('refreshes at half the interval, with UPDATE, and ends a call that is not refreshed', async () => {
    const { wire, placed, taken } = await connected();
    // It was offered with 1800 s, and the caller refreshes.
    await wire.clock.advanceBy(901_000);
    expect(wire.times('UPDATE')).toHaveLength(1);
    wire.passes = () => false;
    await wire.clock.advanceBy(1_900_000);
    expect(placed.reported.at(-1)).toContain('ended by network');
    expect(taken.reported).toEqual(['ended by network: no session refresh came']);
  });

  it('takes a longer one where the other side wants it', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const puppet = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method !== 'INVITE') return;
      me.say(responseTo(message, 422, { toTag: 'x', headers: [['min-se', '3600']] }), from);
    });
    place(ann, HOPS.bob);
    await wire.clock.advanceBy(1000);
    const [first, second] = puppet.requests('INVITE');
    expect(first?.headers.get('session-expires')).toBe('1800');
    expect([second?.headers.get('session-expires'), second?.headers.get('min-se')]).toEqual(['3600', '3600']);
    expect(puppet.requests('INVITE')).toHaveLength(2);
  });
});

describe('handing on', () => {
  /** Bob, who takes a REFER and tells what becomes of it. */
  async function referred(lines: readonly string[], answer = 202) {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const puppet = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method === 'ACK') return;
      if (message.method === 'INVITE') return me.say(answerTo(message), from);
      if (message.method !== 'REFER') return me.say(responseTo(message, 200), from);
      me.say(responseTo(message, answer), from);
      for (const [index, line] of lines.entries()) me.say(notifyOf(message, index + 1, line), from);
    });
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(100);
    const outcome = placed.leg().refer('sip:+12025550166@example.com', new AbortController().signal, 60_000);
    await wire.clock.advanceBy(100);
    return { wire, puppet, placed, outcome };
  }

  it('is done when the target has answered', async () => {
    const { outcome, puppet } = await referred(['SIP/2.0 100 Trying', 'SIP/2.0 200 OK']);
    expect(await outcome).toEqual({ kind: 'done' });
    const [refer] = puppet.requests('REFER');
    expect(refer?.headers.get('refer-to')).toBe('<sip:+12025550166@example.com>');
    expect(refer?.headers.get('referred-by')).toBe('<sip:ann@example.com>');
  });

  it('tells the status of a target that did not take it', async () => {
    const { outcome } = await referred(['SIP/2.0 100 Trying', 'SIP/2.0 486 Busy Here']);
    expect(await outcome).toEqual({ kind: 'failed', status: 486 });
  });

  it('is refused by who does not do such things', async () => {
    const { outcome } = await referred([], 405);
    expect(await outcome).toEqual({ kind: 'refused', status: 405 });
  });

  it('is silent where nothing is heard of it', async () => {
    const { outcome, wire } = await referred(['SIP/2.0 100 Trying']);
    await wire.clock.advanceBy(61_000);
    expect(await outcome).toEqual({ kind: 'silent' });
  });
});

describe('Replaces', () => {
  it('means the call that it names, and nothing else', async () => {
    const { wire, annLeg, bob, ann } = await connected();
    place(ann, HOPS.bob, { headers: [['replaces', annLeg.dialog.replaces]] });
    await wire.clock.advanceBy(50);
    const second = bob.calls[1];
    expect(second?.replaces).toBe(bob.calls[0]?.leg);
    const wrong = place(ann, HOPS.bob, { headers: [['replaces', `${annLeg.dialog.callId};to-tag=no;from-tag=no`]] });
    await wire.clock.advanceBy(50);
    expect(wrong.reported[0]).toContain('481');
    const early = place(ann, HOPS.bob, { headers: [['replaces', `${annLeg.dialog.replaces};early-only`]] });
    await wire.clock.advanceBy(50);
    expect(early.reported[0]).toContain('486');
  });
});

it('a BYE that meets one of ours is answered with 200', async () => {
  const { wire, annLeg, bobLeg, ann, bob } = await connected();
  const before = wire.times('200').length;
  annLeg.bye();
  bobLeg.bye();
  await wire.clock.advanceBy(100);
  expect([wire.times('BYE').length, wire.times('200').length - before, wire.times('481').length]).toEqual([2, 2, 0]);
  await wire.clock.advanceBy(60_000);
  expect([ann.agent.dialogs, bob.agent.dialogs, wire.clock.pending]).toEqual([0, 0, 0]);
});

describe('calls with one Call-ID', () => {
  it('are distinguished by their tags, also after one of them is over', async () => {
    const wire = new Wire();
    const bob = phoneAt(wire, HOPS.bob, 2);
    const puppet = new Puppet(wire, HOPS.ann, () => undefined);
    const invite = (fromTag: string, replaces?: string): void => {
      const headers = new Headers([
        ['via', `SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK${fromTag}`],
        ['from', `<sip:ann@example.com>;tag=${fromTag}`],
        ['to', '<sip:bob@example.com>'],
        ['call-id', 'shared'],
        ['cseq', '1 INVITE'],
        ['contact', '<sip:ann@192.0.2.1>'],
      ]);
      if (replaces !== undefined) headers.add('replaces', replaces);
      puppet.say({ kind: 'request', method: 'INVITE', uri: 'sip:bob@192.0.2.2', headers, body: NO_BODY }, HOPS.bob);
    };
    for (const tag of ['a', 'b']) invite(tag);
    await wire.clock.advanceBy(50);
    const [first, second] = bob.calls;
    for (const call of [first, second]) if (call !== undefined) take(call);
    second?.leg?.bye();
    await wire.clock.advanceBy(50);
    invite('c', `shared;to-tag=${first?.localTag ?? ''};from-tag=a`);
    await wire.clock.advanceBy(50);
    expect(bob.calls[2]?.replaces).toBe(first?.leg);
    expect(first?.leg?.isOver).toBe(false);
  });
});

describe('reliable provisional responses', () => {
  it('are repeated until their PRACK', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2);
    let pracks = 0;
    wire.passes = (message) => !(message.kind === 'request' && message.method === 'PRACK' && ++pracks < 3);
    const placed = place(ann, HOPS.bob, { headers: [['require', '100rel']] });
    await wire.clock.advanceBy(50);
    take(bob.calls[0] as never, 'ringing');
    await wire.clock.advanceBy(4000);
    expect(wire.times('180').length).toBeGreaterThan(1);
    expect(wire.last('PRACK').headers.get('rack')).toMatch(/^\d+ 1 INVITE$/);
    const rings = wire.times('180').length;
    await wire.clock.advanceBy(30_000);
    expect(wire.times('180')).toHaveLength(rings);
    bob.calls[0]?.answer();
    await wire.clock.advanceBy(100);
    expect(placed.reported).toEqual(['ringing', 'answered']);
  });

  it('are acknowledged after the answer, too', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2);
    const held: SipRequest[] = [];
    wire.passes = (message) => {
      if (message.kind !== 'request' || message.method !== 'PRACK' || held.length > 0) return true;
      held.push(message);
      return false;
    };
    const placed = place(ann, HOPS.bob, { headers: [['require', '100rel']] });
    await wire.clock.advanceBy(50);
    take(bob.calls[0] as never);
    await wire.clock.advanceBy(100);
    wire.send(messageBytes(held[0] as SipRequest), HOPS.ann, HOPS.bob);
    await wire.clock.advanceBy(100);
    expect([wire.times('405'), wire.times('481')]).toEqual([[], []]);
    expect(wire.last('200').headers.get('cseq')).toMatch(/ PRACK$/);
    expect(placed.reported).toEqual(['ringing', 'answered']);
  });

  it('that are never acknowledged end the call: 504', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2);
    wire.passes = (message) => message.kind === 'response' || message.method !== 'PRACK';
    const placed = place(ann, HOPS.bob, { headers: [['require', '100rel']] });
    await wire.clock.advanceBy(50);
    take(bob.calls[0] as never, 'ringing');
    await wire.clock.advanceBy(40_000);
    expect(placed.reported).toEqual(['ringing', 'failed 504 No PRACK']);
  });

  it('a call that rings for long says so every minute', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2);
    place(ann, HOPS.bob);
    await wire.clock.advanceBy(50);
    take(bob.calls[0] as never, 'ringing');
    await wire.clock.advanceBy(150_000);
    expect(wire.times('180')).toHaveLength(3);
  });
});

describe('keys as INFO', () => {
  it.each([
    ['application/dtmf-relay', 'Signal=5\r\nDuration=160\r\n', 'keys 5'],
    ['application/dtmf-relay', 'Signal= 10\r\n', 'keys *'],
    ['application/dtmf', '#', 'keys #'],
  ])('%s %j', async (type, body, reported) => {
    const { wire, bob, taken } = await connected();
    const ack = wire.last('ACK') as SipRequest;
    const headers = ack.headers.copy();
    headers.set('via', 'SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKinfo;rport').set('cseq', '9 INFO');
    headers.add('content-type', type);
    bob.agent.receive(bytesOf({ ...ack, method: 'INFO', headers, body: Buffer.from(body) }), HOPS.ann);
    expect(taken.reported).toEqual([reported]);
    expect(bodyText(ack)).toBe('');
  });
});

function bytesOf(request: SipRequest): Uint8Array {
  return messageBytes(request);
}

function answerTo(invite: SipRequest) {
  return responseTo(invite, 200, {
    toTag: 'b',
    headers: [
      ['contact', '<sip:bob@192.0.2.2>'],
      ['allow', 'INVITE, ACK, BYE, REFER, NOTIFY'],
      ['content-type', 'application/sdp'],
    ],
    body: Buffer.from('answer of bob'),
  });
}

function notifyOf(refer: SipRequest, sequence: number, line: string): SipRequest {
  const headers = new Headers([
    ['via', `SIP/2.0/UDP 192.0.2.2:5060;branch=z9hG4bKn${String(sequence)};rport`],
    ['from', refer.headers.get('to') ?? ''],
    ['to', refer.headers.get('from') ?? ''],
    ['call-id', refer.headers.get('call-id') ?? ''],
    ['cseq', `${String(sequence)} NOTIFY`],
    ['contact', '<sip:bob@192.0.2.2>'],
    ['event', 'refer'],
    ['subscription-state', line.includes(' 100 ') ? 'active;expires=60' : 'terminated;reason=noresource'],
    ['content-type', 'message/sipfrag;version=2.0'],
  ]);
  return { kind: 'request', method: 'NOTIFY', uri: 'sip:ann@192.0.2.1', headers, body: Buffer.from(`${line}\r\n`) };
}
