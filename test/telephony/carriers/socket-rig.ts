import { frameSamples } from '../../../src/audio/frame.js';
import type { CallRequest, Carrier, CarrierCall } from '../../../src/telephony/carriers/carrier.js';
import type { WebhookEndpoint } from '../../../src/telephony/carriers/media-socket/webhook-endpoint.js';
import type { SocketCall } from '../../../src/telephony/carriers/media-socket/socket-call.js';
import type { SocketCarrierOptions } from '../../../src/telephony/carriers/media-socket/socket-carrier.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import type { CarrierDouble } from '../../vendors/carriers/carrier-double.js';
import { type Doorway, doorwayTo } from '../../vendors/carriers/doorway.js';
import { type Habits, tone } from '../../vendors/carriers/people.js';
import { socketPair } from '../../vendors/carriers/socket-pair.js';
import { NUMBERS, OWN } from './numbers.js';

export const STRANGER = '+12025550177';
export const PUBLIC_URL = 'https://voice.example.com/parley';
export { NUMBERS, OWN };

const PEOPLE: Readonly<Record<string, Habits>> = {
  [NUMBERS.person]: { does: 'answer', says: tone(), presses: { keys: '12', afterMs: 1_200 } },
  [NUMBERS.leaver]: { does: 'answer', says: tone(), leavesAfterMs: 2_000 },
  [NUMBERS.busy]: { does: 'busy' },
  [NUMBERS.absent]: { does: 'absent' },
  [NUMBERS.rejecting]: { does: 'reject' },
};
export const CALLER: Habits = { does: 'answer', says: tone(3_000) };

/** 20 ms of a loud tone. */
export const LOUD = loud(8_000);

export function loud(sampleRateHz: number): Int16Array {
  const period = sampleRateHz / 1_000;
  return new Int16Array(frameSamples(sampleRateHz)).map((_, at) => (at % period < period / 2 ? 8_000 : -8_000));
}

type TestedCarrier = Omit<Carrier, 'placeCall'> &
  WebhookEndpoint & { refused: number; placeCall(request: CallRequest): SocketCall };

export interface RigParts<C extends TestedCarrier, D extends CarrierDouble> {
  double: (parts: { clock: VirtualClock; doorway: Doorway; people: Readonly<Record<string, Habits>> }) => D;
  carrier: (double: D, parts: SocketCarrierOptions & { clock: VirtualClock; publicUrl: string; mediaUrl: string }) => C;
  /** Each way of a media socket. */
  socketDelayMs?: number;
}

/** parley's carrier and a double of it, in virtual time. Tokens are `t1`, `t2` and so on. */
export function openSocketRig<C extends TestedCarrier, D extends CarrierDouble>(parts: RigParts<C, D>) {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  /** Why something was refused, in the order in which it was. */
  const refusals: string[] = [];
  let carrier: C | null = null;
  const theCarrier = (): C => {
    if (carrier === null) throw new Error('there is no carrier yet');
    return carrier;
  };
  const doorway = doorwayTo(theCarrier, PUBLIC_URL, () => socketPair(clock, parts.socketDelayMs ?? 25));
  const double = parts.double({ clock, doorway, people: PEOPLE });
  let tokens = 0;
  const opened = parts.carrier(double, {
    clock,
    publicUrl: PUBLIC_URL,
    mediaUrl: PUBLIC_URL,
    owned: [OWN],
    token: () => `t${String(++tokens)}`,
    onError: (error) => errors.push(error),
    onRefused: (refusal) => refusals.push(refusal),
  });
  carrier = opened;

  const until = async (condition: () => boolean, limitMs = 120_000): Promise<void> => {
    if (await clock.runUntil(condition, clock.nowMs() + limitMs)) return;
    const calls = double.farCalls().map(({ to, isOver }) => `${to}${isOver ? ' is over' : ''}`);
    const reported = [calls, double.violations, errors.map(String)].map((one) => one.join());
    throw new Error(`it never came to that: ${reported.join('; ')}`);
  };
  /** The call at the carrier's side. */
  const farCall = (call: Pick<CarrierCall, 'from' | 'to'>) => {
    const calls = double.farCalls() as ReturnType<D['farCalls']>[number][];
    const far = calls.find(({ to, from }) => to === call.to && from === call.from);
    if (far === undefined) throw new Error('the carrier has no such call');
    return far;
  };
  const place = (to: string = NUMBERS.person, ringTimeoutMs = 30_000): SocketCall =>
    opened.placeCall({ from: OWN, to, ringTimeoutMs });

  return {
    clock,
    carrier: opened,
    double,
    errors,
    refusals,
    until,
    farCall,
    place,
    /** A call that somebody has answered. */
    answered: async (to?: string) => {
      const call = place(to);
      const heard = listen(call);
      await until(() => call.state === 'answered');
      return { call, heard, far: farCall(call) };
    },
    /** A call that has come in, and rings. */
    calledIn: async (from = STRANGER) => {
      const calls: CarrierCall[] = [];
      opened.receiveCalls((call) => calls.push(call));
      const far = double.callIn(from, OWN, CALLER);
      await until(() => calls.length > 0);
      const [call] = calls;
      if (call === undefined) throw new Error('no call has come');
      return { call, far, calls };
    },
    /** Requests, by the end of their paths. */
    asked: (end: string) => double.requests.filter((one) => one.endsWith(end)).length,
    dispose: async (): Promise<void> => {
      const closing = opened.close();
      await clock.advanceBy(6_000);
      await closing;
    },
  };
}

export type SocketRig = ReturnType<typeof openSocketRig<TestedCarrier, CarrierDouble>>;

/** What comes over a call's line from now on. */
export function listen(call: Pick<CarrierCall, 'line'>) {
  const heard = { samples: [] as number[], digits: '', closed: 0 };
  const sink: TransportSink = {
    audio: (samples) => heard.samples.push(...samples),
    digits: (digits) => (heard.digits += digits),
    text: () => undefined,
    formResult: () => undefined,
    closed: () => heard.closed++,
  };
  call.line.start(sink);
  return heard;
}
