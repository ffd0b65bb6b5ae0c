import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../../src/base/errors.js';
import { parseSdp } from '../../../src/transports/rtp/sdp.js';

const HEAD = ['v=0', 'o=alice 2890844526 2890844527 IN IP4 10.0.0.9', 's=-', 'c=IN IP4 10.0.0.9', 't=0 0'];
const sdp = (...lines: string[]): string => [...HEAD, ...lines, ''].join('\r\n');

function code(text: string): string {
  try {
    parseSdp(text);
    return 'read';
  } catch (error) {
    return error instanceof ParleyError ? error.code : String(error);
  }
}

describe('a session description', () => {
  it('is read, with what calls need', () => {
    const { origin, media } = parseSdp(
      sdp(
        'a=sendonly',
        'm=audio 49170 RTP/SAVP 0 96 101',
        'a=rtpmap:96 opus/48000/2',
        'a=fmtp:96 useinbandfec=1',
        'a=rtpmap:101 telephone-event/8000',
        'a=ptime:20',
        'a=rtcp:53020 IN IP4 10.0.0.10',
        'a=rtcp-mux',
        'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj|2^20|1:4',
        'a=crypto:2 AES_CM_128_HMAC_SHA1_32 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj|2^31',
        'm=video 51372 RTP/AVP 31',
        'c=IN IP6 2001:db8::1',
        'a=inactive',
      ),
    );
    expect(origin).toEqual({ id: '2890844526', version: '2890844527' });
    expect(media[0]).toMatchObject({
      kind: 'audio',
      port: 49_170,
      profile: 'RTP/SAVP',
      address: '10.0.0.9',
      direction: 'sendonly',
      ptimeMs: 20,
      rtcpMux: true,
      rtcp: { port: 53_020, address: '10.0.0.10' },
      formats: [
        { payloadType: 0, name: null },
        { payloadType: 96, name: 'opus', clockRateHz: 48_000, channels: 2, fmtp: 'useinbandfec=1' },
        { payloadType: 101, name: 'telephone-event', clockRateHz: 8_000, channels: 1 },
      ],
      crypto: [
        { tag: 1, isExtended: true },
        { tag: 2, isExtended: false },
      ],
    });
    expect(media[1]).toMatchObject({ kind: 'video', address: '2001:db8::1', direction: 'inactive' });
  });

  it('may have Unix line ends, and unknown lines', () => {
    const text = sdp('m=audio 4000 RTP/AVP 0', 'a=x-nobody:knows', 'b=AS:64', 'k=prompt').replaceAll('\r\n', '\n');
    expect(parseSdp(text).media).toHaveLength(1);
  });

  it('may refuse a medium without an address', () => {
    const [first = '', second = '', third = ''] = HEAD;
    expect(parseSdp([first, second, third, 'm=audio 0 RTP/AVP 0'].join('\r\n')).media[0]?.port).toBe(0);
  });

  it.each([
    ['nothing', ''],
    ['something else', 'INVITE sip:bob@biloxi.com SIP/2.0'],
    ['no version', HEAD.slice(1).join('\r\n')],
    ['no origin', ['v=0', 's=-', 'm=audio 4000 RTP/AVP 0'].join('\r\n')],
    ['no address', [...HEAD.slice(0, 3), 'm=audio 4000 RTP/AVP 0'].join('\r\n')],
    ['a name for an address', sdp('c=IN IP4 evil.example.com')],
    ['an address of a group', sdp('m=audio 4000 RTP/AVP 0', 'c=IN IP4 224.2.1.1/127')],
    ['an address of everybody', sdp('m=audio 4000 RTP/AVP 0', 'c=IN IP4 255.255.255.255')],
    ['an address of another kind', sdp('c=IN IP6 10.0.0.1')],
    ['a port that is none', sdp('m=audio 65536 RTP/AVP 0')],
    ['a port in words', sdp('m=audio many RTP/AVP 0')],
    ['a medium that is cut off', sdp('m=audio 4000')],
    ['a medium with a line of its own in it', sdp('m=audio 4000 RTP/AVP 0\ra=sendonly')],
    ['more media than anybody has', sdp(...Array.from({ length: 17 }, () => 'm=audio 4000 RTP/AVP 0'))],
    ['more formats than anybody has', sdp(`m=audio 4000 RTP/AVP ${'0 '.repeat(65)}`)],
    ['more lines than anybody writes', sdp(...Array.from({ length: 500 }, () => 'a=x'))],
    ['more than fits a datagram', sdp(`a=${'x'.repeat(16_384)}`)],
    ['lines that are none', sdp('hello')],
  ])('is refused: %s', (_what, text) => {
    expect(code(text)).toBe('SDP_INVALID');
  });
});
