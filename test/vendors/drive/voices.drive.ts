import { describe, it } from 'vitest';
import { expectAllEndured } from './all-endured.js';
import { driveVoices, expectSpoken, VOICE_FAULTS, VOICES } from './voices.js';

describe.each(VOICE_FAULTS)('a voice that $name', (fault) => {
  it.each([true, false])('with a vendor behind it: %s', async (second) => {
    const results = await driveVoices(fault, second);
    expectAllEndured({ fault: fault.name, second, results, count: VOICES.length }, (name, driven) =>
      expectSpoken(name, driven, fault),
    );
  });
});
