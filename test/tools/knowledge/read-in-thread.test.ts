import { expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { readInThread } from '../../../src/tools/knowledge/read-in-thread.js';

it('lets other work in between the batches of a long file', async () => {
  const sentence = 'The quick brown fox jumps over the lazy dog and is gone before anybody sees it. ';
  const source = new TextEncoder().encode(`${sentence.repeat(14)}\n\n`.repeat(300));
  let turns = 0;
  const batches: { passages: number; turn: number }[] = [];
  const job = { name: 'long.txt', fileType: null, source };
  const onChunks = async ({ length }: readonly unknown[]): Promise<void> => {
    batches.push({ passages: length, turn: turns });
    setImmediate(() => turns++);
  };
  await readInThread(job, onChunks, new RealClock());
  expect(batches.length).toBeGreaterThan(10);
  expect(Math.max(...batches.map(({ passages }) => passages))).toBeLessThanOrEqual(25);
  // None came in the same turn of the event loop as the one before.
  expect(new Set(batches.map(({ turn }) => turn)).size).toBe(batches.length);
});
