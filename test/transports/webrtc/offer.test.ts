import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkOffer } from '../../../src/transports/webrtc/offer.js';

/** As a browser makes it, much shortened. */
const LINES = [
  'v=0',
  'o=- 1 2 IN IP4 127.0.0.1',
  's=-',
  't=0 0',
  'a=group:BUNDLE 0 1',
  'm=audio 9 UDP/TLS/RTP/SAVPF 111 0',
  'c=IN IP4 0.0.0.0',
  'a=ice-ufrag:abcd',
  'a=ice-pwd:0123456789012345678901',
  'a=fingerprint:sha-256 00:11',
  'a=setup:actpass',
  'a=mid:0',
  'a=sendrecv',
  'a=rtcp-mux',
  'a=rtpmap:111 opus/48000/2',
  'a=rtpmap:0 PCMU/8000',
  'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
  'a=mid:1',
  'a=sctp-port:5000',
];

const offer = (change: (lines: string[]) => string[] = (lines) => lines): string =>
  `${change([...LINES]).join('\r\n')}\r\n`;
const without = (start: string) => (lines: string[]) => lines.filter((line) => !line.startsWith(start));
const instead = (start: string, other: string) => (lines: string[]) =>
  lines.map((line) => (line.startsWith(start) ? other : line));

test("a browser's offer may be answered", () => {
  expect(() => checkOffer(offer())).not.toThrow();
  expect(() => checkOffer(offer(without('a=sendrecv')))).not.toThrow();
  expect(() => checkOffer(offer().replaceAll('\r\n', '\n'))).not.toThrow();
});

test.each([
  ['larger than 65536 bytes', (lines: string[]) => [...lines, `a=x:${'y'.repeat(66_000)}`]],
  ['does not begin with v=0', (lines: string[]) => ['', ...lines]],
  ['more than 32 media sections', (lines: string[]) => [...lines, ...Array<string>(31).fill('m=video 9 X 1')]],
  ['has no audio', without('m=audio')],
  ['has no audio', instead('m=audio', 'm=audio 0 UDP/TLS/RTP/SAVPF 111')],
  ['has no audio', instead('m=audio', 'm=audio 9 RTP/AVP 111')],
  ['not Opus in both directions', without('a=rtpmap:111')],
  ['not Opus in both directions', instead('a=sendrecv', 'a=recvonly')],
  ['not Opus in both directions', instead('a=sendrecv', 'a=sendonly')],
  ['has no a=ice-ufrag', without('a=ice-ufrag')],
  ['has no a=fingerprint', without('a=fingerprint')],
])('an offer that %s is refused', (reason, change) => {
  expect(() => checkOffer(offer(change))).toThrow(
    expect.objectContaining({ code: 'OFFER_INVALID', message: expect.stringContaining(reason) as string }),
  );
});

test('whatever it is given, it is quick, and refuses by that one error', () => {
  const line = fc.oneof(fc.constantFrom(...LINES), fc.string(), fc.constant('m=audio 9 UDP/TLS/RTP/SAVPF 111'));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
      try {
        checkOffer(lines.join('\n'));
      } catch (error) {
        expect(error).toMatchObject({ code: 'OFFER_INVALID' });
      }
    }),
    { seed: 3, numRuns: 1_000 },
  );
});
