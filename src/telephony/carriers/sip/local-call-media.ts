import type { Clock } from '../../../base/clock.js';
import type { Ticker } from '../../../base/ticker.js';
import type { RtpPorts } from '../../../transports/rtp/ports.js';
import { type OpenedMedia, openRtpMedia } from '../../../transports/rtp/session.js';
import { Bridge, CallLine } from './line.js';
import type { AgentLine, CallLineEvents, CallMediaHost, CallMediaOptions } from './call-media-host.js';

export interface LocalCallMediaOptions {
  clock: Clock;
  ticker: Ticker;
}

/** Lines and media of calls in this thread. */
export class LocalCallMedia implements CallMediaHost {
  readonly #options: LocalCallMediaOptions;

  constructor({ clock, ticker }: LocalCallMediaOptions) {
    this.#options = { clock, ticker };
  }

  openLine(rateHz: number, events: CallLineEvents): CallLine {
    return new CallLine(rateHz, events);
  }

  openMedia(_line: AgentLine, ports: RtpPorts, options: CallMediaOptions): Promise<OpenedMedia> {
    return openRtpMedia({ ...this.#options, ...options, ports });
  }

  bridge(first: AgentLine, second: AgentLine): Bridge | null {
    if (!(first instanceof CallLine && second instanceof CallLine)) return null;
    return new Bridge(first, second, this.#options.ticker);
  }
}
