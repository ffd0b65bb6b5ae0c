import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WavStream } from '../../../../src/providers/tts/shared/wav-stream.js';

function wav(
  samples: number[],
  parts: { channels?: number; bits?: number; format?: number; before?: Buffer } = {},
): Buffer {
  const format = Buffer.alloc(24);
  format.write('fmt ');
  format.writeUInt32LE(16, 4);
  format.writeUInt16LE(parts.format ?? 1, 8);
  format.writeUInt16LE(parts.channels ?? 1, 10);
  format.writeUInt32LE(22_050, 12);
  format.writeUInt32LE(44_100, 16);
  format.writeUInt16LE(2, 20);
  format.writeUInt16LE(parts.bits ?? 16, 22);
  // A program that writes to a pipe gives lengths like these.
  const riff = Buffer.from('RIFF\xff\xff\xff\x7fWAVE', 'latin1');
  const data = Buffer.from('data\xff\xff\xff\x7f', 'latin1');
  return Buffer.concat([
    riff,
    parts.before ?? Buffer.alloc(0),
    format,
    data,
    Buffer.from(Int16Array.from(samples).buffer),
  ]);
}

function readAll(bytes: Buffer, sizes: number[]): { samples: number[]; rateHz: number } {
  const stream = new WavStream();
  const samples: number[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    samples.push(...stream.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return { samples, rateHz: stream.sampleRateHz };
}

describe('WAV from a pipe', () => {
  it('reads the same samples in whatever pieces they come', () => {
    const samples = [0, 1, -1, 32_767, -32_768, 5, 77];
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 }), (sizes) => {
        expect(readAll(wav(samples), sizes)).toEqual({ samples, rateHz: 22_050 });
      }),
    );
  });

  it('skips other chunks and drops half a sample at the end', () => {
    const other = Buffer.from('LIST\x03\x00\x00\x00abc\x00', 'latin1');
    const bytes = Buffer.concat([wav([1, 2], { before: other }), Buffer.from([9])]);
    expect(readAll(bytes, [7]).samples).toEqual([1, 2]);
  });

  it.each([
    [Buffer.from('Usage: espeak-ng'), 'not a WAV file'],
    [wav([1], { channels: 2 }), 'not 16-bit mono'],
    [wav([1], { bits: 8 }), 'not 16-bit mono'],
    [wav([1], { format: 3 }), 'not 16-bit mono'],
    [Buffer.concat([Buffer.from('RIFF0000WAVEdata0000'), Buffer.alloc(8)]), 'its format chunk is missing'],
    [Buffer.concat([Buffer.from('RIFF0000WAVEjunk\xff\xff\xff\x7f', 'latin1'), Buffer.alloc(5000)]), 'no audio data'],
  ])('refuses what it is not', (bytes, reason) => {
    expect(() => new WavStream().push(bytes)).toThrow(reason);
  });

  it('knows an end inside the header from no input at all', () => {
    const cut = new WavStream();
    cut.push(Buffer.from('RIFF'));
    expect(() => {
      cut.end();
    }).toThrow('not a WAV file');
    new WavStream().end();
    const whole = new WavStream();
    whole.push(wav([1]));
    whole.end();
  });

  it('gives nothing for a header alone', () => {
    expect(readAll(wav([]), [44]).samples).toEqual([]);
    expect(readAll(wav([]).subarray(0, 20), [20]).samples).toEqual([]);
  });
});
