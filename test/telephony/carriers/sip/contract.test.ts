import { describe, it } from 'vitest';
import type { Carrier } from '../../../../src/telephony/carriers/carrier.js';
import { carrierContract } from '../../../../src/testing/contracts/carrier-contract.js';
import { NUMBERS, openRig, OWN } from './support.js';

describe('the contract of a carrier, on a SIP trunk', () => {
  const checks = carrierContract(async () => {
    const rig = await openRig();
    const { exchange } = rig;
    return {
      carrier: rig.carrier as Carrier,
      own: OWN,
      ...NUMBERS,
      until: rig.until,
      dispose: rig.dispose,
      callIn: () => void exchange.callIn(OWN),
      keysHeard: () => exchange.calls[0]?.keys ?? '',
      loudnessHeard: () => exchange.calls[0]?.loudness ?? 0,
    };
  });
  for (const { name, run } of checks) it(name, run);
});
