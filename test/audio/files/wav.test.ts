import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '../../../src/audio/codecs/g711.js';
import { decodeWav, encodeWav } from '../../../src/audio/files/wav.js';
import { ParleyError } from '../../../src/base/errors.js';
import { seededRandom, sine } from '../signals.js';

interface Chunk {
  id: string;
  body: Uint8Array;
  /** What the header claims, where that is not the truth. */
  stated?: number;
  pad?: boolean;
}

function file(chunks: readonly Chunk[], form = 'RIFF', riffSize?: number): Uint8Array {
  const parts = chunks.map(({ id, body, stated, pad = true }) => {
    const bytes = Buffer.alloc(8 + body.length + (pad ? body.length & 1 : 0));
    bytes.write(id, 'latin1');
    bytes.writeUInt32LE(stated ?? body.length, 4);
    bytes.set(body, 8);
    return bytes;
  });
  const rest = Buffer.concat([Buffer.from('WAVE'), ...parts]);
  const head = Buffer.alloc(8);
  head.write(form, 'latin1');
  head.writeUInt32LE(riffSize ?? rest.length, 4);
  return Buffer.concat([head, rest]);
}

interface Format {
  tag?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  block?: number;
  extensible?: boolean;
}

function fmt({ tag = 1, channels = 1, rate = 16_000, bits = 16, block, extensible = false }: Format = {}): Chunk {
  const body = Buffer.alloc(extensible ? 40 : 16);
  const blockBytes = block ?? (channels * bits) / 8;
  body.writeUInt16LE(extensible ? 0xfffe : tag, 0);
  body.writeUInt16LE(channels, 2);
  body.writeUInt32LE(rate, 4);
  body.writeUInt32LE((rate * blockBytes) >>> 0, 8);
  body.writeUInt16LE(blockBytes, 12);
  body.writeUInt16LE(bits, 14);
  if (extensible) {
    body.writeUInt16LE(22, 16);
    body.writeUInt16LE(bits, 18);
    body.writeUInt16LE(tag, 24);
    Buffer.from('000000001000800000aa00389b71', 'hex').copy(body, 26);
  }
  return { id: 'fmt ', body };
}

function data(body: ArrayLike<number>, stated?: number): Chunk {
  return { id: 'data', body: Uint8Array.from(body), ...(stated === undefined ? {} : { stated }) };
}

function pcm16(...samples: number[]): Uint8Array {
  return new Uint8Array(Int16Array.from(samples).buffer);
}

