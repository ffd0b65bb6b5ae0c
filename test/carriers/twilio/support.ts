import type { CarrierCall } from '../../../src/carriers/carrier.js';
import { TwilioCarrier, type TwilioCarrierOptions } from '../../../src/carriers/twilio/carrier.js';
import { VirtualClock } from '../../../src/clock/virtual.js';
import { doorwayTo } from '../../vendors/carriers/doorway.js';
import type { Habits } from '../../vendors/carriers/people.js';
import { tone } from '../../vendors/carriers/people.js';
import { socketPair } from '../../vendors/carriers/socket-pair.js';
import { ACCOUNT_SID, TwilioDouble } from '../../vendors/carriers/twilio/double.js';

export const OWN = '+12025550199';
export const AUTH_TOKEN = 'an auth token of 32 letters-----';
export const PUBLIC_URL = 'https://voice.example.com/parley';
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

/** parley's carrier and a double of Twilio, in virtual time. */
export function openRig(options: Partial<TwilioCarrierOptions> = {}, socketDelayMs = 25) {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  let carrier: TwilioCarrier | null = null;
  const theCarrier = (): TwilioCarrier => {
    if (carrier === null) throw new Error('there is no carrier yet');
    return carrier;
  };
  const doorway = doorwayTo(theCarrier, PUBLIC_URL, () => socketPair(clock, socketDelayMs));
  const twilio = new TwilioDouble({ clock, authToken: AUTH_TOKEN, people: PEOPLE, doorway });
  twilio.numbers.set(OWN, {
    sid: twilio.sid('PN'),
    VoiceUrl: `${PUBLIC_URL}/carriers/twilio/voice`,
    StatusCallback: `${PUBLIC_URL}/carriers/twilio/status`,
  });
  let tokens = 0;
  const opened = new TwilioCarrier({
    ...{ clock, accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN, publicUrl: PUBLIC_URL, owned: [OWN] },
    ...{ rest: twilio.rest, pricing: twilio.pricing, machineDetection: null },
    token: () => `t${String(++tokens)}`,
    onError: (error) => errors.push(error),
    ...options,
  });
  carrier = opened;
  const until = async (condition: () => boolean, limitMs = 120_000): Promise<void> => {
    if (await clock.runUntil(condition, clock.nowMs() + limitMs)) return;
    const told = [...twilio.calls.values()].map(({ status, errors: wrong }) => `${status} ${wrong.join()}`).join('; ');
    throw new Error(`it never came to that: ${told}; ${errors.map(String).join('; ')}`);
  };
  const dispose = async (): Promise<void> => {
    const closing = opened.close();
    await clock.advanceBy(6_000);
    await closing;
  };
  return { clock, carrier: opened, twilio, errors, until, dispose };
}

/** The call at Twilio's side. */
export function farCall({ twilio }: ReturnType<typeof openRig>, call: CarrierCall) {
  const far = [...twilio.calls.values()].find(({ facts }) => facts.to === call.to && facts.from === call.from);
  if (far === undefined) throw new Error('Twilio has no such call');
  return far;
}
