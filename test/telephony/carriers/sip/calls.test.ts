import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../../../src/base/errors.js';
import type { SessionLine } from '../../../../src/engine/remote-line.js';
import { endOfFailure } from '../../../../src/telephony/carriers/sip/end-cause.js';
import { addressToCall, numberOfUser } from '../../../../src/telephony/carriers/sip/numbers.js';
import type { CarrierCall } from '../../../../src/telephony/carriers/carrier.js';
import { Headers } from '../../../../src/telephony/sip/headers.js';
import { bodyText, type SipRequest, tagOf, messageBytes } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { HOPS, messageOf } from '../../sip/support.js';
import { NUMBERS, openRig, OWN } from './support.js';

const signal = (): AbortSignal => new AbortController().signal;

async function answered(rig: Awaited<ReturnType<typeof openRig>>, to: string = NUMBERS.person) {
  const call = rig.carrier.placeCall({ from: OWN, to, ringTimeoutMs: 30_000, headers: { 'X-Campaign': 'spring' } });
  await rig.until(() => call.state === 'answered');
  return call;
}

describe('calls on a SIP trunk', () => {
  it('say who calls whom, and what they were given along', async () => {
    const rig = await openRig({ displayName: 'The "Fork"', numberFormat: 'digits' });
    rig.carrier.placeCall({
      from: OWN,
      to: NUMBERS.busy,
      ringTimeoutMs: 1000,
      headers: { 'x-a': 'b\r\nc: d', 'X-Ok': 'yes', via: 'no' },
    });
    await rig.until(() => rig.wire.times('INVITE').length > 0);
    const invite = rig.wire.last('INVITE') as SipRequest;
    expect(invite.uri).toBe('sip:12025550103@trunk.example.com;user=phone');
    expect(invite.headers.get('from')).toContain(
      '"The \\"Fork\\"" <sip:12025550199@trunk.example.com;user=phone>;tag=',
    );
    expect([invite.headers.get('x-ok'), invite.headers.has('x-a'), invite.headers.lines('via').length]).toEqual([
      'yes',
      false,
      1,
    ]);
    await rig.dispose();
  });

  it('leave nothing behind: no socket, no timer, no dialog', async () => {
    const rig = await openRig();
    for (const to of [NUMBERS.leaver, NUMBERS.busy, NUMBERS.rejecting, NUMBERS.nobody]) {
      const call = rig.carrier.placeCall({ from: OWN, to, ringTimeoutMs: 5000 });
      await rig.until(() => call.state === 'ended');
    }
    await rig.wire.clock.advanceBy(60_000);
    expect([rig.carrier.calls.size, rig.carrier.trunk.agent.dialogs, rig.carrier.trunk.agent.transactions]).toEqual([
      0, 0, 0,
    ]);
    await rig.dispose();
    await rig.wire.clock.advanceBy(60_000);
    expect([rig.net.sockets, rig.errors]).toEqual([0, []]);
  });

  it('that end while their media open report no fault', async () => {
    let fail: (error: Error) => void = () => undefined;
    const opening = new Promise<never>((_resolve, reject) => (fail = reject));
    const rig = await openRig({ openMedia: () => opening });
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.person, ringTimeoutMs: 5000 });
    const closing = rig.carrier.close();
    fail(new ParleyError('SESSION_CLOSED')); // as a media thread that has closed the call's sockets
    await closing;
    await rig.dispose();
    expect([call.state, call.end?.reason, rig.errors]).toEqual(['ended', 'the carrier is closed', []]);
  });

  it('whose media cannot open fail, and report why', async () => {
    const full = new ParleyError('RTP_PORTS_FULL', { range: '20000-20001' });
    const rig = await openRig({ openMedia: () => Promise.reject(full) });
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.person, ringTimeoutMs: 5000 });
    await rig.until(() => call.state === 'ended');
    expect([call.end?.reason, rig.errors]).toEqual([full.message, [full]]);
    await rig.dispose();
  });

  it('of strangers get no answer', async () => {
    const rig = await openRig();
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.absent, ringTimeoutMs: 1000 });
    await rig.until(() => call.state === 'ended');
    const before = rig.wire.log.length;
    const invite = messageBytes(rig.wire.last('INVITE'));
    rig.wire.send(invite, HOPS.eve, HOPS.ann);
    await rig.wire.clock.advanceBy(5000);
    // What follows is still said to the one who rang.
    const answers = rig.wire.log.slice(before).filter(({ what }) => what === '100' || what === '404');
    expect(answers.filter(({ from }) => from === HOPS.ann.address)).toEqual([]);
    expect(rig.carrier.trunk.counts['refused.stranger']).toBe(1);
    await rig.dispose();
  });

  it('that are bridged hear each other, keys too, and end together', async () => {
    const rig = await openRig();
    const call = await answered(rig);
    expect(await first(rig, call.line.transfer(NUMBERS.person, signal()))).toEqual({ ok: true });
    const [caller, target] = rig.exchange.calls;
    void call.line.close();
    expect(call.end?.cause).toBe('transferred');
    await rig.wire.clock.advanceBy(1500);
    const [before, keys] = [target?.loudness ?? 0, target?.keys];
    await rig.wire.clock.advanceBy(1000);
    expect(before).toBeGreaterThan(1000);
    expect(keys).toBe('12');
    void caller?.media.line.sendDigits?.('7', signal());
    await rig.wire.clock.advanceBy(1000);
    expect(target?.keys).toBe('127');
    target?.leg?.bye();
    await rig.until(() => rig.carrier.calls.size === 0);
    await rig.wire.clock.advanceBy(100);
    expect(caller?.leg?.isOver).toBe(true);
    await rig.dispose();
  });

  it.each([
    ['no sign comes of', false, 'failed', '408 Request Timeout: no server of the trunk answers'],
    ['nobody answers', true, 'no-answer', '480 Temporarily Unavailable'],
  ] as const)('that %s in time are given up, and say which', async (_name, passes, cause, reason) => {
    const rig = await openRig();
    rig.wire.passes = () => passes;
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.absent, ringTimeoutMs: 20_000 });
    await rig.until(() => call.state === 'ended');
    expect(call.end).toMatchObject({ cause, reason });
    rig.wire.passes = () => true;
    await rig.wire.clock.advanceBy(70_000);
    await rig.dispose();
  });

  it('whose media end while they ring are given up, and not left ringing', async () => {
    const rig = await openRig();
    const calls: CarrierCall<SessionLine>[] = [];
    rig.carrier.receiveCalls((call) => calls.push(call));
    const placed = rig.carrier.placeCall({ from: OWN, to: NUMBERS.absent, ringTimeoutMs: 60_000 });
    await rig.exchange.callIn(OWN);
    await rig.until(() => placed.state === 'ringing' && calls.length === 1);
    for (const listener of rig.listeners) listener.lost?.(new Error('their thread has ended'));
    for (const call of [placed, calls[0]]) expect(call?.end).toMatchObject({ cause: 'failed', by: 'network' });
    await rig.wire.clock.advanceBy(1000);
    expect(['CANCEL', '487', '500'].map((what) => rig.wire.times(what).length)).toEqual([1, 1, 1]);
    await rig.dispose();
  });

  it('are handed on by REFER with Replaces where two were to be joined', async () => {
    const rig = await openRig({ transfer: 'refer' });
    const [one, other] = [await answered(rig), await answered(rig)];
    const joined = one.connectTo(other, signal());
    await rig.until(() => rig.wire.times('REFER').length > 0);
    const refer = rig.wire.last('REFER') as SipRequest;
    const target = decodeURIComponent(/Replaces=([^>]+)>/.exec(refer.headers.get('refer-to') ?? '')?.[1] ?? '');
    expect(target).toBe(other.leg?.dialog.replaces);
    // This exchange does not do it: 603.
    expect(await first(rig, joined)).toEqual({ ok: false, reason: 'unsupported' });
    expect(one.state).toBe('answered');
    await rig.dispose();
  });

  it('continue when another party replaces their far end', async () => {
    const rig = await openRig();
    const call = await answered(rig);
    const old = call.leg;
    const [far] = rig.exchange.calls;
    const replaces = far?.leg?.dialog.replaces ?? '';
    // Seen from us: the tags the other way round.
    const [id = '', toTag = '', fromTag = ''] = /^(.*);to-tag=(.*);from-tag=(.*)$/.exec(replaces)?.slice(1) ?? [];
    const before = rig.exchange.calls.length;
    await rig.exchange.callIn(OWN, [['replaces', `${id};to-tag=${toTag};from-tag=${fromTag}`]]);
    await rig.until(() => rig.exchange.calls[before]?.leg != null);
    await rig.wire.clock.advanceBy(1000);
    expect([call.state, call.leg === old, old?.isOver, far?.leg?.isOver]).toEqual(['answered', false, true, true]);
    expect(rig.exchange.calls[before]?.leg?.isOver).toBe(false);
    call.hangUp();
    await rig.until(() => call.state === 'ended');
    await rig.dispose();
  });

  it('come in for addresses that are no numbers, and are refused where nobody has them', async () => {
    const rig = await openRig({ isAddress: (user) => user === 'a1b2' });
    const calls: CarrierCall<SessionLine>[] = [];
    rig.carrier.receiveCalls((call) => calls.push(call));
    expect(rig.carrier.addressOf('a1b2')).toBe('sip:a1b2@192.0.2.1:5060');
    await rig.exchange.callIn('a1b2');
    await rig.until(() => calls.length === 1);
    expect([calls[0]?.to, calls[0]?.from]).toEqual(['a1b2', '+12025550177']);
    calls[0]?.hangUp('unknown');
    await rig.exchange.callIn('c3d4');
    await rig.wire.clock.advanceBy(1000);
    expect([calls.length, rig.wire.times('404').length]).toEqual([1, 2]);
    await rig.dispose();
  });

  it('without a codec in common are refused: 488', async () => {
    const rig = await openRig({ codecs: ['PCMU'] });
    rig.carrier.receiveCalls((call) => call.answer());
    await rig.exchange.callIn(OWN);
    await rig.until(() => rig.wire.times('INVITE').length === 1);
    const invite = rig.wire.last('INVITE') as SipRequest;
    const body = Buffer.from(
      bodyText(invite)
        .replaceAll(/RTP\/AVP .*/g, 'RTP/AVP 18')
        .replaceAll(/a=rtpmap.*\r\n/g, ''),
    );
    const headers = invite.headers
      .copy()
      .set('call-id', 'other')
      .set('via', 'SIP/2.0/UDP 192.0.2.2;branch=z9hG4bKother');
    rig.wire.send(messageBytes({ ...invite, headers, body }), HOPS.bob, HOPS.ann);
    await rig.until(() => rig.wire.times('488').length > 0);
    expect(messageOf(messageBytes(responseTo(invite, 488)))).toMatchObject({ status: 488 });
    await rig.dispose();
  });
});

