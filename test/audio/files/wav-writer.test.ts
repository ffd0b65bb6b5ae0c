import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { wavHeader } from '../../../src/audio/files/wav-format.js';
import { WavWriter } from '../../../src/audio/files/wav-writer.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { concat, pieces, sine } from '../signals.js';

describe('WavWriter', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-wav-'));
    path = join(folder, 'out.wav');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const read = async () => decodeWav(await readFile(path));

  it('writes what it is given, however it is cut', async () => {
    const left = sine(50_000, 440, 16_000, 9_000);
    const right = sine(50_000, 300, 16_000, 5_000);
    const writer = await WavWriter.create(path, { sampleRateHz: 16_000, channels: 2, flushEveryMs: 100 });
    const rights = [...pieces(right, [320, 1, 5_000])];
    for (const [i, part] of [...pieces(left, [320, 1, 5_000])].entries()) await writer.write(part, rights[i]!);
    expect(writer.frames).toBe(50_000);
    await writer.close();
    const audio = await read();
    expect(audio.channels).toEqual([left, right]);
    expect(audio.warnings).toEqual([]);
  });

  it('is a sound file after every flush, without close', async () => {
    const samples = sine(8_000, 440, 8_000, 9_000);
    const writer = await WavWriter.create(path, { sampleRateHz: 8_000, flushEveryMs: 100 });
    expect((await read()).samples).toHaveLength(0);
    for (const [i, part] of [...pieces(samples, [160])].entries()) {
      await writer.write(part);
      const audio = await read();
      const flushed = Math.floor(((i + 1) * 160) / 800) * 800;
      expect(audio.samples).toEqual(samples.subarray(0, flushed));
      expect(audio.warnings).toEqual([]);
    }
    await writer.close();
  });

  it('keeps the order of writes that nobody waits for, and copies what it is given', async () => {
    const writer = await WavWriter.create(path, { sampleRateHz: 8_000, flushEveryMs: 20 });
    const frame = new Int16Array(160);
    const expected: Int16Array[] = [];
    for (let i = 0; i < 50; i++) {
      frame.fill(i);
      expected.push(frame.slice());
      void writer.write(frame);
    }
    await writer.close();
    expect((await read()).samples).toEqual(concat(expected));
  });

  it('pads an odd number of G.711 bytes', async () => {
    const samples = sine(801, 440, 8_000, 9_000);
    const writer = await WavWriter.create(path, { sampleRateHz: 8_000, encoding: 'mulaw' });
    await writer.write(samples);
    await writer.close();
    const audio = await read();
    expect((await readFile(path)).length % 2).toBe(0);
    expect(audio.samples).toEqual(decodeG711('mulaw', encodeG711('mulaw', samples)));
    expect(audio.warnings).toEqual([]);
  });

  it('closes twice and then takes no more', async () => {
    const writer = await WavWriter.create(path, { sampleRateHz: 8_000 });
    await Promise.all([writer.close(), writer.close()]);
    await writer.close();
    await expect(writer.write(new Int16Array(1))).rejects.toThrow('closed');
    expect((await read()).samples).toHaveLength(0);
  });

  it('refuses channels that do not fit, and layouts and places that do not exist', async () => {
    const writer = await WavWriter.create(path, { sampleRateHz: 8_000, channels: 2 });
    await expect(writer.write(new Int16Array(2))).rejects.toThrow(RangeError);
    await expect(writer.write(new Int16Array(2), new Int16Array(3))).rejects.toThrow(RangeError);
    await writer.close();
    await expect(WavWriter.create(path, { sampleRateHz: 4_000 })).rejects.toMatchObject({
      code: 'AUDIO_RATE_UNSUPPORTED',
    });
    await expect(WavWriter.create(join(folder, 'no', 'such.wav'), { sampleRateHz: 8_000 })).rejects.toThrow('ENOENT');
  });
});

describe('the header of a growing file', () => {
  const layout = { sampleRateHz: 48_000, channels: 2, encoding: 'pcm16' } as const;

  it('becomes RF64 beyond 4 GiB, at the same length', () => {
    const small = Buffer.from(wavHeader(layout, 10, true));
    const large = Buffer.from(wavHeader(layout, 2 ** 31, true));
    expect(small.toString('latin1', 0, 4)).toBe('RIFF');
    expect(small.toString('latin1', 12, 16)).toBe('JUNK');
    expect(large).toHaveLength(small.length);
    expect(large.toString('latin1', 0, 4)).toBe('RF64');
    expect(large.readUInt32LE(4)).toBe(0xffff_ffff);
    expect(large.toString('latin1', 12, 16)).toBe('ds64');
    expect(large.readBigUInt64LE(20)).toBe(BigInt(large.length - 8) + 2n ** 33n);
    expect(large.readBigUInt64LE(28)).toBe(2n ** 33n);
    expect(large.readBigUInt64LE(36)).toBe(2n ** 31n);
    expect(large.readUInt32LE(large.length - 4)).toBe(0xffff_ffff);
  });

  it('refuses as much in a plain file', () => {
    expect(() => wavHeader(layout, 2 ** 31)).toThrow('4 GiB');
  });
});
