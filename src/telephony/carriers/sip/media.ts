import type { AgentLine } from './call-media-host.js';
import type { RtpListener, RtpSession } from '../../../transports/rtp/session.js';
import type { Transport } from '../../../transports/transport.js';

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
