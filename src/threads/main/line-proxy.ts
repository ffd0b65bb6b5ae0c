import type { RemoteLine, RemoteSession } from '../../engine/remote-line.js';
import type { SessionRequest } from '../../engine/options.js';
import type { TransferOutcome, Transport } from '../../transports/transport.js';
import type { LineChannel } from './line-channel.js';

type Transfer = NonNullable<Transport['transfer']>;

/** The main thread's end of a line that lies in a media thread. */
export abstract class LineProxy implements RemoteLine {
  abstract readonly name: string;
  readonly id: string;
  protected readonly thread: LineChannel;

  constructor(id: string, thread: LineChannel) {
    this.id = id;
    this.thread = thread;
  }

  /** The thread has ended, and the line with it. */
  abstract lost(error: Error): void;

  openSession(request: Omit<SessionRequest, 'transport'>): Promise<RemoteSession> {
    return this.thread.openSession(this, request);
  }

  /** Its session is over; over there the line has been closed, unless it was handed on. */
  sessionOver(): void {
    this.thread.forgetLine(this.id);
  }

  transferringBy(_transfer: Transfer): this {
    return this; // of lines without transfers
  }

  /** What its session wants with the user. */
  transferTo(_target: string, _signal: AbortSignal): Promise<TransferOutcome> {
    return Promise.resolve({ ok: false, reason: 'unsupported' });
  }

  close(): Promise<void> {
    this.thread.closeLine(this.id);
    return Promise.resolve();
  }
}

/** A browser's line in a media thread: its sockets, its packets and the messages to its page are there. */
export class WebRtcLineProxy extends LineProxy {
  readonly name = 'webrtc';
  /** Resolves when the other side can hear; rejects where it does not come to that. */
  readonly connected: Promise<void>;
  #resolve!: () => void;
  #reject!: (error: Error) => void;

  constructor(id: string, thread: LineChannel) {
    super(id, thread);
    this.connected = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.connected.catch(() => undefined); // not everybody asks
  }

  /** Answers an offer, the first and every further one. @throws ParleyError as `WebRtcTransport.answer`, MEDIA_THREAD_LOST */
  answer(sdp: string): Promise<string> {
    return this.thread.answerOffer(this.id, sdp);
  }

  isConnected(): void {
    this.#resolve();
  }

  lost(error: Error): void {
    this.#reject(error);
  }
}
