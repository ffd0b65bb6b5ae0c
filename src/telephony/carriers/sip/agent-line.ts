import type { RtpMediaOptions } from '../../../transports/rtp/media.js';
import type { PortPair } from '../../../transports/rtp/ports.js';
import type { AgreedMedia } from '../../../transports/rtp/session.js';
import type { OpenSocket } from '../../../transports/rtp/socket.js';
import type { Ticker } from '../../../base/ticker.js';
import type { LineStats, TransferOutcome, Transport } from '../../../transports/transport.js';
import { Bridge, CallLine, type CallLineEvents } from './line.js';

/** The agent's end of a SIP call, as its signalling sees it, in whichever thread its sound is. */
export interface AgentLine extends Transport {
  readonly digitsSent: string;
  readonly digitsReceived: string;
  /** The media are there. */
  attach(media: Transport): void;
  /** Keys that the far end pressed, in messages of the signalling. */
  keys(keys: string): void;
  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  lineStats(): LineStats;
  /** Packets of the far end that have come so far. Never rejects. */
  received(): Promise<number>;
  /** The media are about to be closed: what is known of them now is the last that is. */
  freeze(): void;
  /** Resolves when that is known here as well. Left out: at once. */
  readonly frozen?: Promise<void>;
  /** The call is over for the agent. May be called twice. */
  gone(error?: Error): void;
}

/** A line whose sockets and sound are in another thread. */
export interface AgentLineElsewhere extends AgentLine {
  /** Opens a socket over there; here it can only be closed. */
  openSocket: OpenSocket;
  /** Opens the media over two such sockets, which are theirs from then on. */
  openMedia(pair: PortPair, options: Pick<RtpMediaOptions, 'codecs' | 'listener' | 'totals'>): Promise<AgreedMedia>;
}

export function hasMediaElsewhere(line: AgentLine): line is AgentLineElsewhere {
  return 'openMedia' in line;
}

/** Where calls have their sound, if not in this thread. */
export interface LinesElsewhere {
  /**
   * @param beside the line of a call that it may be bridged to: both are to be in one place
   * @returns null where it is to be in this thread
   */
  openLine(rateHz: number, events: CallLineEvents, beside: AgentLine | null): AgentLine | null;
  /** Relays the sound of two lines to each other; null where they are not in one place. */
  bridge(first: AgentLine, second: AgentLine): Pick<Bridge, 'close'> | null;
}

/** Makes the lines of calls, and joins two of them. */
export class AgentLines {
  readonly #ticker: Ticker;
  readonly #elsewhere: LinesElsewhere | null;

  constructor(ticker: Ticker, elsewhere: LinesElsewhere | null = null) {
    this.#ticker = ticker;
    this.#elsewhere = elsewhere;
  }

  /** @param beside the line of a call that it may be bridged to; null = there is none */
  open(rateHz: number, events: CallLineEvents, beside: AgentLine | null): AgentLine {
    return this.#elsewhere?.openLine(rateHz, events, beside) ?? new CallLine(rateHz, events);
  }

  /** Relays the sound of two lines to each other; null where that cannot be. */
  bridge(first: AgentLine, second: AgentLine): Pick<Bridge, 'close'> | null {
    if (first instanceof CallLine && second instanceof CallLine) return new Bridge(first, second, this.#ticker);
    return this.#elsewhere?.bridge(first, second) ?? null;
  }
}
