import { describe, it } from 'vitest';
import { carrierContract } from '../../../../src/testing/contracts/carrier-contract.js';
import { NetworkRig, numbersOf } from './support.js';

const OWN = '+12025550199';

describe.each([false, true])('the contract of a carrier, keys as tones: %s', (inBandDigits) => {
  const checks = carrierContract(() => {
    const rig = new NetworkRig(
      numbersOf(
        {
          number: '+12025550101',
          inBandDigits,
          steps: [{ wait: 200 }, { say: 'hello there' }, { wait: 400 }, { press: '12' }, { wait: 600_000 }],
        },
        { number: '+12025550102', steps: [{ say: 'goodbye' }, { hangUp: true }] },
        { number: '+12025550103', picksUp: 'busy' },
        { number: '+12025550104', picksUp: 'rings' },
        { number: '+12025550105', picksUp: 'rejects' },
      ),
    );
    const calls = () => [...rig.network.calls];
    return Promise.resolve({
      carrier: rig.network,
      own: OWN,
      person: '+12025550101',
      leaver: '+12025550102',
      busy: '+12025550103',
      absent: '+12025550104',
      rejecting: '+12025550105',
      nobody: '+12025550111',
      callIn: () => {
        const [caller] = numbersOf({ number: '+12025550177', steps: [{ say: 'is anybody there' }, { wait: 60_000 }] });
        if (caller !== undefined) rig.network.callIn(caller, OWN);
      },
      keysHeard: () => calls()[0]?.record().digitsSent ?? '',
      loudnessHeard: () => rig.loudnessAt(calls()[0]),
      until: (condition) => rig.until(condition),
      dispose: () => rig.network.close(),
    });
  });
  for (const { name, run } of checks) it(name, run);
});
