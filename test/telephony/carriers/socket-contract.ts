import { describe, it } from 'vitest';
import { carrierContract } from '../../../src/testing/contracts/carrier-contract.js';
import { CALLER, NUMBERS, OWN, type SocketRig, STRANGER } from './socket-rig.js';

/** The contract of carriers, on one with a media socket. */
export function describeContract(name: string, open: () => SocketRig): void {
  describe(`the contract of a carrier, on ${name}`, () => {
    const checks = carrierContract(() => {
      const { carrier, double, until, dispose } = open();
      const person = () => double.people.get(NUMBERS.person);
      return Promise.resolve({
        carrier,
        own: OWN,
        ...NUMBERS,
        until,
        dispose,
        callIn: () => void double.callIn(STRANGER, OWN, CALLER),
        keysHeard: () => person()?.keys ?? '',
        loudnessHeard: () => person()?.loudness ?? 0,
      });
    });
    for (const { name: what, run } of checks) it(what, run);
  });
}
