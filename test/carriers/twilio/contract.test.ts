import { describe, it } from 'vitest';
import { carrierContract } from '../../../src/testing/carrier-contract.js';
import { CALLER, NUMBERS, openRig, OWN } from './support.js';

describe('the contract of a carrier, on Twilio', () => {
  const checks = carrierContract(() => {
    const rig = openRig();
    const { twilio } = rig;
    const person = () => twilio.people.get(NUMBERS.person);
    return Promise.resolve({
      ...{ carrier: rig.carrier, own: OWN, ...NUMBERS, until: rig.until, dispose: rig.dispose },
      callIn: () => void twilio.callIn('+12025550177', OWN, CALLER),
      keysHeard: () => person()?.keys ?? '',
      loudnessHeard: () => person()?.loudness ?? 0,
    });
  });
  for (const { name, run } of checks) it(name, run);
});
