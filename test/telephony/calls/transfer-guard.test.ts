import { describe, expect, it } from 'vitest';
import { Switchboard, type SwitchboardOptions } from '../../../src/telephony/calls/switchboard.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';
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

/** Somebody asks to be put through. What came of it, and what the model got. */
async function transferred(target: string, options: Partial<SwitchboardOptions> = {}): Promise<SessionReport | null> {
  const rig = new PhoneRig(NUMBERS);
  const { engine, network: carrier } = rig;
  const switchboard = new Switchboard({ engine, carrier, ...options });
  const agent = rig.agent(['hello', 'use transfer_call {}'], { flow: { call_transfer: { phone: target } } });
  const call = await switchboard.place({ ...agent, from: OWN, to: PERSON });
  const { session } = await rig.finished(call);
  await rig.close();
  return session;
}

const outcome = (report: SessionReport | null): unknown[] => [
  report?.transfers.map(({ ok, reason }) => reason ?? ok),
  Object.keys(report?.faults ?? {}),
];

describe('a call', () => {
  it.each(['+19005551234', '911', '+881612345678'])('is not handed on to %s', async (target) => {
    expect(outcome(await transferred(target))).toEqual([['rejected'], ['transfer.refused']]);
  });

  it('says in its report why it is not handed on, and to the operator', async () => {
    const errors: string[] = [];
    const report = await transferred('sip:911@pbx.example.org', { onError: (error) => errors.push(String(error)) });
    expect(report?.transfers).toMatchObject([{ ok: false, reason: 'rejected', detail: 'it is an emergency number' }]);
    expect(errors).toEqual([expect.stringContaining('sip:911@pbx.example.org must not be called')]);
  });

  it('is handed on to an extension that the operator allows', async () => {
    const asked: string[] = [];
    const isAllowedExtension = (target: string): boolean => asked.push(target) > 0;
    const report = await transferred('sip:101@pbx.example.org', { isAllowedExtension });
    // The simulated network knows no such address; it was asked for it.
    expect(report?.transfers).toMatchObject([{ ok: false, reason: 'failed' }]);
    expect(asked).toEqual(['sip:101@pbx.example.org']);
  });

  it('is not transferred while that is off', async () => {
    const stopped = await transferred(MANAGER, { mayTransfer: () => 'outbound calls are stopped' });
    expect(outcome(stopped)).toEqual([['rejected'], ['transfer.refused']]);
    expect(outcome(await transferred(MANAGER, { mayTransfer: () => null }))).toEqual([[true], []]);
  });

  it('is not placed to a number that is never called', async () => {
    const rig = new PhoneRig(NUMBERS);
    const placed = rig.switchboard.place({ ...rig.agent([]), from: OWN, to: '+19005551234' });
    await expect(placed).rejects.toMatchObject({ code: 'CALL_FORBIDDEN' });
    await rig.close();
  });
});
