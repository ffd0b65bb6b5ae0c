import { describe, it } from 'vitest';
import { expectAllEndured } from './all-endured.js';
import { driveRecognisers, expectEndured, FAULTS, RECOGNISERS } from './recognisers.js';

describe.each(FAULTS)('a recogniser that $name', (fault) => {
  it.each([true, false])('with somebody behind it: %s', async (second) => {
    const results = await driveRecognisers(fault, second);
    expectAllEndured({ fault: fault.name, second, results, count: RECOGNISERS.length }, (name, driven) =>
      expectEndured(name, driven, fault, second),
    );
  });
});
