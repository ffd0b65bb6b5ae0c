import type { CarrierCall } from '../../../src/carriers/carrier.js';
import { TelnyxCarrier, type TelnyxCarrierOptions } from '../../../src/carriers/telnyx/carrier.js';
import { VirtualClock } from '../../../src/clock/virtual.js';
import { doorwayTo } from '../../vendors/carriers/doorway.js';
import { type Habits, tone } from '../../vendors/carriers/people.js';
import { socketPair } from '../../vendors/carriers/socket-pair.js';
import { CONNECTION_ID, TelnyxDouble } from '../../vendors/carriers/telnyx/double.js';
import type { DoubleLeg } from '../../vendors/carriers/telnyx/leg.js';

export const OWN = '+12025550199';
export const PUBLIC_URL = 'https://voice.example.com/parley';
export const WEBHOOK = '/carriers/telnyx/webhook';
export const NUMBERS = {
  person: '+12025550101',
  leaver: '+12025550102',
  busy: '+12025550103',
  absent: '+12025550104',
  rejecting: '+12025550105',
  nobody: '+12025550111',
} as const;

const PEOPLE: Readonly<Record<string, Habits>> = {
  [NUMBERS.person]: { does: 'answer', says: tone(), presses: { keys: '12', afterMs: 1_200 } },
  [NUMBERS.leaver]: { does: 'answer', says: tone(), leavesAfterMs: 2_000 },
  [NUMBERS.busy]: { does: 'busy' },
  [NUMBERS.absent]: { does: 'absent' },
  [NUMBERS.rejecting]: { does: 'reject' },
};
export const CALLER: Habits = { does: 'answer', says: tone(3_000) };
/** 2026-11-22. */
const EPOCH_MS = 1_795_305_600_000;

/** parley's carrier and a double of Telnyx, in virtual time. */
export function openRig(options: Partial<TelnyxCarrierOptions> = {}, socketDelayMs = 25) {
  const clock = new VirtualClock();
  const unixMs = (): number => EPOCH_MS + clock.nowMs();
  const errors: unknown[] = [];
  let carrier: TelnyxCarrier | null = null;
  const theCarrier = (): TelnyxCarrier => {
    if (carrier === null) throw new Error('there is no carrier yet');
    return carrier;
  };
  const doorway = doorwayTo(theCarrier, PUBLIC_URL, () => socketPair(clock, socketDelayMs));
  const telnyx = new TelnyxDouble({ clock, unixMs, people: PEOPLE, doorway, webhookUrl: PUBLIC_URL + WEBHOOK });
  telnyx.numbers.set(OWN, { id: '1', connectionId: CONNECTION_ID });
  let tokens = 0;
  const opened = new TelnyxCarrier({
    ...{ clock, unixMs, publicKey: telnyx.publicKey, connectionId: CONNECTION_ID, publicUrl: PUBLIC_URL, owned: [OWN] },
    ...{ rest: telnyx.rest, codec: 'PCMU', machineDetection: null },
    token: () => `t${String(++tokens)}`,
    onError: (error) => errors.push(error),
    ...options,
  });
  carrier = opened;
  const until = async (condition: () => boolean, limitMs = 120_000): Promise<void> => {
    if (await clock.runUntil(condition, clock.nowMs() + limitMs)) return;
    const told = [...telnyx.legs.values()].map(({ facts, state }) => `${facts.to} ${state}`).join('; ');
    throw new Error(`it never came to that: ${told}; ${telnyx.violations.join()}; ${errors.map(String).join('; ')}`);
  };
  const dispose = async (): Promise<void> => {
    const closing = opened.close();
    await clock.advanceBy(6_000);
    await closing;
  };
  return { clock, carrier: opened, telnyx, errors, until, dispose };
}

/** The call's leg at Telnyx. */
export function farLeg({ telnyx }: ReturnType<typeof openRig>, call: Pick<CarrierCall, 'from' | 'to'>): DoubleLeg {
  const far = [...telnyx.legs.values()].find(({ facts }) => facts.to === call.to && facts.from === call.from);
  if (far === undefined) throw new Error('Telnyx has no such call');
  return far;
}
