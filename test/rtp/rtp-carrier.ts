import { frameSamples } from '../../src/audio/frame.js';
import type { CallRequest, Carrier, CarrierCall } from '../../src/carriers/carrier.js';
import type { Clock } from '../../src/clock/clock.js';
import { Ticker } from '../../src/clock/ticker.js';
import { Random } from '../../src/random.js';
import { RtpPorts } from '../../src/rtp/ports.js';
import { openRtpSession, type RtpSession, type RtpStats } from '../../src/rtp/session.js';
import type { Transport } from '../../src/transports/transport.js';
import { type NetworkQuality, UdpNetwork } from './udp-network.js';

/** What is under way when the agent closes its line still arrives. */
const IN_FLIGHT_MS = 400;

interface Leg {
  agent: RtpSession;
  gateway: RtpSession;
  /** Both ends hear each other; the agent closes its line. */
  onClosed: () => void;
  transfer: NonNullable<Transport['transfer']>;
}

/**
 * A carrier whose calls reach the agent over RTP: between its lines and the agent's lies a gateway, and between the two
 * a network in this process, as bad as is wanted. `ready` before each call makes its legs.
 */
export class RtpCarrier {
  readonly network: UdpNetwork;
  /** Of the agent's end of the last call. */
  stats: RtpStats | null = null;
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #carrier: Carrier;
  readonly #legs: Leg[] = [];
  #calls = 0;

  constructor(carrier: Carrier, clock: Clock, quality: NetworkQuality) {
    this.#carrier = carrier;
    this.#clock = clock;
    this.#ticker = new Ticker(clock);
    this.network = new UdpNetwork(clock, new Random(7), quality);
  }

  async ready(): Promise<void> {
    const [clock, ticker] = [this.#clock, this.#ticker];
    const portsAt = (localAddress: string): RtpPorts =>
      new RtpPorts({ clock, localAddress, openSocket: this.network.open, drainMs: 0 });
    const leg = {
      onClosed: () => undefined,
      transfer: () => Promise.resolve({ ok: false, reason: 'failed' } as const),
    };
    const agent = await openRtpSession({
      ...{ clock, ticker, ports: portsAt('10.0.0.1') },
      listener: { lineClosed: () => whole.onClosed() },
      transfer: (target, signal) => whole.transfer(target, signal),
    });
    const gateway = await openRtpSession({ clock, ticker, ports: portsAt('10.0.0.2') });
    const whole: Leg = { ...leg, agent, gateway };
    this.#legs.push(whole);
  }

  get carrier(): Carrier {
    return replaced(this.#carrier, {
      placeCall: (request: CallRequest) => this.#over(this.#carrier.placeCall(request)),
      receiveCalls: (listener: (call: CarrierCall) => void) =>
        this.#carrier.receiveCalls((call) => listener(this.#over(call))),
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#legs.flatMap(({ agent, gateway }) => [agent.close(), gateway.close()]));
  }

  /** A call that the agent does not come to, one that it transfers to, has no leg of its own. */
  #over(call: CarrierCall): CarrierCall {
    const leg = this.#legs[this.#calls++];
    if (leg === undefined) return call;
    const { agent, gateway } = leg;
    const { line } = call;
    leg.onClosed = () => void this.#clock.schedule(this.#clock.nowMs() + IN_FLIGHT_MS, () => void line.close());
    if (line.transfer !== undefined) leg.transfer = (target, signal) => line.transfer!(target, signal);
    gateway.accept(agent.answer(gateway.offer()));
    call.onState((state) => {
      if (state === 'answered') for (const end of [agent, gateway]) end.answered();
      if (state !== 'ended') return;
      this.stats = agent.stats();
      void agent.close();
      void gateway.close();
    });
    const never = new AbortController().signal;
    const press = (to: Transport, keys: string): void => {
      to.sendDigits?.(keys, never).catch(() => undefined);
    };
    const frame = new Frames((samples) => line.play(samples));
    const nothing = { text: () => undefined, formResult: () => undefined, closed: () => undefined };
    gateway.line.start({ audio: (samples) => frame.take(samples), digits: (keys) => press(line, keys), ...nothing });
    line.start({
      ...nothing,
      audio: (samples) => gateway.line.play(samples),
      digits: (keys) => press(gateway.line, keys),
    });
    return replaced(call, { line: agent.line });
  }
}

/** Sound of any length in frames of 20 ms. */
class Frames {
  readonly #give: (frame: Int16Array) => void;
  readonly #length = frameSamples(8_000);
  #rest: number[] = [];

  constructor(give: (frame: Int16Array) => void) {
    this.#give = give;
  }

  take(samples: Int16Array): void {
    for (const sample of samples) this.#rest.push(sample);
    while (this.#rest.length >= this.#length) this.#give(Int16Array.from(this.#rest.splice(0, this.#length)));
  }
}

/** The same object but for some members. */
function replaced<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get: (_target, key) => {
      if (key in members) return Reflect.get(members, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
