import { describe, expect, it } from 'vitest';
import { WindowBuffer } from '../../../../src/providers/vad/silero/window-buffer.js';

function collect(size: number): { buffer: WindowBuffer; windows: number[][]; ends: number[] } {
  const windows: number[][] = [];
  const ends: number[] = [];
  const buffer: WindowBuffer = new WindowBuffer(size, (end) => {
    windows.push([...buffer.window]);
    ends.push(end);
  });
  return { buffer, windows, ends };
}

describe('WindowBuffer', () => {
  it('gives nothing until a window is full', () => {
    const { buffer, windows } = collect(3);
    buffer.push(new Int16Array(0));
    buffer.push(Int16Array.of(1, 2));
    expect(windows).toEqual([]);
  });

  it('cuts pieces of any length, and counts', () => {
    const { buffer, windows, ends } = collect(3);
    for (const piece of [[1, 2], [3, 4, 5, 6, 7], [], [8], [9]]) buffer.push(Int16Array.from(piece));
    expect(windows).toEqual([
      [1, 2, 3],
      [4, 5, 6],
      [7, 8, 9],
    ]);
    expect(ends).toEqual([3, 6, 9]);
  });

  it('drops what is unfinished and counts from 0 again after reset', () => {
    const { buffer, windows, ends } = collect(2);
    buffer.push(Int16Array.of(1, 2, 3));
    buffer.reset();
    buffer.push(Int16Array.of(4, 5));
    expect(windows).toEqual([
      [1, 2],
      [4, 5],
    ]);
    expect(ends).toEqual([2, 2]);
  });

  it('stays in step when its listener throws', () => {
    let calls = 0;
    const ends: number[] = [];
    const buffer = new WindowBuffer(2, (end) => {
      if (++calls === 1) throw new Error('listener');
      ends.push(end);
    });
    expect(() => buffer.push(Int16Array.of(1, 2))).toThrow('listener');
    buffer.push(Int16Array.of(3, 4));
    expect(ends).toEqual([4]);
  });

  it('keeps windows before the one that is filled, and takes parts of what it is given', () => {
    const kept: number[][][] = [];
    const buffer: WindowBuffer = new WindowBuffer(2, () => kept.push([0, 1, 2].map((n) => [...buffer.before(n)])), 2);
    buffer.push(Int16Array.of(9, 1, 2, 3, 9), 1, 4);
    expect([buffer.room, kept]).toEqual([
      1,
      [
        [
          [1, 2],
          [0, 0],
          [0, 0],
        ],
      ],
    ]);
    buffer.push(Int16Array.of(4, 5, 6, 7, 8, 9));
    expect(kept.slice(1)).toEqual([
      [
        [3, 4],
        [1, 2],
        [0, 0],
      ],
      [
        [5, 6],
        [3, 4],
        [1, 2],
      ],
      [
        [7, 8],
        [5, 6],
        [3, 4],
      ],
    ]);
  });
});
