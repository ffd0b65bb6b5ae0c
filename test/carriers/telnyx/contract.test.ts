import { describe, it } from 'vitest';
import { carrierContract } from '../../../src/testing/carrier-contract.js';
import { CALLER, NUMBERS, openRig, OWN } from './support.js';

describe('the contract of a carrier, on Telnyx', () => {
  const checks = carrierContract(() => {
    const rig = openRig();
    const { telnyx } = rig;
    const person = () => telnyx.people.get(NUMBERS.person);
    return Promise.resolve({
      ...{ carrier: rig.carrier, own: OWN, ...NUMBERS, until: rig.until, dispose: rig.dispose },
      callIn: () => void telnyx.callIn('+12025550177', OWN, CALLER),
      keysHeard: () => person()?.keys ?? '',
      loudnessHeard: () => person()?.loudness ?? 0,
    });
  });
  for (const { name, run } of checks) it(name, run);
});
