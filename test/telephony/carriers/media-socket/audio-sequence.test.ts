import { expect, it } from 'vitest';
import { MediaOrder, telnyxMessages } from '../../../../src/telephony/carriers/telnyx/media-messages.js';
import { TWILIO_MESSAGES } from '../../../../src/telephony/carriers/twilio/carrier.js';

const payload = Buffer.alloc(160, 0x7f).toString('base64');

/** The same message as carriers write it, and in ways that only a reading of the whole can take. */
function writings(message: object): string[] {
  const text = JSON.stringify(message);
  return [text, JSON.stringify(message, null, 2), ` ${text}\n`, text.replaceAll('":', '": ')];
}

it.each([
  ['numbers in quotes, the payload last', { track: 'inbound', chunk: '7', timestamp: '120', payload }],
  ['numbers as such, the payload first', { payload, track: 'inbound', timestamp: 120, chunk: 7 }],
  ['no track', { chunk: '7', timestamp: '120', payload }],
])('sound is read alike however it is written: %s', (_what, media) => {
  for (const message of [
    { event: 'media', media, stream_id: 'a' },
    { stream_id: 'a', media, event: 'media' },
  ]) {
    const texts = writings(message);
    const read = texts.map((text) => TWILIO_MESSAGES.read(text));
    expect(read).toEqual(texts.map(() => ({ type: 'media', payload, atMs: 120 })));
    expect(texts.map((text) => telnyxMessages().read(text))).toEqual(
      texts.map(() => ({ type: 'media', payload, atMs: 120 })), // six pieces of 20 ms are missing before it
    );
    for (const text of texts) {
      const order = new MediaOrder();
      order.push(JSON.stringify({ event: 'media', media: { chunk: '6', payload } }));
      expect([order.push(text), order.push(text)]).toEqual([[text], []]);
    }
  }
});

it('sound of our own, and what is no sound, is not cut out', () => {
  for (const media of [
    { track: 'outbound', chunk: '7', timestamp: '120', payload },
    { payload, chunk: '7', timestamp: '120', track: 'outbound' },
  ]) {
    const text = JSON.stringify({ event: 'media', media });
    expect([TWILIO_MESSAGES.read(text), telnyxMessages().read(text)]).toEqual([null, null]);
  }
  const escaped = `{"event":"media","media":{"payload":"a\\/b=","chunk":"1","timestamp":"0"}}`;
  expect(TWILIO_MESSAGES.read(escaped)).toEqual({ type: 'media', payload: 'a/b=', atMs: 0 });
  expect(telnyxMessages().read(escaped)).toEqual({ type: 'media', payload: 'a/b=', atMs: 0 });
  for (const broken of [
    '{"event":"media","media":{"payload":"',
    '{"event":"media","media":{"payload":"AA==","chunk":"',
  ]) {
    expect(() => TWILIO_MESSAGES.read(broken)).toThrow(SyntaxError);
    expect(() => telnyxMessages().read(broken)).toThrow(SyntaxError);
  }
  for (const odd of ['1e3', '-1', '1.5', '', '12345678901234567890', null, true]) {
    const read = TWILIO_MESSAGES.read(JSON.stringify({ event: 'media', media: { payload, timestamp: odd } }));
    expect(read).toMatchObject({ type: 'media', payload });
  }
});
