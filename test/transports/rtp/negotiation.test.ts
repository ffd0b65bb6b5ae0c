import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../../src/base/errors.js';
import { Negotiation, type NegotiationOptions } from '../../../src/transports/rtp/negotiation.js';
import { parseSdp } from '../../../src/transports/rtp/sdp.js';

const KEY = 'd0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj';

function end(options: Partial<NegotiationOptions> = {}): Negotiation {
  return new Negotiation({
    address: '10.0.0.1',
    port: 4_000,
    rtcpPort: 4_001,
    sessionId: '1',
    srtp: 'accepted',
    codecs: ['PCMU', 'PCMA'],
    comfortNoise: false,
    ...options,
  });
}

const theirs = (...lines: string[]): string =>
  ['v=0', 'o=- 7 1 IN IP4 10.0.0.9', 's=-', 'c=IN IP4 10.0.0.9', 't=0 0', ...lines, ''].join('\r\n');

/** Lines of a description behind its head. */
const body = (sdp: string): string[] => sdp.trim().split('\r\n').slice(5);

function refusal(act: () => unknown): string {
  try {
    act();
    return 'nothing';
  } catch (error) {
    if (error instanceof ParleyError) return `${error.code}: ${String(error.details['reason'])}`;
    throw error;
  }
}

describe('an offer of ours', () => {
  it('lists what may be agreed upon, the most wanted first', () => {
    expect(body(end({ codecs: ['opus', 'G722', 'PCMA', 'PCMU'] }).offer())).toEqual([
      'm=audio 4000 RTP/AVP 107 9 8 0 101 102',
      'a=rtpmap:107 opus/48000/2',
      'a=fmtp:107 maxplaybackrate=16000;sprop-maxcapturerate=16000;useinbandfec=1',
      'a=rtpmap:9 G722/8000',
      'a=rtpmap:8 PCMA/8000',
      'a=rtpmap:0 PCMU/8000',
      'a=rtpmap:101 telephone-event/8000',
      'a=fmtp:101 0-15',
      'a=rtpmap:102 telephone-event/48000',
      'a=fmtp:102 0-15',
      'a=rtcp-mux',
      'a=ptime:20',
      'a=maxptime:120',
      'a=sendrecv',
    ]);
  });

  it('is the same again while nothing changes, and has a higher version when something does', () => {
    const ours = end();
    const first = ours.offer();
    ours.accept(theirs('m=audio 5000 RTP/AVP 0'));
    const version = (sdp: string): number => Number(parseSdp(sdp).origin.version);
    expect(ours.offer()).toBe(first);
    expect(version(ours.offer('sendonly'))).toBe(version(first) + 1);
    expect(body(ours.offer())).toContain('a=sendonly');
  });

  it('is as good as never made when it is refused', () => {
    const ours = end();
    ours.offer();
    ours.accept(theirs('m=audio 5000 RTP/AVP 0'));
    expect(body(ours.offer('sendonly'))).toContain('a=sendonly');
    expect(ours.isOffering).toBe(true);
    ours.rollback();
    expect(ours.isOffering).toBe(false);
    expect(body(ours.offer())).toContain('a=sendrecv');
    expect(ours.agreement).toMatchObject({ sends: true, receives: true });
  });

  it('keeps the types and the order of media that were agreed upon', () => {
    const ours = end({ codecs: ['opus', 'PCMU'] });
    ours.answer(
      theirs(
        'm=video 6000 RTP/AVP 31',
        'm=audio 5000 RTP/AVP 101 97',
        'a=rtpmap:101 opus/48000/2',
        'a=rtpmap:97 telephone-event/48000',
      ),
    );
    const lines = body(ours.offer());
    expect(lines[0]).toBe('m=video 0 RTP/AVP 31');
    expect(lines[1]).toBe('m=audio 4000 RTP/AVP 101 0 97');
    expect(lines).toContain('a=rtpmap:101 opus/48000/2');
  });
});