function reasonOf(bytes: Uint8Array): string {
  try {
    decodeWav(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(ParleyError);
    expect((error as ParleyError).code).toBe('AUDIO_WAV_INVALID');
    return String((error as ParleyError).details['reason']);
  }
  throw new Error('It was read');
}

describe('reading formats', () => {
  it.each([
    ['8-bit PCM', { bits: 8 }, [0, 128, 255], [-32_768, 0, 32_512]],
    ['16-bit PCM', { bits: 16 }, [0x34, 0x12, 0x00, 0x80], [0x1234, -32_768]],
    [
      '24-bit PCM, rounded',
      { bits: 24 },
      [0x7f, 0x34, 0x12, 0x80, 0x34, 0x12, 0xff, 0xff, 0x7f],
      [0x1234, 0x1235, 32_767],
    ],
    ['20 bits in 24', { bits: 20, block: 3 }, [0x00, 0x34, 0x12], [0x1234]],
    [
      '32-bit PCM, rounded',
      { bits: 32 },
      [0, 0x7f, 0x34, 0x12, 0, 0, 0, 0x80, 0, 0x80, 0xff, 0xff],
      [0x1234, -32_768, 0],
    ],
    ['mu-law', { tag: 7, bits: 8 }, [0x80, 0x00, 0xff], [32_124, -32_124, 0]],
    ['A-law', { tag: 6, bits: 8 }, [0xaa, 0x2a, 0xd5], [32_256, -32_256, 8]],
    ['extensible PCM', { bits: 16, extensible: true }, [0x34, 0x12], [0x1234]],
    ['extensible mu-law', { tag: 7, bits: 8, extensible: true }, [0x80], [32_124]],
  ] as const)('%s', (_, format, body, expected) => {
    const audio = decodeWav(file([fmt(format), data(body)]));
    expect([...audio.samples]).toEqual(expected);
    expect(audio.sampleRateHz).toBe(16_000);
    expect(audio.warnings).toEqual([]);
  });

  it('32-bit float, clipped, with NaN as silence', () => {
    const floats = Float32Array.of(0, 0.5, -1, 1, 7, -7, Number.NaN, Infinity, -Infinity);
    const audio = decodeWav(file([fmt({ tag: 3, bits: 32 }), data(new Uint8Array(floats.buffer))]));
    expect([...audio.samples]).toEqual([0, 16_384, -32_768, 32_767, 32_767, -32_768, 0, 32_767, -32_768]);
  });

  it('stereo: the mean, or the channel that was asked for', () => {
    const bytes = file([fmt({ channels: 2 }), data(pcm16(100, 300, -32_768, -32_768, 1, 2))]);
    expect([...decodeWav(bytes).samples]).toEqual([200, -32_768, 2]);
    expect([...decodeWav(bytes, { channel: 1 }).samples]).toEqual([300, -32_768, 2]);
    expect(decodeWav(bytes).channels.map((channel) => [...channel])).toEqual([
      [100, -32_768, 1],
      [300, -32_768, 2],
    ]);
    expect(() => decodeWav(bytes, { channel: 2 })).toThrow('channel 2 was requested, but it has 2, numbered from 0');
    expect(() => decodeWav(bytes, { channel: -1 })).toThrow(ParleyError);
  });

  it('RF64 with its size in the ds64 chunk, and what follows the data left out', () => {
    const ds64 = Buffer.alloc(28);
    ds64.writeBigUInt64LE(4n, 8);
    const bytes = file(
      [{ id: 'ds64', body: ds64 }, fmt(), data(pcm16(1, 2), 0xffff_ffff), { id: 'LIST', body: Uint8Array.of(9, 9) }],
      'RF64',
      0xffff_ffff,
    );
    expect(decodeWav(bytes)).toMatchObject({ samples: Int16Array.of(1, 2), warnings: [] });
  });

  it('a view into a larger buffer at an odd offset', () => {
    const bytes = file([fmt(), data(pcm16(5, -6))]);
    const larger = new Uint8Array(bytes.length + 10).fill(0xee);
    larger.set(bytes, 3);
    expect([...decodeWav(larger.subarray(3, 3 + bytes.length)).samples]).toEqual([5, -6]);
  });
});

describe('reading chunks', () => {
  it('skips what it does not know, odd sizes with their padding', () => {
    const bytes = file([
      { id: 'bext', body: Uint8Array.of(1, 2, 3) },
      fmt(),
      { id: 'LIST', body: Uint8Array.of(1) },
      data(pcm16(7)),
      { id: 'id3 ', body: Uint8Array.of(1) },
    ]);
    expect(decodeWav(bytes)).toMatchObject({ samples: Int16Array.of(7), warnings: [] });
  });

  it('finds the format behind the data', () => {
    expect([...decodeWav(file([data(pcm16(7, 8)), fmt()])).samples]).toEqual([7, 8]);
  });

  it('takes an odd chunk without padding, and says so', () => {
    const bytes = file([fmt(), { id: 'LIST', body: Uint8Array.of(1), pad: false }, data(pcm16(7))]);
    const audio = decodeWav(bytes);
    expect([...audio.samples]).toEqual([7]);
    expect(audio.warnings.join()).toContain('padding');
  });

  it('does not care for what follows the audio', () => {
    for (const tail of [Buffer.alloc(12), Buffer.from('LIST\xff\xff\xff\xff', 'latin1')]) {
      const audio = decodeWav(Buffer.concat([file([fmt(), data(pcm16(7)), data(pcm16(8))]), tail]));
      expect(audio).toMatchObject({ samples: Int16Array.of(7), warnings: [] });
    }
  });

  it('stops where no chunk follows', () => {
    expect(reasonOf(Buffer.concat([file([fmt()]), Buffer.alloc(12)]))).toBe('it has no "data" chunk');
    const audio = decodeWav(Buffer.concat([file([fmt({ bits: 8 }), data([1, 2, 3], 3)])]));
    expect(audio.samples).toHaveLength(3);
  });

  it('gives up on a file that is nothing but chunks', () => {
    const small = Array.from({ length: 1_001 }, () => ({ id: 'junk', body: new Uint8Array(0) }));
    expect(reasonOf(file([fmt(), ...small]))).toBe('it has more than 1000 chunks before its audio');
    // Each empty data chunk could be a stream's: deciding that must not be done for each of them anew.
    const empty = Array.from({ length: 100_000 }, () => data([]));
    expect(decodeWav(file([fmt(), ...empty])).warnings).toHaveLength(1);
  });

  it('reads a file without any samples', () => {
    const audio = decodeWav(file([fmt(), data([])]));
    expect(audio).toMatchObject({ samples: new Int16Array(0), warnings: [] });
    const listed = decodeWav(file([fmt(), data([]), { id: 'LIST', body: Uint8Array.of(1, 2, 3) }]));
    expect(listed).toMatchObject({ samples: new Int16Array(0), warnings: [] });
  });
});

describe('salvage', () => {
  it.each([0, 0xffff_ffff, 0x7fff_ffff, 0x7fff_f000])('a stream that states %i bytes', (stated) => {
    const audio = decodeWav(file([fmt(), data(pcm16(1, 2, 3), stated)], 'RIFF', stated));
    expect([...audio.samples]).toEqual([1, 2, 3]);
    expect(audio.warnings).toEqual(['the data chunk states no size and was read to the end of the file']);
  });

  it('a data chunk that goes beyond the file', () => {
    const audio = decodeWav(file([fmt(), data(pcm16(1, 2, 3), 1000)]));
    expect([...audio.samples]).toEqual([1, 2, 3]);
    expect(audio.warnings).toEqual(['the data chunk states 1000 bytes and the file has 6 of them']);
  });

  it('a last frame cut in the middle', () => {
    const bytes = file([fmt({ channels: 2 }), data(pcm16(1, 3, 5, 7))]);
    const audio = decodeWav(bytes.subarray(0, bytes.length - 3));
    expect([...audio.samples]).toEqual([2]);
    expect(audio.warnings).toHaveLength(2);
    expect(audio.warnings[1]).toBe('the last 1 bytes are not a whole sample frame and were dropped');
  });

  it('a wrong block size', () => {
    const audio = decodeWav(file([fmt({ block: 9 }), data(pcm16(1, 2))]));
    expect([...audio.samples]).toEqual([1, 2]);
    expect(audio.warnings.join()).toContain('9 bytes a sample frame');
  });

  it('a file cut anywhere after the format gives a prefix', () => {
    const whole = encodeWav(sine(100, 440, 8_000, 9_000), 8_000);
    const samples = decodeWav(whole).samples;
    for (let length = 44; length < whole.length; length++) {
      const part = decodeWav(whole.subarray(0, length));
      expect(part.samples).toEqual(samples.subarray(0, (length - 44) >> 1));
      expect(part.warnings.length).toBeGreaterThan(0);
    }
  });
});

describe('refusal, with the reason', () => {
  it.each([
    ['nothing', new Uint8Array(0), '0 bytes are too few for a header'],
    ['something else', new Uint8Array(100).fill(65), 'it does not start as RIFF/WAVE'],
    ['big-endian', file([fmt(), data([])], 'RIFX'), 'it is big-endian (RIFX)'],
    ['no format', file([data(pcm16(1))]), 'it has no "fmt " chunk'],
    ['no data', file([fmt()]), 'it has no "data" chunk'],
    [
      'a short format',
      file([{ id: 'fmt ', body: new Uint8Array(8) }, data([])]),
      'its "fmt " chunk has 8 bytes instead of 16 or more',
    ],
    ['zero channels', file([fmt({ channels: 0 }), data([])]), '0 channels (1 to 8 are read)'],
    ['too many channels', file([fmt({ channels: 9 }), data([])]), '9 channels (1 to 8 are read)'],
    [
      'another codec',
      file([fmt({ tag: 0x55 }), data([])]),
      'its format tag is 0x55 (PCM, float, mu-law and A-law are read)',
    ],
    ['zero bits', file([fmt({ bits: 0 }), data([])]), '0-bit PCM (8 to 32 are read)'],
    ['64 bits', file([fmt({ bits: 64 }), data([])]), '64-bit PCM (8 to 32 are read)'],
    ['double float', file([fmt({ tag: 3, bits: 64 }), data([])]), '64-bit float (32 is read)'],
  ])('%s', (_, bytes, reason) => {
    expect(reasonOf(bytes)).toBe(reason);
  });

  it.each([0, 7999, 48_001, 0xffff_ffff])('a rate of %i Hz', (rate) => {
    expect(() => decodeWav(file([fmt({ rate }), data([])]))).toThrow(
      expect.objectContaining({ code: 'AUDIO_RATE_UNSUPPORTED' }),
    );
  });

  it('never fails in another way, whatever bytes are changed', () => {
    const random = seededRandom(5);
    const good = encodeWav([sine(50, 440, 8_000, 9_000), sine(50, 300, 8_000, 9_000)], 8_000, { encoding: 'alaw' });
    let read = 0;
    for (let round = 0; round < 5_000; round++) {
      const bytes = good.slice(0, 12 + Math.floor(random() * good.length));
      for (let i = 0; i < 3; i++) bytes[Math.floor(random() * 60)] = Math.floor(random() * 256);
      try {
        const audio = decodeWav(bytes);
        read++;
        expect(audio.samples.length).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(ParleyError);
      }
    }
    expect(read).toBeGreaterThan(10);
  });

  it('reads or refuses any bytes behind a RIFF head', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (tail) => {
        const bytes = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'), tail]);
        expect(() => decodeWav(bytes)).toThrow(ParleyError);
      }),
    );
  });
});

