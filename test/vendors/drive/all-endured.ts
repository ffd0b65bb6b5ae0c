import { expect } from 'vitest';
import type { Driven } from './drive.js';

export interface Round {
  fault: string;
  second: boolean;
  results: ReadonlyMap<string, Driven>;
  /** How many were to be driven. */
  count: number;
}

/** Holds each call of a round to what `check` expects of it, and tells of all that missed it; prints how long they waited. */
export function expectAllEndured(
  { fault, second, results, count }: Round,
  check: (name: string, driven: Driven) => void,
): void {
  expect(results.size).toBe(count);
  const waits = [...results].map(([name, { waitedMs }]) => `${name} ${(waitedMs / 1000).toFixed(1)}`);
  process.stdout.write(`${fault}, ${second ? 'with a second' : 'alone'}: s to the answer: ${waits.join(', ')}\n`);
  const missed: string[] = [];
  for (const [name, driven] of results) {
    try {
      check(name, driven);
    } catch (error) {
      missed.push(String(error instanceof Error ? error.message : error));
    }
  }
  expect(missed).toEqual([]);
}
