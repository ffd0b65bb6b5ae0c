import { describe, expect, it, onTestFinished } from 'vitest';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Random } from '../../../src/base/random.js';
import { isRtcp, parseRtp, serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { openRtpSession } from '../../../src/transports/rtp/session.js';
import type { MediaAddress } from '../../../src/transports/rtp/wire.js';
import { lineOfKey, newSrtpKey, SrtpSender } from '../../../src/transports/rtp/srtp.js';
import type { SrtpKey } from '../../../src/transports/rtp/srtp-cipher.js';
import { Ear } from './pair.js';
import { UdpNetwork } from './udp-network.js';

const OURS = '10.0.0.1';
const OLD: MediaAddress = { address: '10.0.0.2', port: 20_000 };
const SAME_HOST: MediaAddress = { address: '10.0.0.2', port: 22_000 };
const OTHER_HOST: MediaAddress = { address: '10.0.0.3', port: 24_000 };
/** What a G.711 byte of each source sounds like: loud, and of opposite signs. */
const [LOUD_OLD, LOUD_NEW] = [0x80, 0x00];

/** One source of sound, which sends a packet every 20 ms while it is on. */
interface Source {
  place: MediaAddress;
  isOn: boolean;
  sent: number;
  sealer: SrtpSender | null;
}

/** A call of ours in virtual time; the other side is scripted: its descriptions, and packets from anywhere. */
async function scripted(key: SrtpKey | null = null) {
  const clock = new VirtualClock();
  const network = new UdpNetwork(clock, new Random(1));
  const ports = new RtpPorts({ clock, localAddress: OURS, openSocket: network.open });
  const session = await openRtpSession({ clock, ticker: new Ticker(clock), ports });
  onTestFinished(() => session.close());
  const ear = new Ear();
  session.line.start(ear);
  const sources: Source[] = [];
  let port = 0;

  function description({ address, port: theirs }: MediaAddress, direction = 'sendrecv'): string {
    const line = key === null ? null : lineOfKey(key, 1);
    return [
      'v=0',
      `o=- 1 1 IN IP4 ${address}`,
      's=-',
      `c=IN IP4 ${address}`,
      't=0 0',
      `m=audio ${String(theirs)} RTP/${line === null ? '' : 'S'}AVP 0`,
      ...(line === null ? [] : [`a=crypto:1 ${line.suite} inline:${line.inline}`]),
      `a=${direction}`,
      '',
    ].join('\r\n');
  }
  const learnPort = (sdp: string): void => {
    port = Number(/m=audio (\d+)/.exec(sdp)?.[1]);
  };
  const source = (place: MediaAddress): Source => {
    const made = { place, isOn: false, sent: 0, sealer: key === null ? null : new SrtpSender(key) };
    sources.push(made);
    return made;
  };
  /** Time passes, a packet's length at a time. */
  const pass = async (ms: number): Promise<void> => {
    for (let n = 0; n < ms / 20; n++) {
      for (const [index, one] of sources.entries()) {
        if (!one.isOn) continue;
        const packet = serialiseRtp({
          payloadType: 0,
          sequence: one.sent & 0xffff,
          timestamp: one.sent * 160,
          ssrc: 1_000 + index,
          marker: one.sent === 0,
          payload: new Uint8Array(160).fill(index === 0 ? LOUD_OLD : LOUD_NEW),
        });
        one.sent++;
        network.send(one.sealer?.protect(packet) ?? packet, one.place, { address: OURS, port });
      }
      await clock.advanceBy(20);
    }
  };
  /** Packets of sound of ours that went there since the last look. */
  const sentTo = (place: MediaAddress, since: number): number =>
    network.sent.slice(since).filter(({ from, to, datagram }) => {
      const isSound = key !== null || (!isRtcp(datagram) && parseRtp(datagram) !== null);
      return from === `${OURS}:${String(port)}` && to === `${place.address}:${String(place.port)}` && isSound;
    }).length;
  /** Milliseconds of each source's sound that were heard. */
  const heardMs = (isNew: boolean): number =>
    ear.samples.filter((sample) => (isNew ? sample < -8_000 : sample > 8_000)).length / 8;
  return { session, network, description, learnPort, source, pass, sentTo, heardMs };
}

describe('media that move', () => {
  const LATE_MS = [0, 20, 40, 60, 100, 160, 300, 1_000];
  const sweep = [SAME_HOST, OTHER_HOST].flatMap((to) =>
    LATE_MS.flatMap((lateMs) => [true, false].map((isTheirs) => ({ to, lateMs, isTheirs }))),
  );

  it.each(sweep)(
    'go to $to.address:$to.port and are heard from there, though the old place goes on for $lateMs ms (their offer: $isTheirs)',
    async ({ to, lateMs, isTheirs }) => {
      const { session, network, description, learnPort, source, pass, sentTo, heardMs } = await scripted();
      learnPort(session.answer(description(OLD)));
      session.answered();
      const [before, after] = [source(OLD), source(to)];
      before.isOn = true;
      await pass(500);
      if (isTheirs) session.answer(description(to));
      else {
        session.offer();
        session.accept(description(to));
      }
      const since = network.sent.length;
      await pass(lateMs);
      before.isOn = false;
      await pass(20);
      after.isOn = true;
      await pass(1_000);
      expect(heardMs(true)).toBe(1_000);
      expect(heardMs(false)).toBe(500);
      expect(sentTo(OLD, since)).toBe(0);
      expect(sentTo(to, since)).toBeGreaterThanOrEqual(50);
      expect(session.stats()).toMatchObject({ strangers: lateMs / 20, lost: 0 });
    },
  );

  it.each([SAME_HOST, OTHER_HOST])('move also where SRTP authenticates the old packets: $address', async (to) => {
    const { session, network, description, learnPort, source, pass, sentTo, heardMs } = await scripted(
      newSrtpKey('AES_CM_128_HMAC_SHA1_80'),
    );
    learnPort(session.answer(description(OLD)));
    session.answered();
    const [before, after] = [source(OLD), source(to)];
    before.isOn = true;
    await pass(500);
    session.answer(description(to));
    const since = network.sent.length;
    await pass(160);
    before.isOn = false;
    after.isOn = true;
    await pass(1_000);
    expect(heardMs(true)).toBe(1_000);
    expect(sentTo(OLD, since)).toBe(0);
    expect(session.stats()).toMatchObject({ forged: 0, isSecure: true });
  });

  it.each([
    ['another host', OTHER_HOST],
    ['another port', SAME_HOST],
  ])('belong to the fork that answers from %s, while the other one rings on', async (_where, winner) => {
    const { session, network, description, learnPort, source, pass, sentTo, heardMs } = await scripted();
    learnPort(session.offer());
    const [ringing, answering] = [source(OLD), source(winner)];
    session.accept(description(OLD));
    ringing.isOn = true;
    await pass(600);
    session.accept(description(winner));
    session.answered();
    const since = network.sent.length;
    await pass(100);
    answering.isOn = true;
    await pass(200);
    ringing.isOn = false;
    await pass(800);
    expect(heardMs(true)).toBe(1_000);
    expect(heardMs(false)).toBe(0);
    expect(sentTo(OLD, since)).toBe(0);
    expect(sentTo(winner, since)).toBeGreaterThanOrEqual(54);
  });

  it('come back from a hold with music of another place, both changes late', async () => {
    const { session, network, description, learnPort, source, pass, sentTo, heardMs } = await scripted();
    learnPort(session.answer(description(OLD)));
    session.answered();
    const [phone, music] = [source(OLD), source(OTHER_HOST)];
    phone.isOn = true;
    await pass(500);
    session.answer(description(OTHER_HOST, 'sendonly'));
    await pass(200);
    [phone.isOn, music.isOn] = [false, true];
    await pass(600);
    session.answer(description(OLD));
    const since = network.sent.length;
    await pass(200);
    [phone.isOn, music.isOn] = [true, false];
    await pass(1_000);
    expect(heardMs(false)).toBe(1_500);
    expect(heardMs(true)).toBe(600);
    expect(sentTo(OTHER_HOST, since)).toBe(0);
    expect(sentTo(OLD, since)).toBeGreaterThanOrEqual(59);
  });

  it('come back to a caller whom a stranger has outrun', async () => {
    const { session, network, description, learnPort, source, pass, sentTo, heardMs } = await scripted();
    learnPort(session.answer(description(OTHER_HOST)));
    session.answered();
    const [stranger, caller] = [source(OLD), source(OTHER_HOST)];
    stranger.isOn = true;
    await pass(300);
    caller.isOn = true;
    await pass(20);
    const since = network.sent.length;
    await pass(980);
    expect(heardMs(true)).toBe(1_000);
    expect(sentTo(OLD, since)).toBe(0);
    expect(sentTo(OTHER_HOST, since)).toBeGreaterThanOrEqual(48);
  });
});