describe('an answer of theirs', () => {
  it('settles codec, keys and where packets go', () => {
    const ours = end({ codecs: ['opus', 'PCMU', 'PCMA'] });
    ours.offer();
    const agreement = ours.accept(
      theirs('m=audio 5000 RTP/AVP 8 0 100', 'a=rtpmap:100 telephone-event/8000', 'a=rtcp:5555'),
    );
    expect(agreement).toMatchObject({
      remote: { address: '10.0.0.9', port: 5_000, rtcpAddress: '10.0.0.9', rtcpPort: 5_555 },
      sends: true,
      receives: true,
      rtcpMux: false,
      srtp: null,
      codec: { facts: { name: 'PCMA' }, payloadType: 8 },
      events: { payloadType: 100, clockRateHz: 8_000 },
    });
    expect(new Set(agreement.codecs.keys())).toEqual(new Set([0, 8]));
    expect(agreement.eventTypes).toEqual(new Set([100, 101, 102]));
  });

  it('may come again, and from another party', () => {
    const ours = end();
    ours.offer();
    expect(ours.accept(theirs('m=audio 5000 RTP/AVP 0')).remote.port).toBe(5_000);
    expect(ours.accept(theirs('m=audio 6000 RTP/AVP 8'))).toMatchObject({
      remote: { port: 6_000 },
      codec: { facts: { name: 'PCMA' } },
    });
  });

  it.each([
    ['no audio', 'm=audio 0 RTP/AVP 0', 'the other side refuses the audio'],
    ['codecs that were not offered', 'm=audio 5000 RTP/AVP 18', 'none of its codecs is among PCMU, PCMA'],
    ['other media', 'm=audio 5000 RTP/AVP 0\r\nm=video 5002 RTP/AVP 31', 'the answer has other media than the offer'],
    ['IPv6', 'm=audio 5000 RTP/AVP 0\r\nc=IN IP6 2001:db8::1', 'its address is of another family than ours'],
  ])('is refused with %s, and what held before holds on', (_what, media, reason) => {
    const ours = end();
    ours.offer();
    const before = ours.accept(theirs('m=audio 5000 RTP/AVP 0'));
    ours.offer('sendonly');
    expect(refusal(() => ours.accept(theirs(...media.split('\r\n'))))).toBe(`MEDIA_UNSUPPORTED: ${reason}`);
    expect(ours.agreement).toBe(before);
  });
});

describe('an answer of ours', () => {
  it("names one codec, by the other side's type and in its order, and keys at that codec's clock", () => {
    const ours = end({ codecs: ['PCMU', 'PCMA', 'opus'] });
    const { sdp, agreement } = ours.answer(
      theirs(
        'm=audio 5000 RTP/AVP 18 96 0 97 98',
        'a=rtpmap:96 OPUS/48000/2',
        'a=rtpmap:97 telephone-event/8000',
        'a=rtpmap:98 telephone-event/48000',
        'a=rtcp-mux',
      ),
    );
    expect(body(sdp)).toEqual([
      'm=audio 4000 RTP/AVP 96 98',
      'a=rtpmap:96 opus/48000/2',
      'a=fmtp:96 maxplaybackrate=16000;sprop-maxcapturerate=16000;useinbandfec=1',
      'a=rtpmap:98 telephone-event/48000',
      'a=fmtp:98 0-15',
      'a=rtcp-mux',
      'a=ptime:20',
      'a=maxptime:120',
      'a=sendrecv',
    ]);
    expect(agreement).toMatchObject({ codec: { payloadType: 96 }, rtcpMux: true, remote: { rtcpPort: 5_000 } });
  });

  it('refuses all media but the first audio that will do', () => {
    const { sdp } = end().answer(
      theirs('m=audio 5000 RTP/AVP 18', 'm=audio 5002 RTP/AVP 0', 'm=image 5004 udptl t38', 'm=audio 5006 RTP/AVP 0'),
    );
    expect(body(sdp).filter((line) => line.startsWith('m='))).toEqual([
      'm=audio 0 RTP/AVP 18',
      'm=audio 4000 RTP/AVP 0',
      'm=image 0 udptl t38',
      'm=audio 0 RTP/AVP 0',
    ]);
  });

  it.each([
    ['sendrecv', 'sendrecv', true, true],
    ['sendonly', 'recvonly', false, true],
    ['recvonly', 'sendonly', true, false],
    ['inactive', 'inactive', false, false],
  ])('mirrors who sends: %s', (direction, ours, sends, receives) => {
    const { sdp, agreement } = end().answer(theirs('m=audio 5000 RTP/AVP 0', `a=${direction}`));
    expect(body(sdp).at(-1)).toBe(`a=${ours}`);
    expect(agreement).toMatchObject({ sends, receives });
  });

  it('sends nothing to 0.0.0.0, the hold of old', () => {
    const { sdp, agreement } = end().answer(theirs('m=audio 5000 RTP/AVP 0', 'c=IN IP4 0.0.0.0'));
    expect(agreement.sends).toBe(false);
    expect(body(sdp).at(-1)).toBe('a=recvonly');
  });

  it.each([
    ['m=video 5000 RTP/AVP 31', 'it has no audio'],
    ['m=audio 5000 RTP/AVP 18', 'none of its codecs is among PCMU, PCMA'],
    ['m=audio 5000 UDP/TLS/RTP/SAVPF 0', 'UDP/TLS/RTP/SAVPF is not spoken here'],
    ['m=audio 5000 RTP/SAVP 0', 'it has no key of SRTP that can be used'],
  ])('is none to %s', (media, reason) => {
    expect(refusal(() => end().answer(theirs(media)))).toBe(`MEDIA_UNSUPPORTED: ${reason}`);
  });
});

