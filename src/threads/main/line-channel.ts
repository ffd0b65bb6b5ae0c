import type { RemoteSession } from '../../engine/remote-line.js';
import type { SessionRequest } from '../../engine/options.js';
import type { CodecName } from '../../transports/rtp/media-codec.js';
import type { RtpStats } from '../../transports/rtp/media.js';
import type { LineFacts, ThreadMethods } from '../wire/protocol.js';
import type { Rpc } from '../wire/rpc.js';

/** The operations of a line's proxy in its media thread. */
export interface LineChannel {
  tell: Rpc<ThreadMethods>['tell'];
  openSession(
    line: { id: string; sessionOver: () => void },
    request: Omit<SessionRequest, 'transport'>,
  ): Promise<RemoteSession>;
  answerOffer(line: string, sdp: string): Promise<string>;
  /** @returns the port */
  openSocket(line: string, address: string, port: number): Promise<number>;
  /** Also resolves if the thread, and with it the socket, has ended. */
  closeSocket(line: string, port: number): Promise<void>;
  openMedia(line: string, ports: { rtp: number; rtcp: number }, codecs: readonly CodecName[]): Promise<void>;
  factsOf(line: string, areLast: boolean): Promise<LineFacts>;
  closeMedia(line: string): Promise<RtpStats>;
  /** May be called twice. */
  closeLine(line: string): void;
  /** The line has closed in its thread. */
  forgetLine(line: string): void;
}
