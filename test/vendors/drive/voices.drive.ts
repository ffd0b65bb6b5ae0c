import { describe, expect, it } from 'vitest';
import { driveVoices, expectSpoken, VOICE_FAULTS, VOICES } from './voices.js';

describe.each(VOICE_FAULTS)('a voice that $name', (fault) => {
  it.each([true, false])('with a vendor behind it: %s', async (second) => {
    const results = await driveVoices(fault, second);
    expect(results.size).toBe(VOICES.length);
    const waits = [...results].map(([name, { waitedMs }]) => `${name} ${(waitedMs / 1000).toFixed(1)}`);
    process.stdout.write(
      `${fault.name}, ${second ? 'with a second' : 'alone'}: s to the answer: ${waits.join(', ')}\n`,
    );
    const missed: string[] = [];
    for (const [name, driven] of results) {
      try {
        expectSpoken(name, driven, fault);
      } catch (error) {
        missed.push(String(error instanceof Error ? error.message : error));
      }
    }
    expect(missed).toEqual([]);
  });
});