describe('SRTP', () => {
  const line = `a=crypto:3 AES_CM_128_HMAC_SHA1_80 inline:${KEY}`;

  it('is answered where it is offered, with the first key that can be used', () => {
    const { sdp, agreement } = end().answer(
      theirs('m=audio 5000 RTP/SAVP 0', `a=crypto:1 F8_128_HMAC_SHA1_80 inline:${KEY}`, 'a=crypto:2 nonsense', line),
    );
    expect(body(sdp)[0]).toBe('m=audio 4000 RTP/SAVP 0');
    expect(body(sdp).find((each) => each.startsWith('a=crypto'))).toMatch(
      /^a=crypto:3 AES_CM_128_HMAC_SHA1_80 inline:/,
    );
    expect(Buffer.from(agreement.srtp?.receive.key ?? []).toString('base64')).toBe(
      Buffer.from(KEY, 'base64').subarray(0, 16).toString('base64'),
    );
  });

  it.each([
    ['off', 'm=audio 5000 RTP/SAVP 0', 'SRTP is switched off'],
    ['required', 'm=audio 5000 RTP/AVP 0', 'SRTP is required'],
  ] as const)('policy %s refuses %s', (srtp, media, reason) => {
    expect(
      refusal(() => end({ srtp }).answer(theirs(media, line.repeat(media.includes('SAVP') ? 1 : 0) || 'a=x'))),
    ).toBe(`MEDIA_UNSUPPORTED: ${reason}`);
  });

  it('agrees between two ends, whichever way it is wanted', () => {
    for (const [caller, callee, isSecure] of [
      ['off', 'accepted', false],
      ['accepted', 'accepted', false],
      ['offered', 'accepted', true],
      ['offered', 'off', false],
      ['required', 'accepted', true],
      ['required', 'required', true],
      ['offered', 'required', true],
    ] as const) {
      const [ours, theirs_] = [end({ srtp: caller }), end({ srtp: callee, address: '10.0.0.2' })];
      const { sdp, agreement } = theirs_.answer(ours.offer());
      const accepted = ours.accept(sdp);
      expect([accepted.srtp !== null, agreement.srtp !== null], `${caller} and ${callee}`).toEqual([
        isSecure,
        isSecure,
      ]);
      if (accepted.srtp === null) continue;
      expect(accepted.srtp.send.key).toEqual(Buffer.from(agreement.srtp?.receive.key ?? []));
      expect(Buffer.from(accepted.srtp.receive.key)).toEqual(agreement.srtp?.send.key);
    }
  });

  it('keeps its keys and profile when the call changes', () => {
    const [ours, other] = [end({ srtp: 'offered' }), end({ address: '10.0.0.2' })];
    ours.accept(other.answer(ours.offer()).sdp);
    const again = ours.offer('sendonly');
    const crypto = (sdp: string): string | undefined => body(sdp).find((each) => each.includes('SHA1_80'));
    expect(body(again)[0]).toMatch(/RTP\/AVP/);
    expect(body(again).filter((each) => each.startsWith('a=crypto'))).toHaveLength(1);
    expect(crypto(again)?.split('inline:')[1]).toBe(
      Buffer.concat([
        ours.agreement?.srtp?.send.key ?? Buffer.of(),
        ours.agreement?.srtp?.send.salt ?? Buffer.of(),
      ]).toString('base64'),
    );
    ours.accept(other.answer(again).sdp);
    expect(ours.agreement).toMatchObject({ sends: true, receives: false });
  });

  it('is no call where it is required and the answer has no key that fits', () => {
    const ours = end({ srtp: 'required' });
    ours.offer();
    expect(refusal(() => ours.accept(theirs('m=audio 5000 RTP/SAVP 0', line)))).toMatch(/no key of SRTP that fits/);
  });
});

