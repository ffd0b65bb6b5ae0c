import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wordsOf } from '../../src/benchmark/provider-set.js';
import { readRecordings } from '../../src/benchmark/recording.js';

const FIXTURES = fileURLToPath(new URL('../../fixtures/audio', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-recordings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('readRecordings', () => {
  it('takes turns as they are named, with their words', async () => {
    const [track] = await readRecordings(FIXTURES, (name) => name === 'booking/slt/track');
    expect(track?.turns.map(({ text }) => text)).toMatchInlineSnapshot(`
      [
        "Hello, I would like to book a table for four tomorrow evening at eight o'clock.",
        "The name is Miller.",
        "Yes please.",
        "No, that's all, thank you. Goodbye.",
      ]
    `);
    expect(track?.words?.length).toBeGreaterThan(20);
  });

  it("finds the turns of somebody's recording without labels by its sound, near those of the labels", async () => {
    cpSync(join(FIXTURES, 'booking/slt/track.wav'), join(folder, 'mine.wav'));
    const [mine] = await readRecordings(folder);
    const [track] = await readRecordings(FIXTURES, (name) => name === 'booking/slt/track');
    expect(mine).toMatchObject({ name: 'mine', labels: 'vad', words: null });
    expect(mine?.turns.length).toBe(track?.turns.length);
    for (const [index, { endMs }] of (mine?.turns ?? []).entries()) {
      expect(Math.abs(endMs - (track?.turns[index]?.endMs ?? 0))).toBeLessThan(150);
    }
  });

  it('names the file that is none, and a folder in which nobody speaks', async () => {
    await expect(readRecordings(folder)).rejects.toMatchObject({ code: 'FIXTURES_INVALID' });
    await expect(readRecordings(join(folder, 'gone'))).rejects.toMatchObject({ code: 'FIXTURES_INVALID' });
    writeFileSync(join(folder, 'broken.wav'), 'no sound');
    await expect(readRecordings(folder)).rejects.toThrow('broken.wav');
  });
});

describe('wordsOf', () => {
  it('spreads words without times over their turn', () => {
    const words = wordsOf({ words: null, turns: [{ startMs: 1000, endMs: 2000, text: 'one three' }] });
    expect(words).toEqual([
      { word: 'one', startMs: 1000, endMs: 1375 },
      { word: 'three', startMs: 1375, endMs: 2000 },
    ]);
  });
});
