import { describe, expect, it } from 'vitest';
import { parseRtcp, type RtcpPacket, serialiseRtcp, Reception } from '../../../src/transports/rtp/rtcp.js';

const block = {
  ssrc: 7,
  fractionLost: 0.25,
  totalLost: -3,
  highestSequence: 70_000,
  jitterTicks: 40,
  lastReport: 0x1234_5678,
  sinceLastReport: 65_536,
};
const compound: RtcpPacket[] = [
  {
    kind: 'sender-report',
    ssrc: 0xcafe_babe,
    sender: { ntpSeconds: 3_900_000_000, ntpFraction: 0x8000_0000, timestamp: 160, packets: 10, octets: 1_600 },
    blocks: [block, { ...block, ssrc: 8, totalLost: 5 }],
  },
  { kind: 'receiver-report', ssrc: 1, blocks: [] },
  {
    kind: 'names',
    chunks: [
      { ssrc: 0xcafe_babe, cname: 'Grüße' },
      { ssrc: 2, cname: 'abcdef' },
    ],
  },
  { kind: 'bye', ssrcs: [0xcafe_babe] },
];

describe('RTCP', () => {
  it('is read as it was written', () => {
    expect(parseRtcp(serialiseRtcp(compound))).toEqual(compound);
  });

  it('is read up to where it is cut off', () => {
    const bytes = serialiseRtcp(compound);
    for (let length = 0; length < bytes.length; length++) {
      const read = parseRtcp(bytes.subarray(0, length));
      expect(compound.slice(0, read?.length ?? 0)).toEqual(read ?? []);
    }
  });

  it('passes over types that are of no use', () => {
    const feedback = Uint8Array.of(0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2);
    expect(parseRtcp(Buffer.concat([feedback, serialiseRtcp(compound.slice(3))]))).toEqual(compound.slice(3));
    expect(parseRtcp(feedback)).toEqual([]);
  });

  it('is no sound', () => {
    expect(parseRtcp(Uint8Array.of(0x80, 0))).toBeNull();
    expect(parseRtcp(new Uint8Array(40))).toBeNull();
  });
});

describe('what is counted for reports', () => {
  const packet = (sequence: number, timestamp = sequence * 160): Parameters<Reception['take']>[0] => ({
    payloadType: 0,
    marker: false,
    sequence: sequence & 0xffff,
    timestamp: timestamp >>> 0,
    ssrc: 7,
    payload: new Uint8Array(),
  });

  it('is what was lost, since the last report and at all, over the roll-over', () => {
    const reception = new Reception(packet(65_500));
    for (let n = 65_500; n < 65_600; n++) if (n % 4 !== 1) reception.take(packet(n), 8_000, n * 20);
    expect(reception.report()).toMatchObject({ ssrc: 7, fractionLost: 0.25, totalLost: 25, highestSequence: 65_599 });
    for (let n = 65_600; n < 65_700; n++) reception.take(packet(n), 8_000, n * 20);
    expect(reception.report()).toMatchObject({ fractionLost: 0, totalLost: 25, jitterTicks: 0 });
  });

  it('is the jitter of RFC 3550', () => {
    const reception = new Reception(packet(0));
    for (let n = 0; n < 400; n++) reception.take(packet(n), 8_000, n * 20 + (n % 2) * 10);
    // Each packet is 10 ms later or earlier than the one before it.
    expect(Math.abs(reception.report().jitterTicks - 80)).toBeLessThan(2);
  });

  it("restarts when the sender's numbers jump", () => {
    const reception = new Reception(packet(0));
    for (let n = 0; n < 10; n++) reception.take(packet(n), 8_000, n * 20);
    for (let n = 30_000; n < 30_010; n++) reception.take(packet(n), 8_000, n * 20);
    expect(reception.report()).toMatchObject({ totalLost: 0, highestSequence: 30_009 });
  });
});
