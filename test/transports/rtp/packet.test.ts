import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRtcp, parseRtp, type RtpPacket, rtpHeaderBytes, serialiseRtp } from '../../../src/transports/rtp/packet.js';

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const HEADER = '0064 0000 03e8 cafe babe';

describe('a packet of RTP', () => {
  it('is read as it was written', () => {
    const packets = fc.record({
      payloadType: fc.integer({ min: 0, max: 127 }),
      marker: fc.boolean(),
      sequence: fc.integer({ min: 0, max: 0xffff }),
      timestamp: fc.integer({ min: 0, max: 0xffff_ffff }),
      ssrc: fc.integer({ min: 0, max: 0xffff_ffff }),
      payload: fc.uint8Array({ maxLength: 400 }),
    });
    fc.assert(
      fc.property(packets, (packet: RtpPacket) => {
        const read = parseRtp(serialiseRtp(packet));
        expect({ ...read, payload: [...(read?.payload ?? [])] }).toEqual({ ...packet, payload: [...packet.payload] });
      }),
    );
  });

  it('may name other sources, have an extension and padding', () => {
    const packet = parseRtp(bytes(`b2 80 ${HEADER} 11111111 22222222 bede0001 aabbccdd 0102 00 00 03`));
    expect(packet).toMatchObject({ payloadType: 0, marker: true, sequence: 100, timestamp: 1_000, ssrc: 0xcafebabe });
    expect([...(packet?.payload ?? [])]).toEqual([1, 2]);
  });

  it.each([
    ['too short', '80 00 0064'],
    ['another version', `40 00 ${HEADER} 01`],
    ['more sources than bytes', `8f 00 ${HEADER} 01`],
    ['an extension that is cut off', `90 00 ${HEADER} bede`],
    ['an extension longer than the packet', `90 00 ${HEADER} bedeffff 00`],
    ['padding of nothing', `a0 00 ${HEADER} 0100`],
    ['padding longer than what there is', `a0 00 ${HEADER} 0104`],
  ])('is none: %s', (_what, hex) => {
    expect(parseRtp(bytes(hex))).toBeNull();
  });

  it('is none where it is longer than anything of use', () => {
    expect(rtpHeaderBytes(new Uint8Array(4_097).fill(0x80))).toBeNull();
  });

  it('is distinguished from RTCP by its second byte', () => {
    expect(isRtcp(bytes('80 c8'))).toBe(true);
    expect(isRtcp(bytes('80 d5'))).toBe(true);
    expect(isRtcp(bytes('80 00'))).toBe(false);
    expect(isRtcp(bytes('80 e0'))).toBe(false);
    expect(isRtcp(bytes(''))).toBe(false);
  });
});
