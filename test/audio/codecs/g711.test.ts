import { describe, expect, it } from 'vitest';
import { decodeG711, encodeG711, G711_SILENCE, type G711Law } from '../../../src/audio/codecs/g711.js';

/** One row of the standard's tables: inputs from `from` up to `to` are sent as `code` and come back as `value`. */
interface Interval {
  from: number;
  to: number;
  code: number;
  value: number;
}

/** G.711 table 2a, positive values, in units of 14-bit samples: segments' ends, each cut into equal intervals. */
function mulawTable(): Interval[] {
  const ends = [0, 31, 95, 223, 479, 991, 2015, 4063, 8159];
  const rows: Interval[] = [];
  for (let segment = 0; segment < 8; segment++) {
    const step = 2 ** (segment + 1);
    for (let from = ends[segment]!; from < ends[segment + 1]!;) {
      const to = from === 0 ? 1 : from + step;
      rows.push({ from, to, code: 0xff - rows.length, value: from === 0 ? 0 : (from + to) / 2 });
      from = to;
    }
  }
  return rows;
}

/** G.711 table 1a, positive values, in units of 13-bit samples. Even bits are inverted in the code. */
function alawTable(): Interval[] {
  const ends = [0, 64, 128, 256, 512, 1024, 2048, 4096];
  const rows: Interval[] = [];
  for (let segment = 0; segment < 7; segment++) {
    const step = 2 ** (segment + 1);
    for (let from = ends[segment]!; from < ends[segment + 1]!; from += step) {
      rows.push({ from, to: from + step, code: (0x80 | rows.length) ^ 0x55, value: from + step / 2 });
    }
  }
  return rows;
}

const laws: { law: G711Law; table: Interval[]; unit: number; step: number }[] = [
  { law: 'mulaw', table: mulawTable(), unit: 4, step: 4 },
  { law: 'alaw', table: alawTable(), unit: 8, step: 16 },
];

const everySample = Int16Array.from({ length: 65_536 }, (_, i) => i - 32_768);
const everyCode = Uint8Array.from({ length: 256 }, (_, i) => i);

describe.each(laws)('G.711 $law', ({ law, table, unit, step }) => {
  it('has the 128 intervals of the standard', () => {
    expect(table).toHaveLength(128);
  });

  it('encodes every sample as the table says', () => {
    const codes = encodeG711(law, everySample);
    let wrong = 0;
    for (let i = 0; i < everySample.length; i++) {
      const sample = everySample[i]!;
      // Cut to the bits the law looks at; negative values count from -1 (ITU-T G.191).
      const size = (Math.floor((sample < 0 ? ~sample : sample) / step) * step) / unit;
      const row = table.find(({ from, to }) => size >= from && size < to) ?? table.at(-1)!;
      if (codes[i] !== (sample < 0 ? row.code ^ 0x80 : row.code)) wrong++;
    }
    expect(wrong).toBe(0);
  });

  it('decodes every code to the middle of its interval', () => {
    const samples = decodeG711(law, everyCode);
    for (const { code, value } of table) {
      expect(samples[code]).toBe(value * unit);
      expect(samples[code ^ 0x80]).toBe(value === 0 ? 0 : -value * unit);
    }
  });

  it('gives each code back after decoding, but for the second zero of mu-law', () => {
    const again = encodeG711(law, decodeG711(law, everyCode));
    const changed = [...everyCode].filter((code) => again[code] !== code);
    expect(changed).toEqual(law === 'mulaw' ? [0x7f] : []);
  });

  it('rises with the sample', () => {
    const through = decodeG711(law, encodeG711(law, everySample));
    expect(through.every((value, i) => i === 0 || value >= through[i - 1]!)).toBe(true);
  });

  it('sends silence as the idle code', () => {
    expect(encodeG711(law, new Int16Array(1))[0]).toBe(G711_SILENCE[law]);
    expect(Math.abs(decodeG711(law, Uint8Array.of(G711_SILENCE[law]))[0]!)).toBeLessThanOrEqual(8);
  });

  it('writes into longer arrays and returns the part it filled', () => {
    const codes = new Uint8Array(8).fill(7);
    const part = encodeG711(law, Int16Array.of(0, 1000), codes);
    expect(part).toHaveLength(2);
    expect(part.buffer).toBe(codes.buffer);
    expect(codes[2]).toBe(7);
    expect(decodeG711(law, part, new Int16Array(5))).toHaveLength(2);
    expect(encodeG711(law, new Int16Array(0))).toHaveLength(0);
  });
});

it('matches published code pairs', () => {
  expect([...encodeG711('mulaw', Int16Array.of(32_767, -32_768, 8031 * 4, -1, -4, 1000))]).toEqual([
    0x80, 0x00, 0x80, 0x7f, 0x7f, 0xce,
  ]);
  expect([...encodeG711('alaw', Int16Array.of(32_767, -32_768, -1, 1000))]).toEqual([0xaa, 0x2a, 0x55, 0xfa]);
  expect([...decodeG711('mulaw', Uint8Array.of(0x80, 0x00, 0xff))]).toEqual([32_124, -32_124, 0]);
  expect([...decodeG711('alaw', Uint8Array.of(0xaa, 0x2a, 0xd5, 0x55))]).toEqual([32_256, -32_256, 8, -8]);
});
