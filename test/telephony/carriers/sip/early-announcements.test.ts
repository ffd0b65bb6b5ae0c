import { describe, expect, it } from 'vitest';
import { RtpPorts } from '../../../../src/transports/rtp/ports.js';
import { openRtpSession } from '../../../../src/transports/rtp/session.js';
import { bodyText, type SipRequest, messageBytes } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { HOPS, messageOf } from '../../sip/support.js';
import { NUMBERS, openRig, OWN } from './support.js';

/** ITU-T E.180, and the North American tones of circuits that are all busy. */
const OUT_OF_SERVICE = [950, 1400, 1800];
const ALL_BUSY = [985, 1429, 1777];
const RINGING = [440, 440, 440];
const TONE_MS = 340;

/** A network that takes a call with early media: three tones; then with its last word, if it has one. */
async function called(tones: readonly number[], last: { status: number; reason?: string } | null) {
  const rig = await openRig();
  const { clock } = rig.wire;
  const ports = new RtpPorts({ clock, localAddress: HOPS.bob.address, openSocket: rig.net.open });
  const network = await openRtpSession({ clock, ticker: rig.ticker, ports });
  const requests: SipRequest[] = [];
  const say = (status: number, headers: [string, string][] = [], body?: string): void => {
    const [invite] = requests;
    if (invite === undefined) throw new Error('nobody has called');
    const all: [string, string][] = [['contact', '<sip:network@192.0.2.2>'], ...headers];
    if (body !== undefined) all.push(['content-type', 'application/sdp']);
    const parts = { toTag: 'network', headers: all, ...(body !== undefined && { body: Buffer.from(body) }) };
    rig.wire.send(messageBytes(responseTo(invite, status, parts)), HOPS.bob, HOPS.ann);
  };
  rig.wire.attach(HOPS.bob, (bytes, from) => {
    const message = messageOf(bytes);
    if (message.kind !== 'request' || message.method === 'ACK') return;
    requests.push(message);
    if (message.method !== 'INVITE') rig.wire.send(messageBytes(responseTo(message, 200)), HOPS.bob, from);
  });
  const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.person, ringTimeoutMs: 5000 });
  await rig.until(() => requests.length > 0);
  const sdp = network.answer(bodyText(requests[0]!));
  say(183, [], sdp);
  await rig.until(() => call.state === 'ringing');
  network.answered();
  for (const frequencyHz of tones) {
    for (let atMs = 0; atMs < TONE_MS; atMs += 20) {
      const sample = (_: number, at: number): number =>
        6000 * Math.sin((2 * Math.PI * frequencyHz * (atMs * 8 + at)) / 8000);
      network.line.play(new Int16Array(160).map(sample));
      await clock.advanceBy(20);
    }
  }
  await clock.advanceBy(500);
  const dispose = async (): Promise<void> => {
    await network.close();
    await rig.dispose();
  };
  const { status, reason } = last ?? {};
  if (status !== undefined) {
    say(status, reason === undefined ? [] : [['reason', reason]], status === 200 ? sdp : undefined);
  }
  await rig.until(() => call.state === 'ended' || call.state === 'answered');
  await clock.advanceBy(100);
  return { call, requests, dispose };
}

describe('special information tones before the answer', () => {
  it.each([
    ['480', OUT_OF_SERVICE, { status: 480 }, 'failed'],
    ['404', OUT_OF_SERVICE, { status: 404 }, 'failed'],
    ['503', ALL_BUSY, { status: 503 }, 'busy'],
    ['486, which says it itself', OUT_OF_SERVICE, { status: 486 }, 'busy'],
    ['a cause of the telephone network', OUT_OF_SERVICE, { status: 480, reason: 'Q.850;cause=19' }, 'no-answer'],
  ] as const)('determine with %s why the call failed', async (_name, tones, last, cause) => {
    const { call, dispose } = await called(tones, last);
    expect(call.end?.cause).toBe(cause);
    expect(call.end?.reason).toContain(String(last.status));
    const isTold = call.end?.reason.includes('special information tones') === true;
    expect(isTold).toBe(!('reason' in last) && last.status !== 486);
    await dispose();
  });

  it('tell it of a call that the network never ends, which is cancelled', async () => {
    const { call, requests, dispose } = await called(OUT_OF_SERVICE, null);
    expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
    expect(call.end?.reason).toContain('special information tones were heard before the answer');
    expect(requests.map(({ method }) => method)).toEqual(['INVITE', 'CANCEL']);
    await dispose();
  });

  it('have no effect if the call is answered anyway', async () => {
    const { call, dispose } = await called(OUT_OF_SERVICE, { status: 200 });
    expect(call.state).toBe('answered');
    await dispose();
  });

  it.each([
    [{ status: 480 }, 'no-answer'],
    [null, 'no-answer'],
    [{ status: 503 }, 'failed'],
  ])('are not found in ringing; %j', async (last, cause) => {
    const { call, dispose } = await called(RINGING, last);
    expect(call.end?.cause).toBe(cause);
    expect(call.end?.reason).not.toContain('special information');
    await dispose();
  });
});
