import { RealClock } from '../../src/clock/real.js';
import { Ticker } from '../../src/clock/ticker.js';
import { RtpPorts } from '../../src/rtp/ports.js';
import { openRtpSession, type RtpSession, type RtpSessionOptions } from '../../src/rtp/session.js';
import type { TransportSink } from '../../src/transports/transport.js';

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

export interface Pair {
  caller: RtpSession;
  callee: RtpSession;
  dispose(): Promise<void>;
}

/** Two ends of a call over the loopback's UDP, agreed and answered. */
export async function loopbackPair(
  options: Partial<RtpSessionOptions> = {},
  calleeOptions: Partial<RtpSessionOptions> = options,
): Promise<Pair> {
  const clock = new RealClock();
  const ticker = new Ticker(clock);
  const ports = new RtpPorts({ clock, localAddress: '127.0.0.1', portRange: null });
  const caller = await openRtpSession({ clock, ticker, ports, ...options });
  const callee = await openRtpSession({ clock, ticker, ports, ...calleeOptions });
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
