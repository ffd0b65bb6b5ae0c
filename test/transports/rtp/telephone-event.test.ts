import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TelephoneEvents } from '../../../src/transports/rtp/telephone-event.js';

/** event, end bit and volume, duration (RFC 4733, 2.3) */
const packet = (event: number, isEnd: boolean, duration: number): Uint8Array =>
  Uint8Array.of(event, (isEnd ? 0x80 : 0) | 10, duration >> 8, duration & 0xff);

test('a key is reported at its first packet, whichever that is', () => {
  const events = new TelephoneEvents();
  expect(events.read(packet(5, false, 160), 1000)).toBe('5');
  expect(events.read(packet(5, false, 320), 1000)).toBeNull();
  for (let n = 0; n < 3; n++) expect(events.read(packet(5, true, 800), 1000)).toBeNull();
  // As browsers send it at 8000 Hz: nothing but the end.
  expect(events.read(packet(5, true, 800), 3000)).toBe('5');
  expect(events.read(packet(5, true, 800), 3000)).toBeNull();
  expect(events.read(packet(11, false, 160), 5000)).toBe('#');
  expect(events.read(packet(10, false, 160), 6000)).toBe('*');
  expect(events.read(packet(15, false, 160), 7000)).toBe('D');
});

test('a key that is held for long is one, though it goes on in another event', () => {
  const events = new TelephoneEvents();
  expect(events.read(packet(5, false, 65_000), 0)).toBe('5');
  expect(events.read(packet(5, false, 65_535), 0)).toBeNull();
  expect(events.read(packet(5, false, 160), 65_535)).toBeNull();
  expect(events.read(packet(5, true, 800), 65_535)).toBeNull();
  expect(events.read(packet(5, false, 160), 70_000)).toBe('5');
});

test('a key is one where its timestamps go on with its packets', () => {
  const events = new TelephoneEvents();
  expect(events.read(packet(5, false, 160), 1_000)).toBe('5');
  for (let n = 1; n < 5; n++) expect(events.read(packet(5, false, 160 * (n + 1)), 1_000 + 160 * n)).toBeNull();
});

test('the same key pressed again is another one, also where the end of the first was lost', () => {
  const events = new TelephoneEvents();
  expect(events.read(packet(5, false, 800), 1_000)).toBe('5');
  expect(events.read(packet(5, false, 160), 2_600)).toBe('5');
});

test('a packet of an earlier key that comes late is none', () => {
  const events = new TelephoneEvents();
  expect(events.read(packet(1, false, 800), 1_000)).toBe('1');
  expect(events.read(packet(2, false, 160), 2_600)).toBe('2');
  expect(events.read(packet(1, true, 800), 1_000)).toBeNull();
  expect(events.read(packet(2, true, 800), 2_600)).toBeNull();
});

test('events that are no keys, and junk, are none', () => {
  const events = new TelephoneEvents();
  expect(events.read(packet(16, false, 160), 1)).toBeNull();
  expect(events.read(Uint8Array.of(1, 2, 3), 2)).toBeNull();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 10 }), fc.integer(), (junk, timestamp) => {
      expect(events.read(junk, timestamp) ?? '0').toMatch(/^[0-9*#A-D]$/);
    }),
  );
});
