import { describe, expect, it } from 'vitest';
import { Headers } from '../../../../src/telephony/sip/headers.js';
import type { Hop } from '../../../../src/telephony/sip/hop.js';
import { NO_BODY, type SipRequest, type SipResponse } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { routed } from '../../../../src/telephony/sip/routes.js';
import { HOPS, phoneAt, place, Puppet, take, Wire } from '../support.js';

const SDP: [string, string] = ['content-type', 'application/sdp'];
const OFFER = Buffer.from('offer');

function routesOf({ uri, headers }: SipRequest): string[] {
  return [uri, ...(headers.values('route') ?? [])];
}

/** The proxy that a phone's calls pass, which answers everything as if the far end did. */
function callThrough(recordRoute: readonly string[], contact: string) {
  const wire = new Wire();
  const ann = phoneAt(wire, HOPS.ann, 1);
  const proxy = new Puppet(wire, HOPS.bob, (message, me, from) => {
    if (message.kind !== 'request' || message.method === 'ACK') return;
    const headers: [string, string][] = [
      ['contact', contact],
      ['allow', 'INVITE, ACK, BYE, UPDATE, REFER, PRACK'],
    ];
    if (message.method !== 'INVITE') return me.say(responseTo(message, 200, { headers }), from);
    const isFirst = !/tag=/.test(message.headers.get('to') ?? '');
    const answer = (status: number, more: [string, string][] = []): SipResponse => {
      const response = responseTo(message, status, {
        toTag: 'far',
        headers: [...headers, SDP, ...more],
        body: Buffer.from('answer'),
      });
      if (isFirst) for (const route of recordRoute) response.headers.add('record-route', route);
      return response;
    };
    if (isFirst) {
      me.say(
        answer(180, [
          ['require', '100rel'],
          ['rseq', '1'],
        ]),
        from,
      );
    }
    wire.clock.schedule(wire.clock.nowMs() + 40, () => me.say(answer(200), from));
  });
  const placed = place(ann, HOPS.bob, { target: 'sip:callee@domain.com' });
  return { wire, placed, proxy };
}

/** A call through proxies to a phone. */
function calledThrough(recordRoute: readonly string[]) {
  const wire = new Wire();
  const bob = phoneAt(wire, HOPS.bob, 2);
  const proxy = new Puppet(wire, HOPS.ann, (message, me, from) => {
    if (message.kind !== 'request' || message.method === 'ACK') return;
    const headers: [string, string][] = message.method === 'INVITE' ? [['contact', '<sip:caller@u1.example.com>']] : [];
    me.say(
      responseTo(message, 200, { headers: [...headers, SDP], body: message.method === 'INVITE' ? OFFER : NO_BODY }),
      from,
    );
  });
  const headers = new Headers([
    ['via', 'SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKa'],
    ...recordRoute.map((route) => ['record-route', route] as const),
    ['max-forwards', '68'],
    ['from', '<sip:caller@u1.example.com>;tag=near'],
    ['to', '<sip:callee@domain.com>'],
    ['call-id', 'trapezoid'],
    ['cseq', '1 INVITE'],
    ['contact', '<sip:caller@u1.example.com>'],
    ['allow', 'INVITE, ACK, BYE, UPDATE, REFER'],
    SDP,
  ]);
  const invite: SipRequest = { kind: 'request', method: 'INVITE', uri: 'sip:bob@192.0.2.2', headers, body: OFFER };
  proxy.say(invite, HOPS.bob);
  return { wire, bob, proxy, invite };
}

