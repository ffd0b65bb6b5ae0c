import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/clock/virtual.js';
import { Ticker } from '../../src/clock/ticker.js';
import { ParleyError } from '../../src/errors.js';
import { Random } from '../../src/random.js';
import { parseRtp, serialiseRtp } from '../../src/rtp/packet.js';
import { RtpPorts } from '../../src/rtp/ports.js';
import { parseRtcp, serialiseRtcp } from '../../src/rtp/rtcp.js';
import { parseSdp } from '../../src/rtp/sdp.js';
import { openRtpSession, type RtpSession } from '../../src/rtp/session.js';
import { SrtpReceiver, SrtpSender } from '../../src/rtp/srtp.js';
import { newSrtpKey, SRTP_SUITES } from '../../src/rtp/srtp-keys.js';
import { Ear } from './pair.js';
import { UdpNetwork } from './udp-network.js';

/** PARLEY_FUZZ_RUNS=250000 tries a million datagrams and descriptions, over the four kinds. */
const runs = Number(process.env['PARLEY_FUZZ_RUNS'] ?? 1_000);
const TIMEOUT_MS = 20_000 + runs * 4;
const options = { numRuns: runs, ignoreEqualValues: true };

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

/** What is right, with some bytes changed, put in, left out or repeated; now and then nothing of it. */
function mutated(seeds: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat(8),
    insert: fc.uint8Array({ maxLength: 8 }),
  });
  const changed = fc.tuple(fc.constantFrom(...seeds), fc.array(change, { maxLength: 6 })).map(([seed, changes]) => {
    let bytes = [...seed];
    for (const { at, remove, insert } of changes) {
      const place = Math.floor(at * bytes.length);
      bytes = [...bytes.slice(0, place), ...insert, ...bytes.slice(place + remove)];
    }
    return Uint8Array.from(bytes);
  });
  return fc.oneof({ arbitrary: changed, weight: 5 }, { arbitrary: fc.uint8Array({ maxLength: 300 }), weight: 1 });
}

function rig(): { clock: VirtualClock; network: UdpNetwork; open: () => Promise<RtpSession> } {
  const clock = new VirtualClock();
  const network = new UdpNetwork(clock, new Random(1));
  const ticker = new Ticker(clock);
  const ports = new RtpPorts({ clock, localAddress: '10.0.0.1', openSocket: network.open });
  return {
    clock,
    network,
    open: () => openRtpSession({ clock, ticker, ports, codecs: ['opus', 'G722', 'PCMU', 'PCMA'] }),
  };
}

describe('whatever comes', () => {
  it('as RTP or RTCP is read or is none', { timeout: TIMEOUT_MS }, () => {
    fc.assert(
      fc.property(mutated([HEADER, REPORT]), (datagram) => {
        const packet = parseRtp(datagram);
        if (packet !== null) expect(packet.payload.length).toBeLessThan(datagram.length);
        for (const report of parseRtcp(datagram) ?? []) expect(report.kind).toBeTypeOf('string');
      }),
      options,
    );
  });

  it('as SRTP is opened only where it was sealed', { timeout: TIMEOUT_MS }, () => {
    for (const suite of SRTP_SUITES) {
      const key = newSrtpKey(suite);
      const sealed = [new SrtpSender(key).protect(HEADER), new SrtpSender(key).protectRtcp(REPORT)];
      const genuine = new Set(sealed.map((datagram) => Buffer.from(datagram).toString('hex')));
      fc.assert(
        fc.property(mutated(sealed), (datagram) => {
          const opened = new SrtpReceiver(key).open(datagram);
          if (opened !== null) expect(genuine.has(Buffer.from(datagram).toString('hex'))).toBe(true);
        }),
        { ...options, numRuns: Math.ceil(runs / SRTP_SUITES.length) },
      );
    }
  });

  it('as a description is answered or refused with a reason', { timeout: TIMEOUT_MS }, async () => {
    const { open } = rig();
    const callee = await open();
    const texts = mutated([new TextEncoder().encode(SDP)]).map((bytes) => Buffer.from(bytes).toString('latin1'));
    fc.assert(
      fc.property(texts, (text) => {
        try {
          const answer = callee.answer(text);
          // What we say is right, whatever it was made of.
          expect(parseSdp(answer).media).toHaveLength(parseSdp(text).media.length);
        } catch (error) {
          if (!(error instanceof ParleyError)) throw error;
          expect(['SDP_INVALID', 'MEDIA_UNSUPPORTED']).toContain(error.code);
        }
      }),
      options,
    );
    await callee.close();
  });

  it('to a call, from its other side, is heard or counted', { timeout: TIMEOUT_MS }, async () => {
    const { clock, network, open } = rig();
    const [callee, ear] = [await open(), new Ear()];
    callee.line.start(ear);
    const answer = callee.answer(SDP.replace('SAVP', 'AVP').replace(/a=crypto.*\r\n/, ''));
    callee.answered();
    const [from, to] = [
      { address: '10.0.0.9', port: 5_000 },
      { address: '10.0.0.1', port: parseSdp(answer).media[0]?.port ?? 0 },
    ];
    const seeds = [0, 9, 13, 101, 107].map((type) => {
      const bytes = Uint8Array.from(HEADER);
      bytes[1] = type;
      return bytes;
    });
    let sequence = 0;
    await fc.assert(
      fc.asyncProperty(mutated([...seeds, REPORT]), fc.boolean(), async (datagram, isNext) => {
        if (isNext && datagram.length > 3) {
          sequence++;
          datagram[2] = sequence >> 8;
          datagram[3] = sequence;
        }
        network.send(datagram, from, to);
        await clock.advanceBy(5);
        ear.samples.length = 0;
        network.sent.length = 0;
      }),
      options,
    );
    expect(ear.timesClosed).toBe(0);
    await callee.close();
  });
});
