import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { Random } from '../../../src/base/random.js';
import { HmacSha1 } from '../../../src/transports/rtp/srtp-cipher.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

it('gives what RFC 2202 gives', () => {
  expect(hex(new HmacSha1(Buffer.alloc(20, 0x0b)).of(Buffer.from('Hi There')))).toBe(
    'b617318655057264e28bc0b6fb378c8ef146be00',
  );
  expect(hex(new HmacSha1(Buffer.from('Jefe')).of(Buffer.from('what do ya want for nothing?')))).toBe(
    'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
  );
});

it("gives what the system's cryptography gives, whatever the key and of every length", () => {
  const random = new Random(1);
  const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => random.int(0, 255));
  for (let length = 0; length <= 400; length++) {
    const [key, message] = [bytes(random.int(0, 64)), bytes(length + 8)];
    const expected = createHmac('sha1', key).update(message.subarray(0, length)).digest('hex');
    expect(hex(new HmacSha1(key).of(message, length))).toBe(expected);
  }
  expect(() => new HmacSha1(bytes(65))).toThrow(RangeError);
});