describe('writing', () => {
  const sample = fc.integer({ min: -32_768, max: 32_767 });
  const rates = fc.constantFrom(8_000, 16_000, 22_050, 24_000, 44_100, 48_000);

  it('is read back the same', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(sample, sample), { maxLength: 50 }), rates, (frames, rate) => {
        const channels = [0, 1].map((c) => Int16Array.from(frames, (frame) => frame[c]!));
        const audio = decodeWav(encodeWav(channels, rate));
        expect(audio.channels).toEqual(channels);
        expect(audio.sampleRateHz).toBe(rate);
        expect(audio.warnings).toEqual([]);
      }),
    );
  });

  it.each(['mulaw', 'alaw'] as const)('%s, odd lengths padded', (law) => {
    const samples = sine(101, 440, 8_000, 12_000);
    const bytes = encodeWav(samples, 8_000, { encoding: law });
    const audio = decodeWav(bytes);
    expect(bytes.length % 2).toBe(0);
    expect(audio.samples).toEqual(decodeG711(law, encodeG711(law, samples)));
    expect(audio.warnings).toEqual([]);
  });

  it('uses the 44-byte header that every program reads', () => {
    const bytes = Buffer.from(encodeWav(Int16Array.of(1, -2), 16_000));
    expect(bytes.toString('hex')).toBe(
      '52494646' +
        '28000000' +
        '57415645' + // RIFF 40 WAVE
        '666d7420' +
        '10000000' +
        '0100' +
        '0100' +
        '803e0000' +
        '007d0000' +
        '0200' +
        '1000' + // fmt
        '64617461' +
        '04000000' +
        '0100' +
        'feff',
    );
  });

  it('ends shorter channels in silence', () => {
    const audio = decodeWav(encodeWav([Int16Array.of(1, 2, 3), Int16Array.of(9)], 8_000));
    expect(audio.channels.map((channel) => [...channel])).toEqual([
      [1, 2, 3],
      [9, 0, 0],
    ]);
  });

  it('refuses layouts that it would not read', () => {
    expect(() => encodeWav(new Int16Array(1), 96_000)).toThrow(
      expect.objectContaining({ code: 'AUDIO_RATE_UNSUPPORTED' }),
    );
    expect(() => encodeWav([], 8_000)).toThrow(expect.objectContaining({ code: 'AUDIO_WAV_INVALID' }));
  });
});
