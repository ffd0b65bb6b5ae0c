import type { SessionLine } from '../../../engine/remote-line.js';
import type { RtpMediaOptions } from '../../../transports/rtp/media.js';
import type { RtpPorts } from '../../../transports/rtp/ports.js';
import type { OpenedMedia, RtpListener, RtpSession } from '../../../transports/rtp/session.js';
import type { LineStats, TransferOutcome, Transport } from '../../../transports/transport.js';

/** What the signalling of a SIP call does with the agent's line. */
export interface CallLineControl {
  readonly digitsSent: string;
  readonly digitsReceived: string;
  /** Attaches the open media. Omitted if the line and its media are in another thread. */
  attach?(media: Transport): void;
  /** Keys of the far end in signalling messages. */
  keys(keys: string): void;
  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  lineStats(): LineStats;
  /** Number of packets received from the far end. Never rejects. */
  received(): Promise<number>;
  /** Makes the current statistics final: the media are about to close. */
  freeze(): void;
  /** Resolves when the final statistics are known here. Default: at once. */
  readonly frozen?: Promise<void>;
  /** The call is over for the agent. May be called twice. */
  gone(error?: Error): void;
}

/** The agent's side of a SIP call. */
export type AgentLine = CallLineControl & SessionLine;

export interface CallLineEvents {
  /** The agent's side has closed. */
  onClosed(): void;
  onTransfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
}

/** Opens lines and media of calls: the signalling does not know their thread. */
export interface CallMediaHost {
  /** @param near where the line must be: beside another one that it may be bridged to, or on this thread */
  openLine(rateHz: number, events: CallLineEvents, near: AgentLine | 'here' | null): AgentLine;
  /** Opens sockets and media for a line of this host. @throws ParleyError RTP_PORTS_FULL, MEDIA_THREAD_LOST */
  openMedia(line: AgentLine, ports: RtpPorts, options: CallMediaOptions): Promise<OpenedMedia>;
  /** Relays the audio of two lines to each other until it is closed; null if that is not possible. */
  bridge(first: AgentLine, second: AgentLine): { close: () => void } | null;
}

export type CallMediaOptions = Pick<RtpMediaOptions, 'codecs' | 'listener' | 'totals'>;

/** The media of one call, as its signalling needs them. */
export type CallMedia = Pick<
  RtpSession<Transport | null>,
  'line' | 'offer' | 'accept' | 'answer' | 'rollback' | 'answered' | 'stats' | 'close'
>;

/**
 * Opens a call's sockets. Rejects if none are free.
 * @param address the local address as the other side sees it
 * @param bound the local address of the call's signalling
 * @param line of the agent
 */
export type OpenMedia = (listener: RtpListener, address: string, bound: string, line: AgentLine) => Promise<CallMedia>;
