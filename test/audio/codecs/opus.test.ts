import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadOpus, type OpusDecoder } from '../../../src/audio/codecs/opus.js';
import { Resampler } from '../../../src/audio/dsp/resample.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { packageFile } from '../../../src/package-files.js';

const opus = await loadOpus();
const file = readFileSync(packageFile('fixtures/audio/booking/slt/track.wav'));
const { samples, sampleRateHz } = decodeWav(file);
const begins = samples.findIndex((sample) => Math.abs(sample) > 1_000);
const speech = samples.subarray(begins, begins + sampleRateHz * 6);

function frames(rateHz: number): Int16Array[] {
  const at = rateHz === sampleRateHz ? speech : new Resampler(sampleRateHz, rateHz).process(speech);
  const length = rateHz / 50;
  return Array.from({ length: Math.floor(at.length / length) }, (_, n) => at.slice(n * length, (n + 1) * length));
}

/** Energy of the signal over that of the difference, in dB. */
function likeness(signal: readonly Int16Array[], other: readonly Int16Array[]): number {
  let [energy, difference] = [0, 0];
  for (const [n, frame] of signal.entries()) {
    for (const [k, sample] of frame.entries()) {
      energy += sample ** 2;
      difference += (sample - (other[n]?.[k] ?? 0)) ** 2;
    }
  }
  return 10 * Math.log10(energy / difference);
}

test.each([16_000, 24_000, 48_000] as const)('what was encoded at %i Hz is heard at 16 000 Hz', (rateHz) => {
  const encoder = opus.encoder({ sampleRateHz: rateHz });
  const decoder = opus.decoder(16_000);
  const heard = frames(rateHz).flatMap((frame) => [...decoder.decode(encoder.encode(frame))]);
  expect(heard.length).toBe(Math.floor(speech.length / 320) * 320);
  const level = (samples: readonly number[] | Int16Array): number =>
    Math.sqrt([...samples].reduce((sum, sample) => sum + sample ** 2, 0) / samples.length);
  expect(level(heard) / level(speech)).toBeGreaterThan(0.8);
  expect(level(heard) / level(speech)).toBeLessThan(1.2);
  encoder.close();
  decoder.close();
});

test('a lost packet is better recovered from the one behind it than made up, and that better than silence', () => {
  const encoder = opus.encoder({ sampleRateHz: 16_000, expectedLoss: 0.2 });
  const packets = frames(16_000).map((frame) => encoder.encode(frame));
  const whole = opus.decoder(16_000);
  const right = packets.map((packet) => whole.decode(packet));
  const isLost = (n: number): boolean => n % 10 === 9 && n + 1 < packets.length;
  const filled = (fill: (decoder: OpusDecoder, n: number) => Int16Array): Int16Array[] => {
    const decoder = opus.decoder(16_000);
    return packets.flatMap((packet, n) => {
      if (isLost(n)) return [fill(decoder, n)];
      decoder.decode(packet);
      return [];
    });
  };
  const missing = right.filter((_, n) => isLost(n));
  const recovered = likeness(
    missing,
    filled((decoder, n) => decoder.recover(packets[n + 1] ?? new Uint8Array(), 20)),
  );
  const concealed = likeness(
    missing,
    filled((decoder) => decoder.conceal(20)),
  );
  expect(recovered).toBeGreaterThan(5);
  expect(concealed).toBeGreaterThan(0.3);
  expect(recovered).toBeGreaterThan(concealed + 3);
});

test('silence takes next to nothing, and speech what was asked for', () => {
  const encoder = opus.encoder({ sampleRateHz: 24_000, bitrate: 24_000, expectedLoss: 0 });
  const silent = Array.from({ length: 250 }, () => encoder.encode(new Int16Array(480)).length);
  expect(silent.slice(50).filter((bytes) => bytes <= 2).length).toBeGreaterThan(150);
  const spoken = frames(24_000).map((frame) => encoder.encode(frame).length);
  expect(Math.max(...spoken)).toBeGreaterThan(40);
  expect((spoken.reduce((sum, bytes) => sum + bytes, 0) * 8) / (spoken.length * 0.02)).toBeLessThan(30_000);
});

test('whatever comes, the decoder gives audio or says that it cannot, and goes on', () => {
  const decoder = opus.decoder(16_000);
  const good = opus.encoder({ sampleRateHz: 16_000 }).encode(frames(16_000)[50] ?? new Int16Array(320));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), fc.boolean(), (junk, recover) => {
      try {
        const samples = recover ? decoder.recover(junk, 20) : decoder.decode(junk);
        expect(samples.length).toBeLessThanOrEqual(16_000 * 0.12);
      } catch (error) {
        expect(error).toMatchObject({ code: 'AUDIO_UNDECODABLE' });
      }
      expect(decoder.decode(good).length).toBe(320);
    }),
    { numRuns: 2_000, seed: 5 },
  );
});

test('what is closed takes nothing more and leaves no memory behind', () => {
  const encoder = opus.encoder({ sampleRateHz: 16_000 });
  expect(() => encoder.encode(new Int16Array(100))).toThrow('a frame of 100 samples');
  encoder.close();
  encoder.close();
  expect(() => encoder.encode(new Int16Array(320))).toThrow('Opus');
  // A leak would take 80 MB here, and end beyond what the module may have.
  for (let n = 0; n < 2_000; n++) {
    const [one, other] = [opus.encoder({ sampleRateHz: 48_000 }), opus.decoder(48_000)];
    one.close();
    other.close();
    other.close();
  }
  expect(opus.memoryBytes).toBeLessThan(40_000_000);
});
