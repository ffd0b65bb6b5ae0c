import { describe, expect, it } from 'vitest';
import { driveRecognisers, expectEndured, FAULTS, RECOGNISERS } from './recognisers.js';

describe.each(FAULTS)('a recogniser that $name', (fault) => {
  it.each([true, false])('with somebody behind it: %s', async (second) => {
    const results = await driveRecognisers(fault, second);
    expect(results.size).toBe(RECOGNISERS.length);
    const waits = [...results].map(([name, { waitedMs }]) => `${name} ${(waitedMs / 1000).toFixed(1)}`);
    process.stdout.write(
      `${fault.name}, ${second ? 'with a second' : 'alone'}: s to the answer: ${waits.join(', ')}\n`,
    );
    const missed: string[] = [];
    for (const [name, driven] of results) {
      try {
        expectEndured(name, driven, fault, second);
      } catch (error) {
        missed.push(String(error instanceof Error ? error.message : error));
      }
    }
    expect(missed).toEqual([]);
  });
});