describe('a caller that leaves the offer to us', () => {
  /** It calls, and its ACK says what is given. `waiting` are the states of the call before that. */
  async function called(answer: (offer: string) => string, acknowledges = true) {
    const rig = await openRig();
    const calls: CarrierCall<SessionLine>[] = [];
    const states: string[] = [];
    rig.carrier.receiveCalls((call) => {
      calls.push(call);
      call.onState((state) => states.push(state));
      call.answer();
    });
    const request = (method: string, toTag: string | null): SipRequest => ({
      kind: 'request',
      method,
      uri: `sip:${OWN}@192.0.2.1`,
      headers: new Headers([
        ['via', `SIP/2.0/UDP 192.0.2.2;branch=z9hG4bK${method}`],
        ['max-forwards', '70'],
        ['from', '<sip:+12025550177@192.0.2.2>;tag=far'],
        ['to', `<sip:${OWN}@192.0.2.1>${toTag === null ? '' : `;tag=${toTag}`}`],
        ['call-id', 'late'],
        ['cseq', `1 ${method}`],
        ['contact', '<sip:far@192.0.2.2>'],
        ['content-type', 'application/sdp'],
      ]),
      body: Buffer.alloc(0),
    });
    rig.wire.send(messageBytes(request('INVITE', null)), HOPS.bob, HOPS.ann);
    await rig.until(() => rig.wire.times('200').length > 0);
    await rig.wire.clock.advanceBy(100);
    const waiting = [...states];
    const ok = rig.wire.last('200');
    const ack = { ...request('ACK', tagOf(ok, 'to')), body: Buffer.from(answer(bodyText(ok))) };
    if (acknowledges) rig.wire.send(messageBytes(ack), HOPS.bob, HOPS.ann);
    await rig.wire.clock.advanceBy(100);
    const [call] = calls;
    if (call === undefined) throw new Error('no call came');
    return { rig, call, waiting, states };
  }

  it('is answered when its ACK has described its media', async () => {
    const { rig, call, waiting, states } = await called((offer) => offer.replaceAll('192.0.2.1', '192.0.2.2'));
    expect([waiting, states]).toEqual([[], ['answered']]);
    call.hangUp();
    await rig.until(() => rig.wire.times('BYE').length > 0);
    await rig.dispose();
  });

  it.each([
    ['nothing', () => ''],
    [
      'no codec of ours',
      (offer: string) => offer.replace(/m=audio.*/, 'm=audio 4000 RTP/AVP 18').replaceAll(/a=.*\r\n/g, ''),
    ],
  ])('has failed, and hears why, where its ACK describes %s', async (_name, answer) => {
    const { rig, call, waiting, states } = await called(answer);
    expect([waiting, states]).toEqual([[], ['ended']]);
    expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
    expect(call.end?.reason).toContain('488 Not Acceptable Here');
    const bye = rig.wire.last('BYE') as SipRequest;
    expect(bye.headers.get('reason')).toContain('SIP;cause=488');
    await rig.dispose();
  });

  it('gets a BYE if it is cancelled before its ACK', async () => {
    const { rig, call, states } = await called((offer) => offer, false);
    call.hangUp();
    await rig.until(() => rig.wire.times('BYE').length > 0);
    expect(states).toEqual(['ended']);
    await rig.wire.clock.advanceBy(60_000);
    expect([rig.carrier.calls.size, rig.carrier.trunk.agent.dialogs]).toEqual([0, 0]);
    await rig.dispose();
  });
});

