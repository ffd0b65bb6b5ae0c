import type { SessionLine } from '../../../engine/remote-line.js';
import type { RtpMediaOptions } from '../../../transports/rtp/media.js';
import type { RtpPorts } from '../../../transports/rtp/ports.js';
import type { OpenedMedia } from '../../../transports/rtp/session.js';
import type { LineStats, TransferOutcome, Transport } from '../../../transports/transport.js';

/** What the signalling of a SIP call does with the agent's line. */
export interface CallLineControl {
  readonly digitsSent: string;
  readonly digitsReceived: string;
  /** The media are there. Left out: those of this line are in its own thread. */
  attach?(media: Transport): void;
  /** Keys that the far end pressed, in messages of the signalling. */
  keys(keys: string): void;
  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  lineStats(): LineStats;
  /** Packets of the far end that have come so far. Never rejects. */
  received(): Promise<number>;
  /** Keeps the figures of now as the last ones: the media are about to be closed. */
  freeze(): void;
  /** Resolves when the last figures are known here as well. Left out: at once. */
  readonly frozen?: Promise<void>;
  /** The call is over for the agent. May be called twice. */
  gone(error?: Error): void;
}

/** The agent's end of a SIP call. */
export type AgentLine = CallLineControl & SessionLine;

export interface CallLineEvents {
  /** The agent's side has been closed. */
  onClosed(): void;
  onTransfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
}

/** Where calls have their lines and media: the signalling does not know in which thread that is. */
export interface CallMediaHost {
  /** @param beside the line of a call that this one may be bridged to; null = there is none */
  openLine(rateHz: number, events: CallLineEvents, beside: AgentLine | null): AgentLine;
  /** Opens sockets and media for a line of this host. @throws ParleyError RTP_PORTS_FULL, MEDIA_THREAD_LOST */
  openMedia(line: AgentLine, ports: RtpPorts, options: CallMediaOptions): Promise<OpenedMedia>;
  /** Relays the sound of two lines to each other until it is closed; null where that cannot be. */
  bridge(first: AgentLine, second: AgentLine): { close: () => void } | null;
}

export type CallMediaOptions = Pick<RtpMediaOptions, 'codecs' | 'listener' | 'totals'>;