describe('the length of packets', () => {
  it.each([
    [[], 20, 20],
    [['a=ptime:10'], 10, 10],
    [['a=ptime:30'], 30, 30],
    [['a=ptime:60', 'a=maxptime:40'], 60, 40],
    [['a=ptime:200'], 60, 60],
    [['a=ptime:5'], 10, 10],
    [['a=ptime:0', 'a=maxptime:0'], 10, 10],
    [['a=ptime:none'], 20, 20],
  ])('is the other side\u2019s wish: %j', (lines, said, sent) => {
    const { sdp, agreement } = end().answer(theirs('m=audio 5000 RTP/AVP 0', ...lines));
    expect(agreement.packetMs).toBe(sent);
    expect(body(sdp)).toContain(`a=ptime:${String(said)}`);
    const offering = end();
    offering.offer();
    expect(offering.accept(theirs('m=audio 5000 RTP/AVP 0', ...lines)).packetMs).toBe(sent);
  });

  it('is one that Opus has', () => {
    const opus = (ptime: number): number =>
      end({ codecs: ['opus'] }).answer(
        theirs('m=audio 5000 RTP/AVP 96', 'a=rtpmap:96 opus/48000/2', `a=ptime:${String(ptime)}`),
      ).agreement.packetMs;
    expect([10, 20, 30, 40, 50, 60].map(opus)).toEqual([10, 20, 20, 40, 40, 60]);
  });
});

describe('comfort noise', () => {
  const noisy = theirs('m=audio 5000 RTP/AVP 0 13', 'a=rtpmap:13 CN/8000');

  it('is offered and answered where it is wanted', () => {
    const ours = end({ comfortNoise: true });
    expect(body(ours.offer())).toEqual(
      expect.arrayContaining(['m=audio 4000 RTP/AVP 0 8 13 101', 'a=rtpmap:13 CN/8000']),
    );
    expect(ours.accept(noisy).comfortNoise).toBe(true);
    expect(ours.accept(theirs('m=audio 5000 RTP/AVP 0')).comfortNoise).toBe(false);
    const answered = end({ comfortNoise: true }).answer(theirs('m=audio 5000 RTP/AVP 0 13'));
    expect(body(answered.sdp)[0]).toBe('m=audio 4000 RTP/AVP 0 13');
    expect(answered.agreement.comfortNoise).toBe(true);
  });

  it('is not, where it is not, and with codecs of 16 kHz', () => {
    expect(end().answer(noisy).agreement.comfortNoise).toBe(false);
    const wide = end({ comfortNoise: true, codecs: ['G722'] });
    expect(body(wide.offer())[0]).toBe('m=audio 4000 RTP/AVP 9 101');
    expect(wide.answer(theirs('m=audio 5000 RTP/AVP 9 13')).agreement.comfortNoise).toBe(false);
  });
});