describe('the cause of the telephone network', () => {
  const failure = { reason: '503 Service Unavailable', isCancelled: false };
  it.each([
    [503, 17, 'busy'],
    [480, 1, 'failed'],
    [500, 19, 'no-answer'],
    [603, 21, 'rejected'],
    [486, null, 'busy'],
    [503, 38, 'failed'],
  ])('status %i with Q.850 cause %s is %s', (status, q850, cause) => {
    expect(endOfFailure({ ...failure, status, q850 }).cause).toBe(cause);
  });

  it('is read from the Reason header, and reported in its words', async () => {
    const rig = await openRig();
    rig.wire.attach(HOPS.bob, (bytes, from) => {
      const message = messageOf(bytes);
      if (message.kind !== 'request' || message.method !== 'INVITE') return;
      const headers: [string, string][] = [['reason', 'Q.850 ;cause=17 ;text="User busy"']];
      rig.wire.send(messageBytes(responseTo(message, 503, { toTag: 'x', headers })), HOPS.bob, from);
    });
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.person, ringTimeoutMs: 5000 });
    await rig.until(() => call.state === 'ended');
    expect(call.end).toMatchObject({
      cause: 'busy',
      reason: '503 Service Unavailable (Q.850 ;cause=17 ;text="User busy")',
    });
    await rig.wire.clock.advanceBy(60_000);
    await rig.dispose();
  });
});

describe('numbers', () => {
  it.each([
    ['+12025550123', '+12025550123'],
    ['12025550123', '+12025550123'],
    ['0012025550123', '+12025550123'],
    ['+1 (202) 555-0123', '+12025550123'],
    ['ann', 'ann'],
    ['100', '100'],
  ])('%s is %s', (user, number) => {
    expect(numberOfUser(user)).toBe(number);
  });

  it.each(['', '911', 'sip:', 'sip:example.com', 'sip:a@b?Replaces=x', 'tel:+1', 'sip:a b@c'])(
    '%j is none',
    (target) => {
      expect(addressToCall(target, { domain: 'example.com', numbers: 'e164' })).toBeNull();
    },
  );
});

/** What a promise comes to, while time goes by. */
async function first<T>(rig: Awaited<ReturnType<typeof openRig>>, promise: Promise<T>): Promise<T> {
  let isDone = false;
  void promise.then(() => (isDone = true));
  await rig.until(() => isDone);
  return promise;
}
