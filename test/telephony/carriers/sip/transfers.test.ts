import { describe, expect, it, vi } from 'vitest';
import type { SipCarrierOptions } from '../../../../src/telephony/carriers/sip/carrier.js';
import type { SipCall } from '../../../../src/telephony/carriers/sip/call.js';
import type { Leg } from '../../../../src/telephony/sip/call/leg.js';
import { Headers } from '../../../../src/telephony/sip/headers.js';
import { type SipRequest, messageBytes } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import type { TransferOutcome } from '../../../../src/transports/transport.js';
import { HOPS } from '../../sip/support.js';
import { NUMBERS, openRig, OWN } from './support.js';

const CALLER = '+12025550177';

type Rig = Awaited<ReturnType<typeof openRig>>;

/** A call that came in and is answered. */
async function caller(rig: Rig, headers: [string, string][] = [], from = CALLER): Promise<SipCall> {
  const calls: SipCall[] = [];
  rig.carrier.receiveCalls((call) => {
    calls.push(call);
    call.answer();
  });
  await rig.exchange.callIn(OWN, headers, OWN, from);
  await rig.until(() => calls[0]?.state === 'answered');
  await rig.wire.clock.advanceBy(500);
  return calls[0] as SipCall;
}

/** The INVITE that a transfer over a second call sends to the target. */
async function inviteOf(options: Partial<SipCarrierOptions>, ...of: [headers?: [string, string][], from?: string]) {
  const rig = await openRig({ ...options, transfer: 'bridge' });
  const call = await caller(rig, ...of);
  const transferred = call.line.transfer?.(NUMBERS.person, new AbortController().signal);
  await rig.until(() => rig.carrier.calls.size === 2 && rig.wire.last('INVITE').kind === 'request');
  await rig.wire.clock.advanceBy(2000);
  expect(await transferred).toEqual({ ok: true });
  const invite = rig.wire.log.findLast(({ what, from }) => what === 'INVITE' && from === HOPS.ann.address);
  await rig.dispose();
  if (invite === undefined) throw new Error('the target was not called');
  return (invite.message as SipRequest).headers;
}

describe('the target of a transfer over a second call', () => {
  it('is shown our number, unless the trunk says otherwise', async () => {
    const headers = await inviteOf({});
    expect(headers.get('from')).toContain(`<sip:${OWN}@trunk.example.com;user=phone>`);
    expect([headers.has('diversion'), headers.has('p-asserted-identity')]).toEqual([false, false]);
  });

  it('is shown the caller, and who has diverted the call', async () => {
    const headers = await inviteOf({ transferFrom: 'caller', identity: 'asserted', displayName: 'The Fork' });
    expect(headers.get('from')).toMatch(/^<sip:\+12025550177@trunk\.example\.com;user=phone>;tag=/);
    expect(headers.get('p-asserted-identity')).toBe('<sip:+12025550177@trunk.example.com;user=phone>');
    expect(headers.get('diversion')).toBe(
      '"The Fork" <sip:+12025550199@trunk.example.com;user=phone>;reason=unconditional',
    );
  });

  it('sends the caller in addition to the calling account', async () => {
    const headers = await inviteOf({ fromUser: 'account', user: 'acme', identity: 'asserted' });
    expect(headers.get('from')).toContain('<sip:acme@trunk.example.com>');
    expect(headers.get('p-asserted-identity')).toContain('sip:+12025550177@');
    expect(headers.has('diversion')).toBe(false);
  });

  it.each([
    [
      'withholds the number',
      [['privacy', 'id'] as const, ['p-asserted-identity', `<sip:${CALLER}@192.0.2.2>`] as const],
    ],
    ['says none', []],
  ])('is shown our number for a caller who %s', async (_name, headers) => {
    const sent = await inviteOf(
      { transferFrom: 'caller', identity: 'asserted' },
      headers.map(([a, b]) => [a, b]),
      'anonymous',
    );
    expect([sent.get('from'), sent.get('p-asserted-identity')]).toEqual([
      expect.stringContaining(`sip:${OWN}@`),
      expect.stringContaining(`sip:${OWN}@`),
    ]);
    expect(sent.has('diversion')).toBe(false);
  });
});

