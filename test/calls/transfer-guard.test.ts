import { describe, expect, it } from 'vitest';
import { Switchboard } from '../../src/calls/switchboard.js';
import { numbersOf } from '../carriers/simulated/support.js';
import { OWN, PhoneRig } from './support.js';

const PERSON = '+12025550171';
const MANAGER = '+12025550172';
const NUMBERS = numbersOf(
  {
    number: PERSON,
    steps: [
      { say: 'hello' },
      { listen: {} },
      { say: 'yes please do that' },
      { listen: { orMs: 5000 } },
      { hangUp: true },
    ],
  },
  { number: MANAGER, ringMs: 300, steps: [{ say: 'the manager' }, { hangUp: true }] },
);

/** Somebody asks to be put through. What came of it, and what the model was told. */
async function transferred(target: string, mayTransfer?: (target: string) => string | null): Promise<unknown[]> {
  const rig = new PhoneRig(NUMBERS);
  const { engine, network: carrier } = rig;
  const switchboard = new Switchboard({ engine, carrier, ...(mayTransfer && { mayTransfer }) });
  const agent = rig.agent(['hello', 'use transfer_call {}'], { flow: { call_transfer: { phone: target } } });
  const call = await switchboard.place({ ...agent, from: OWN, to: PERSON });
  const { session } = await rig.finished(call);
  await rig.close();
  return [session?.transfers.map(({ ok, reason }) => reason ?? ok), Object.keys(session?.faults ?? {})];
}

describe('a call', () => {
  it.each(['+19005551234', '911', '+881612345678'])('is not handed on to %s', async (target) => {
    expect(await transferred(target)).toEqual([['rejected'], ['transfer.refused']]);
  });

  it('is handed on to nobody while that is off', async () => {
    expect(await transferred(MANAGER, () => 'outbound calls are stopped')).toEqual([
      ['rejected'],
      ['transfer.refused'],
    ]);
    expect(await transferred(MANAGER, () => null)).toEqual([[true], []]);
  });

  it('is not placed to a number that is never called', async () => {
    const rig = new PhoneRig(NUMBERS);
    const placed = rig.switchboard.place({ ...rig.agent([]), from: OWN, to: '+19005551234' });
    await expect(placed).rejects.toMatchObject({ code: 'CALL_FORBIDDEN' });
    await rig.close();
  });
});
