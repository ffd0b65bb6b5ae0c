import { describe, expect, it } from 'vitest';
import { StreamFraming } from '../../../../src/telephony/sip/transport/connection.js';

const message = (body: string): string =>
  `OPTIONS sip:a@b SIP/2.0\r\nCall-ID: x\r\nl: ${String(body.length)}\r\n\r\n${body}`;

describe('messages in a stream', () => {
  it('are the same however it is cut', () => {
    const stream = Buffer.from(`${message('one')}\r\n${message('')}\r\n\r\n${message('three\r\n\r\n')}`);
    for (const size of [1, 2, 3, 7, 50, stream.length]) {
      const framing = new StreamFraming();
      const bodies: string[] = [];
      let pings = 0;
      for (let at = 0; at < stream.length; at += size) {
        for (const framed of framing.push(stream.subarray(at, at + size))) {
          if (framed.type === 'message')
            bodies.push(Buffer.from(framed.bytes).toString().split('\r\n\r\n', 2)[1] ?? '');
          else if (framed.type === 'ping') pings++;
        }
      }
      expect([bodies, pings, framing.isWithin], String(size)).toEqual([['one', '', 'three'], 1, false]);
    }
  });

  it.each([
    ['a head without an end', 'a'.repeat(20_000)],
    ['a body that is too long', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 99999999\r\n\r\n'],
    ['two lengths', 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 1\r\nl: 2\r\n\r\nab'],
  ])('end with %s', (_what, bytes) => {
    const framing = new StreamFraming();
    expect(framing.push(Buffer.from(bytes)).map(({ type }) => type)).toEqual(['broken']);
    expect(framing.push(Buffer.from(message('')))).toEqual([]);
  });
});
