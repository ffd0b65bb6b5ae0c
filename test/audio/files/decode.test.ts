import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMedia, decodeRecording } from '../../../src/audio/files/decode.js';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { resample } from '../../../src/audio/dsp/resample.js';
import { encodeWav } from '../../../src/audio/files/wav.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { sine } from '../signals.js';

const hasFfmpeg = (process.env['PATH'] ?? '').split(delimiter).some((path) => existsSync(join(path, 'ffmpeg')));
const TONE = sine(96_000, 440, 48_000, 8000);
const signal = new AbortController().signal;
const options = { sampleRateHz: 16_000, maxLengthS: 10, timeoutMs: 20_000, clock: new RealClock(), signal };

describe('a WAV', () => {
  it('is read without any program, as the resampler would', async () => {
    const decoded = await decodeMedia(encodeWav([TONE, TONE], 48_000), { ...options, program: '/nowhere/ffmpeg' });
    expect(decoded).toEqual(resample(TONE, 48_000, 16_000));
  });

  it('is cut at the longest length', async () => {
    const decoded = await decodeMedia(encodeWav(TONE, 48_000), { ...options, maxLengthS: 1 });
    expect(decoded).toHaveLength(16_000);
  });
});

describe('what is no audio', () => {
  it('is refused before any program sees it', async () => {
    const page = Buffer.from('<html><body>Not found</body></html>');
    await expect(decodeMedia(page, options)).rejects.toMatchObject({ code: 'AUDIO_UNDECODABLE' });
  });

  it('needs a program that is there', async () => {
    const work = decodeMedia(Buffer.from('OggS and so on'), { ...options, program: '/nowhere/ffmpeg' });
    await expect(work).rejects.toMatchObject({ code: 'AUDIO_DECODER_MISSING', message: /ogg/ });
  });
});

describe.skipIf(!hasFfmpeg)('ffmpeg', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-decode-'));
    writeFileSync(join(folder, 'tone.wav'), encodeWav(TONE, 48_000));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function made(name: string, ...args: string[]): Buffer {
    const path = join(folder, name);
    const { stderr, status } = spawnSync('ffmpeg', [
      '-v',
      'error',
      '-y',
      '-i',
      join(folder, 'tone.wav'),
      ...args,
      path,
    ]);
    expect([status, String(stderr)]).toEqual([0, '']);
    return readFileSync(path);
  }

  it.each<[name: string, args: string[]]>([
    ['tone.mp3', []],
    ['plain.mp3', ['-id3v2_version', '0', '-write_xing', '0']],
    ['tone.ogg', ['-c:a', 'libopus', '-f', 'ogg']],
    ['tone.flac', []],
    ['tone.m4a', ['-c:a', 'aac']],
    ['tone.aac', ['-c:a', 'aac', '-f', 'adts']],
    ['tone.webm', ['-c:a', 'libopus']],
    ['tone.aiff', []],
    ['tone.caf', []],
    ['adpcm.wav', ['-c:a', 'adpcm_ima_wav']],
    ['high.wav', ['-ar', '96000']],
  ])('decodes %s', async (name, args) => {
    const decoded = await decodeMedia(made(name, ...args), options);
    // Coders put a little before and after it.
    expect(Math.abs(decoded.length - 32_000)).toBeLessThan(2500);
    const middle = decoded.subarray(8000, 24_000);
    expect(levelOf(middle).rmsDbfs).toBeCloseTo(levelOf(resample(TONE, 48_000, 16_000)).rmsDbfs, 0);
  });

  it('gives one channel of a recording, or all of them', async () => {
    const stereo = ['-af', 'pan=stereo|c0=0*c0|c1=c0'];
    for (const bytes of [made('two.flac', ...stereo), made('two.wav', ...stereo)]) {
      const [left, right, both] = await Promise.all([0, 1, null].map((channel) => decodeRecording(bytes, channel)));
      const levels = [left, right, both].map((one) => levelOf(one?.samples ?? new Int16Array(0)).rmsDbfs);
      expect(levels[0]).toBeLessThan(-80);
      expect(levels[1]).toBeCloseTo(levelOf(TONE).rmsDbfs, 0);
      expect(levels[2]).toBeCloseTo(levelOf(TONE).rmsDbfs - 6, 0);
    }
    expect((await decodeRecording(made('tone.ogg', '-c:a', 'libopus', '-f', 'ogg'))).sampleRateHz).toBe(16_000);
    await expect(decodeRecording(made('one.flac'), 5)).rejects.toMatchObject({ code: 'AUDIO_UNDECODABLE' });
  });

  it('decodes a large WAV, so that calls go on meanwhile', async () => {
    const large = encodeWav(sine(1_100_000, 440, 48_000, 8000), 48_000);
    const decoded = await decodeMedia(large, { ...options, maxLengthS: 20 });
    expect(decoded).toHaveLength(20 * 16_000);
    // Without the program it is read here.
    expect(await decodeMedia(large, { ...options, maxLengthS: 20, program: '/nowhere/ffmpeg' })).toHaveLength(320_000);
  });

  it('tells what is broken, and leaves nothing behind', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('parley-media-')).length;
    const broken = Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(5000, 0x5a)]);
    await expect(decodeMedia(broken, options)).rejects.toMatchObject({ code: 'AUDIO_UNDECODABLE' });
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('parley-media-')).length).toBeLessThanOrEqual(before);
  });

  it('is killed when its time is up or nobody wants it any more', async () => {
    const slow = join(folder, 'slow');
    writeFileSync(slow, '#!/bin/sh\nexec sleep 30\n', { mode: 0o755 });
    const bytes = Buffer.from('OggS and so on');
    await expect(decodeMedia(bytes, { ...options, program: slow, timeoutMs: 50 })).rejects.toThrow('50 ms');
    const leaving = new AbortController();
    const work = decodeMedia(bytes, { ...options, program: slow, signal: leaving.signal });
    leaving.abort(new Error('left'));
    await expect(work).rejects.toThrow('left');
  });
});
