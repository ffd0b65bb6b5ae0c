import { describe, expect, it } from 'vitest';
import { loudest, PeakReader } from '../../../../src/web/console/calls/waveform.js';

const RATE_HZ = 8000;

/** A stereo WAV with a JUNK chunk in front, as recordings have it. */
function wav(left: readonly number[], right: readonly number[], channels = 2): Uint8Array {
  const data = Buffer.alloc(left.length * 4);
  left.forEach((sample, at) => {
    data.writeInt16LE(sample, at * 4);
    data.writeInt16LE(right[at] ?? 0, at * 4 + 2);
  });
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0);
  format.writeUInt16LE(channels, 2);
  format.writeUInt32LE(RATE_HZ, 4);
  format.writeUInt16LE(16, 14);
  const chunk = (id: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.write(id, 0, 'latin1');
    head.writeUInt32LE(body.length, 4);
    return Buffer.concat([head, body]);
  };
  const body = Buffer.concat([
    Buffer.from('WAVE'),
    chunk('JUNK', Buffer.alloc(28)),
    chunk('fmt ', format),
    chunk('data', data),
  ]);
  // What stands behind the sound is none.
  return Buffer.concat([chunk('RIFF', body), Buffer.from('LIST\u0004\u0000\u0000\u0000xxxx', 'latin1')]);
}

describe('the waveforms of a recording', () => {
  const left = Array.from({ length: 240 }, (_, at) => (at < 80 ? 16_384 : 0));
  const right = Array.from({ length: 240 }, (_, at) => (at >= 160 ? -32_768 : 0));
  const file = wav(left, right);

  it.each([1, 3, 7, 64, 10_000])('are the same in pieces of %i bytes', (size) => {
    const reader = new PeakReader();
    for (let at = 0; at < file.length; at += size) reader.push(file.subarray(at, at + size));
    expect([...reader.peaks.user]).toEqual([0.5, 0, 0]);
    expect([...reader.peaks.agent]).toEqual([0, 0, 1]);
    expect(reader.durationMs).toBe(30);
  });

  it('refuses what is no such recording', () => {
    expect(() => new PeakReader().push(Buffer.from('<!doctype html>'))).toThrow('not a WAV');
    expect(() => new PeakReader().push(wav(left, right, 1))).toThrow('not 16-bit stereo');
  });

  it('are nothing before there is any sound', () => {
    expect(new PeakReader().peaks.user).toHaveLength(0);
  });

  it('tells the loudest of a stretch, also of less than one peak', () => {
    const peaks = Float32Array.of(0.1, 0.75, 0.5);
    expect(loudest(peaks, 0, 30)).toBe(0.75);
    expect(loudest(peaks, 21, 22)).toBe(0.5);
    expect(loudest(peaks, 500, 600)).toBe(0);
  });
});
