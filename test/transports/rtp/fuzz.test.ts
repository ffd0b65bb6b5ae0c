import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Ticker } from '../../../src/base/ticker.js';
import { ParleyError } from '../../../src/base/errors.js';
import type { CodecName } from '../../../src/transports/rtp/media-codec.js';
import { parseRtp, serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { parseRtcp, serialiseRtcp } from '../../../src/transports/rtp/rtcp.js';
import { parseSdp } from '../../../src/transports/rtp/sdp.js';
import { openRtpSession, type RtpSession } from '../../../src/transports/rtp/session.js';
import { newSrtpKey, SrtpReceiver, SrtpSender } from '../../../src/transports/rtp/srtp.js';
import { SRTP_SUITES } from '../../../src/transports/rtp/srtp-cipher.js';
import { fuzzRuns, Mutator, tryAll } from '../../mutator.js';
import { Ear } from './pair.js';

/** A million of the slowest kind, on a busy machine. */
const TIMEOUT_MS = 3_600_000;
/** Datagrams within 20 ms. */
const ROUND = 50;
const REASONS = ['SDP_INVALID', 'MEDIA_UNSUPPORTED'];

const HEADER = serialiseRtp({
  payloadType: 0,
  marker: false,
  sequence: 7,
  timestamp: 160,
  ssrc: 99,
  payload: new Uint8Array(160),
});
const REPORT = serialiseRtcp([
  {
    kind: 'sender-report',
    ssrc: 99,
    sender: { ntpSeconds: 1, ntpFraction: 2, timestamp: 3, packets: 4, octets: 5 },
    blocks: [
      { ssrc: 1, fractionLost: 0, totalLost: 0, highestSequence: 1, jitterTicks: 0, lastReport: 0, sinceLastReport: 0 },
    ],
  },
  { kind: 'names', chunks: [{ ssrc: 99, cname: 'somebody' }] },
  { kind: 'bye', ssrcs: [99] },
]);
const SDP = [
  'v=0',
  'o=- 1 1 IN IP4 10.0.0.9',
  's=-',
  'c=IN IP4 10.0.0.9',
  't=0 0',
  'm=audio 5000 RTP/SAVP 107 9 0 101',
  'a=rtpmap:107 opus/48000/2',
  'a=fmtp:107 useinbandfec=1',
  'a=rtpmap:101 telephone-event/8000',
  'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj|2^20',
  'a=rtcp:5001 IN IP4 10.0.0.9',
  'a=rtcp-mux',
  'a=ptime:20',
  'a=sendrecv',
  'm=video 0 RTP/AVP 31',
  '',
].join('\r\n');

interface Attacked {
  clock: VirtualClock;
  session: RtpSession;
  /** Brings a datagram to the port for sound, or to the one for reports. */
  bring: (datagram: Uint8Array, isReport?: boolean) => void;
}

/** A call whose other side is at 10.0.0.9:5000. */
async function attacked(): Promise<Attacked> {
  const clock = new VirtualClock();
  const hearing: ((datagram: Uint8Array, address: string, port: number) => void)[] = [];
  const ports = new RtpPorts({
    clock,
    localAddress: '10.0.0.1',
    openSocket: (_address, port) =>
      Promise.resolve({
        port,
        listen: (onDatagram) => hearing.push(onDatagram),
        send: () => undefined,
        close: () => Promise.resolve(),
      }),
  });
  const codecs: CodecName[] = ['opus', 'G722', 'PCMU', 'PCMA'];
  const session = await openRtpSession({ clock, ticker: new Ticker(clock), ports, codecs });
  const bring = (datagram: Uint8Array, isReport = false): void =>
    hearing[isReport ? 1 : 0]?.(datagram, '10.0.0.9', 5_000);
  return { clock, session, bring };
}

describe('whatever comes', () => {
  it('as RTP or RTCP is read or is none: a million of them', { timeout: TIMEOUT_MS }, () => {
    let read = 0;
    tryAll(new Mutator([HEADER, REPORT]), fuzzRuns(1_000_000), (datagram) => {
      const packet = parseRtp(datagram);
      if (packet !== null && packet.payload.length >= datagram.length) throw new Error('it is longer than it was');
      const reports = parseRtcp(datagram);
      if (reports !== null && reports.length > 32) throw new Error('there are too many');
      if (packet !== null) read++;
    });
    expect(read).toBeGreaterThan(0);
  });

  it('to a call, from its other side, is heard or counted: a million of them', { timeout: TIMEOUT_MS }, async () => {
    const { clock, session, bring } = await attacked();
    const ear = new Ear();
    session.line.start(ear);
    session.answer(SDP.replace('SAVP', 'AVP').replace(/a=crypto.*\r\n/, ''));
    session.answered();
    const seeds = [0, 9, 13, 101, 107].map((type) => {
      const bytes = Uint8Array.from(HEADER);
      bytes[1] = type;
      return bytes;
    });
    const mutator = new Mutator([...seeds, REPORT]);
    const { random } = mutator;
    // Most are in their order, so that they are listened to.
    const act = (datagram: Uint8Array, n: number): void => {
      if (random.chance(0.7) && datagram.length > 3) datagram.set([n >> 8, n], 2);
      bring(Uint8Array.from(datagram), random.chance(0.1));
    };
    const runs = fuzzRuns(1_000_000);
    for (let done = 0; done < runs; done += ROUND) {
      tryAll(mutator, Math.min(ROUND, runs - done), act);
      ear.samples.length = 0;
      await clock.advanceBy(20);
    }
    expect(ear.timesClosed).toBe(0);
    expect(session.stats().received).toBeGreaterThan(runs / 20);
    await session.close();
  });

  it('as SRTP is opened only where it was sealed', { timeout: TIMEOUT_MS }, () => {
    for (const suite of SRTP_SUITES) {
      const key = newSrtpKey(suite);
      const sealed = [new SrtpSender(key).protect(HEADER), new SrtpSender(key).protectRtcp(REPORT)];
      const genuine = new Set(sealed.map((datagram) => Buffer.from(datagram).toString('hex')));
      tryAll(new Mutator(sealed), fuzzRuns(30_000) / SRTP_SUITES.length, (datagram) => {
        const before = Buffer.from(datagram).toString('hex');
        const opened = new SrtpReceiver(key).open(datagram);
        if (opened !== null && !genuine.has(before)) throw new Error('it was opened');
      });
    }
  });

  it('as a description is answered or refused with a reason', { timeout: TIMEOUT_MS }, async () => {
    const { session } = await attacked();
    const tokens = [
      '\r\n',
      '\n',
      '\0',
      ' ',
      ':',
      '=',
      '/',
      'a=',
      'm=',
      '0.0.0.0',
      '::1',
      '65536',
      '-1',
      '999999999999',
    ];
    let answered = 0;
    tryAll(new Mutator([new TextEncoder().encode(SDP)], tokens), fuzzRuns(20_000), (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      try {
        const answer = session.answer(text);
        // What we say is right, whatever it was made of.
        if (parseSdp(answer).media.length !== parseSdp(text).media.length) throw new Error('other media');
        answered++;
      } catch (error) {
        if (!(error instanceof ParleyError) || !REASONS.includes(error.code)) throw error;
      }
    });
    expect(answered).toBeGreaterThan(100);
    await session.close();
  });
});