/** The PBX takes the REFER, and tells by NOTIFY what becomes of it. */
async function referred(line: string, keepsCaller: boolean, transfer: 'auto' | 'refer' = 'auto') {
  const rig = await openRig({ transfer });
  const call = await caller(rig);
  const [{ leg } = { leg: null }] = rig.carrier.calls;
  vi.spyOn(leg as Leg, 'allows').mockReturnValue(true);
  rig.wire.passes = (message, _from, to) => {
    if (message.kind !== 'request' || message.method !== 'REFER') return true;
    rig.wire.send(messageBytes(responseTo(message, 202)), to, HOPS.ann);
    if (!keepsCaller) void rig.exchange.calls[0]?.media.close();
    const notify = notifyOf(message, line);
    rig.wire.clock.schedule(rig.wire.clock.nowMs() + 2000, () => rig.wire.send(messageBytes(notify), to, HOPS.ann));
    return false;
  };
  let outcome: TransferOutcome | undefined;
  void call.line.transfer?.(NUMBERS.person, new AbortController().signal).then((reported) => (outcome = reported));
  await rig.until(() => outcome !== undefined);
  return { rig, call, outcome };
}

describe('a REFER that a PBX has taken', () => {
  it('and whose target is busy gives the caller back, where the caller is still there', async () => {
    const { rig, call, outcome } = await referred('SIP/2.0 486 Busy Here', true);
    expect(outcome).toEqual({ ok: false, reason: 'busy' });
    await rig.wire.clock.advanceBy(5000);
    expect(call.state).toBe('answered');
    await rig.dispose();
  });

  it('and whose target is busy ends the call, where the PBX has taken the caller away', async () => {
    const { rig, call, outcome } = await referred('SIP/2.0 486 Busy Here', false);
    expect(outcome).toEqual({ ok: false, reason: 'busy' });
    await rig.wire.clock.advanceBy(100);
    expect(call.end).toEqual({
      cause: 'hangup',
      by: 'remote',
      reason: 'the far end is gone after a transfer that failed',
    });
    expect(rig.wire.times('BYE')).toHaveLength(1);
    await rig.dispose();
  });

  it.each([400, 403, 503])('and says %s of is done over a second call', async (status) => {
    const { rig, outcome } = await referred(`SIP/2.0 ${String(status)} No`, true);
    expect(outcome).toEqual({ ok: true });
    expect(rig.exchange.calls).toHaveLength(2);
    await rig.dispose();
  });

  it('and says 503 of has failed where nothing else is allowed, or the caller is gone', async () => {
    const only = await referred('SIP/2.0 503 No', true, 'refer');
    expect(only.outcome).toEqual({ ok: false, reason: 'unsupported' });
    await only.rig.dispose();
    const gone = await referred('SIP/2.0 503 No', false);
    expect(gone.outcome).toEqual({ ok: false, reason: 'failed' });
    await gone.rig.wire.clock.advanceBy(100);
    expect([gone.call.state, gone.rig.exchange.calls.length]).toEqual(['ended', 1]);
    await gone.rig.dispose();
  });
});

function notifyOf(refer: SipRequest, line: string): SipRequest {
  const headers = new Headers([
    ['via', 'SIP/2.0/UDP 192.0.2.2;branch=z9hG4bKnotify1'],
    ['max-forwards', '70'],
    ['from', refer.headers.get('to') ?? ''],
    ['to', refer.headers.get('from') ?? ''],
    ['call-id', refer.headers.get('call-id') ?? ''],
    ['cseq', '500 NOTIFY'],
    ['contact', '<sip:exchange@192.0.2.2>'],
    ['event', 'refer'],
    ['subscription-state', 'terminated;reason=noresource'],
    ['content-type', 'message/sipfrag'],
  ]);
  const body = Buffer.from(`${line}\r\n`);
  return { kind: 'request', method: 'NOTIFY', uri: 'sip:parley@192.0.2.1', headers, body };
}
