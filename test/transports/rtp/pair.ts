import { RealClock } from '../../../src/base/real-clock.js';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Random } from '../../../src/base/random.js';
import { RtpPorts } from '../../../src/transports/rtp/ports.js';
import { openRtpSession, type RtpSession, type RtpSessionOptions } from '../../../src/transports/rtp/session.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import { type NetworkQuality, UdpNetwork } from './udp-network.js';

/** Writes down what a line delivers. */
export class Ear implements TransportSink {
  readonly samples: number[] = [];
  keys = '';
  timesClosed = 0;
  error: Error | undefined;

  audio(samples: Int16Array): void {
    for (const sample of samples) this.samples.push(sample);
  }

  digits(keys: string): void {
    this.keys += keys;
  }

  text(): void {
    // A telephone sends none.
  }

  formResult(): void {
    // A telephone shows none.
  }

  closed(error?: Error): void {
    this.timesClosed++;
    this.error = error;
  }
}

type EndOptions = Partial<Omit<RtpSessionOptions, 'clock' | 'ticker' | 'ports'>>;

export interface Pair {
  caller: RtpSession;
  callee: RtpSession;
  dispose: () => Promise<void>;
}

export interface VirtualPair extends Pair {
  clock: VirtualClock;
  network: UdpNetwork;
}

/** Two ends of a call over the loopback's UDP, agreed and answered. */
export async function loopbackPair(options: EndOptions = {}, calleeOptions: EndOptions = options): Promise<Pair> {
  const clock = new RealClock();
  const ends = { clock, ticker: new Ticker(clock) };
  const ports = new RtpPorts({ clock, localAddress: '127.0.0.1', portRange: null });
  const caller = await openRtpSession({ ...ends, ports, ...options });
  const callee = await openRtpSession({ ...ends, ports, ...calleeOptions });
  return agreed(caller, callee);
}

/** Two ends of a call in virtual time, at 10.0.0.1 and 10.0.0.2, agreed and answered. */
export async function virtualPair(
  options: EndOptions = {},
  calleeOptions: EndOptions = options,
  quality: NetworkQuality = {},
): Promise<VirtualPair> {
  const clock = new VirtualClock();
  const ends = { clock, ticker: new Ticker(clock) };
  const network = new UdpNetwork(clock, new Random(1), quality);
  const portsAt = (localAddress: string): RtpPorts => new RtpPorts({ clock, localAddress, openSocket: network.open });
  const caller = await openRtpSession({ ...ends, ports: portsAt('10.0.0.1'), random: new Random(2), ...options });
  const callee = await openRtpSession({ ...ends, ports: portsAt('10.0.0.2'), random: new Random(3), ...calleeOptions });
  return { clock, network, ...agreed(caller, callee) };
}

function agreed(caller: RtpSession, callee: RtpSession): Pair {
  caller.accept(callee.answer(caller.offer()));
  for (const end of [caller, callee]) end.answered();
  return {
    caller,
    callee,
    dispose: async () => {
      await Promise.all([caller.close(), callee.close()]);
    },
  };
}