describe('a call through proxies that record their route', () => {
  it('sends all its requests along the route, last proxy first, as the caller (RFC 3261, 16.12.1.1)', async () => {
    const p1 = '<sip:192.0.2.2;lr>';
    const p2 = '<sip:p2.domain.com;lr>';
    const { wire, placed, proxy } = callThrough([`${p2}, ${p1}`], '<sip:callee@u2.domain.com>');
    await wire.clock.advanceBy(200);
    expect(placed.reported).toEqual(['ringing', 'answered']);
    const leg = placed.leg();
    const changed = leg.reoffer();
    await wire.clock.advanceBy(200);
    expect(await changed).toBe(true);
    void leg.refer('sip:other@domain.com', new AbortController().signal, 5000);
    await wire.clock.advanceBy(200);
    leg.bye();
    await wire.clock.advanceBy(200);
    const inDialog = proxy.got.filter((message) => message.kind === 'request').slice(1);
    expect(inDialog.map(({ method }) => method)).toEqual(['PRACK', 'ACK', 'INVITE', 'ACK', 'REFER', 'BYE']);
    for (const request of inDialog) expect(routesOf(request)).toEqual(['sip:callee@u2.domain.com', p1, p2]);
    expect(inDialog[2]?.headers.get('contact')).toBe('<sip:parley@192.0.2.1:5060>');
  });

  it('sends UPDATE along the route', async () => {
    const p1 = '<sip:192.0.2.2;lr>';
    const { wire, placed, proxy } = callThrough([p1], '<sip:callee@u2.domain.com>');
    await wire.clock.advanceBy(200);
    const leg = placed.leg();
    const answer = wire.last('200') as SipResponse;
    answer.headers.set('session-expires', '120;refresher=uac');
    leg.note(answer, true);
    await wire.clock.advanceBy(61_000);
    expect(proxy.requests('UPDATE').map(routesOf)).toEqual([['sip:callee@u2.domain.com', p1]]);
  });

  it('copies the route into its answers and sends along it, first proxy first, as the callee (12.1.1)', async () => {
    const p2 = '<sip:p2.domain.com;lr>';
    const p1 = '<sip:p1.example.com;lr>';
    const { wire, bob, proxy } = calledThrough([p2, p1]);
    await wire.clock.advanceBy(20);
    const taken = take(bob.calls[0] as never);
    await wire.clock.advanceBy(50);
    for (const status of ['180', '200']) expect(wire.last(status).headers.values('record-route')).toEqual([p2, p1]);
    const leg = bob.calls[0]?.leg;
    const answer = wire.last('200') as SipResponse;
    proxy.say(ackOf(answer), HOPS.bob);
    await wire.clock.advanceBy(20);
    const changed = leg?.reoffer();
    await wire.clock.advanceBy(100);
    expect(await changed).toBe(true);
    leg?.bye();
    await wire.clock.advanceBy(100);
    expect(taken.reported).toEqual(['ended by local: we hung up']);
    for (const method of ['INVITE', 'ACK', 'BYE']) {
      expect(proxy.requests(method).map(routesOf)).toEqual([['sip:caller@u1.example.com', p2, p1]]);
    }
  });

  it('keeps the route when the far end moves (12.2.1.2)', async () => {
    const p1 = '<sip:192.0.2.2;lr>';
    const { wire, placed, proxy } = callThrough([p1], '<sip:callee@u2.domain.com>');
    await wire.clock.advanceBy(200);
    const leg = placed.leg();
    leg.dialog.refresh(
      responseTo(wire.last('INVITE') as SipRequest, 200, { headers: [['contact', '<sip:moved@u3>']] }),
    );
    // The network repeats the answer: the far end is not back where it was.
    proxy.say(wire.last('200'), HOPS.ann);
    await wire.clock.advanceBy(50);
    leg.bye();
    await wire.clock.advanceBy(100);
    expect(proxy.requests('BYE').map(routesOf)).toEqual([['sip:moved@u3', p1]]);
  });

  it.each([
    ['names', { ...HOPS.bob, port: 5080 }, '<sip:192.0.2.2:5080;lr>', 1],
    ['may not name, but to where the call comes from', HOPS.eve, '<sip:203.0.113.9;lr>', 0],
  ])('sends to the address that the route %s', async (_which, hop: Hop, route, count) => {
    const { wire, placed, proxy } = callThrough([route], '<sip:callee@u2.domain.com>');
    const named = new Puppet(wire, hop, () => undefined);
    await wire.clock.advanceBy(200);
    placed.leg().bye();
    await wire.clock.advanceBy(100);
    expect([named.requests('BYE').length, proxy.requests('BYE').length]).toEqual([count, 1 - count]);
  });
});

describe('a strict router (RFC 3261, 12.2.1.1)', () => {
  it('in front is the Request-URI, and the target becomes the last route', async () => {
    const { wire, placed, proxy } = callThrough(
      ['<sip:p2.domain.com;lr>, <sip:192.0.2.2;method=INVITE?subject=x>'],
      '<sip:callee@u2.domain.com>',
    );
    await wire.clock.advanceBy(200);
    placed.leg().bye();
    await wire.clock.advanceBy(100);
    for (const method of ['PRACK', 'ACK', 'BYE']) {
      expect(proxy.requests(method).map(routesOf)).toEqual([
        ['sip:192.0.2.2', '<sip:p2.domain.com;lr>', '<sip:callee@u2.domain.com>'],
      ]);
    }
  });

  it('further on is for the loose routers before it to satisfy (16.12.1.2)', () => {
    const routes = ['<sip:p4.domain.com;lr>', '<sip:p3.middle.com>', '<sip:p1.example.com;lr>'];
    expect(routed('sip:caller@u1.example.com', routes)).toEqual({ uri: 'sip:caller@u1.example.com', routes });
  });
});

describe('an initial route set', () => {
  it('is in the INVITE, its CANCEL, and the ACK of a refusal', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const proxy = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method === 'ACK') return;
      me.say(responseTo(message, message.method === 'INVITE' ? 180 : 200, { toTag: 'f' }), from);
      const invite = me.requests('INVITE')[0];
      if (message.method === 'CANCEL' && invite !== undefined) me.say(responseTo(invite, 487, { toTag: 'f' }), from);
    });
    const routes = ['<sip:192.0.2.2;lr>', '<sip:home.example.com;lr>'];
    const placed = place(ann, HOPS.bob, { target: 'sip:callee@domain.com', routes });
    await wire.clock.advanceBy(50);
    placed.call.cancel();
    await wire.clock.advanceBy(50);
    for (const method of ['INVITE', 'CANCEL', 'ACK']) {
      expect(proxy.requests(method).map(routesOf)).toEqual([['sip:callee@domain.com', ...routes]]);
    }
  });
});

/** The far end's ACK of a 2xx. */
function ackOf(answer: SipResponse): SipRequest {
  const headers = new Headers([['via', 'SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKack']]);
  for (const name of ['from', 'to', 'call-id']) headers.add(name, answer.headers.get(name) ?? '');
  headers.add('cseq', '1 ACK').add('max-forwards', '70');
  return { kind: 'request', method: 'ACK', uri: 'sip:bob@192.0.2.2', headers, body: NO_BODY };
}
