import { expect, it } from 'vitest';
import { AudioBody } from '../../../../src/providers/tts/shared/http-tts.js';
import { encodeWav } from '../../../../src/audio/files/wav.js';

it('takes bare PCM cut anywhere', () => {
  const body = new AudioBody('audio/pcm', 24_000);
  const bytes = Buffer.from(Int16Array.of(82, 500, -3).buffer);
  expect([...bytes].flatMap((byte) => [...body.push(Buffer.of(byte))])).toEqual([82, 500, -3]);
  body.end();
  expect(body.sampleRateHz).toBe(24_000);
});

it.each(['application/json', 'text/html', 'audio/mpeg'])('refuses %s', (contentType) => {
  expect(() => new AudioBody(contentType, 24_000)).toThrow(contentType);
});

it('takes a WAV file, with the rate that it says, and waits for its header', () => {
  const wav = Buffer.from(encodeWav([Int16Array.of(1, -2, 3)], 16_000));
  const body = new AudioBody('audio/wav', 24_000);
  expect([...wav].flatMap((byte) => [...body.push(Buffer.of(byte))])).toEqual([1, -2, 3]);
  expect(body.sampleRateHz).toBe(16_000);
  const cut = new AudioBody('audio/wav', 24_000);
  cut.push(wav.subarray(0, 20));
  expect(() => cut.end()).toThrow('not a WAV file');
});
