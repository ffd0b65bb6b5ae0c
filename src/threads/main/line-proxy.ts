import type { RemoteLine, RemoteSession } from '../../engine/remote-line.js';
import type { SessionRequest } from '../../engine/options.js';
import type { WaitingCaller, WaitingRequest } from '../../engine/waiting.js';
import type { WaitingEvents } from '../../session/line/waiting-line.js';
import type { TransferOutcome, Transport } from '../../transports/transport.js';
import type { CodecName } from '../../transports/rtp/media-codec.js';
import type { RtpStats } from '../../transports/rtp/media.js';
import type { LineFacts, ThreadMethods } from '../wire/protocol.js';
import type { Rpc } from '../wire/rpc.js';

type Transfer = NonNullable<Transport['transfer']>;

/** The main thread's proxy of a line in a media thread. */
export abstract class LineProxy implements RemoteLine {
  abstract readonly name: string;
  readonly id: string;
  protected readonly thread: LineChannel;

  constructor(id: string, thread: LineChannel) {
    this.id = id;
    this.thread = thread;
  }

  /** Of the caller who waits on this line; null = none does. */
  #waitingEvents: WaitingEvents | null = null;

  /** The thread has ended, and the line with it. */
  abstract lost(error: Error): void;

  openSession(request: Omit<SessionRequest, 'transport'>): Promise<RemoteSession> {
    return this.thread.openSession(this, request);
  }

  get waitingEvents(): WaitingEvents | null {
    return this.#waitingEvents;
  }

  async openWaiting({ events, ...request }: Omit<WaitingRequest, 'transport'>): Promise<WaitingCaller> {
    const { id, thread } = this;
    this.#waitingEvents = events;
    const language = await thread.openWaiting(id, request);
    return {
      language,
      open: () => thread.tell('startWaiting', id),
      say: (text) => thread.sayWaiting(id, text),
      beep: () => thread.sayWaiting(id, null),
      transfer: (target, signal) => this.transferTo(target, signal),
      hush: () => thread.tell('hushWaiting', id),
      tell: (place) => thread.tell('tellWaiting', { line: id, place }),
      close: async () => thread.tell('closeWaiting', id),
    };
  }

  /** Its session is over; the line was closed in its thread, unless it was transferred. */
  sessionOver(): void {
    this.thread.forgetLine(this.id);
  }

  transferringBy(_transfer: Transfer): this {
    return this; // for lines without transfers
  }

  /** The session's transfer of the user. */
  transferTo(_target: string, _signal: AbortSignal): Promise<TransferOutcome> {
    return Promise.resolve({ ok: false, reason: 'unsupported' });
  }

  close(): Promise<void> {
    this.thread.closeLine(this.id);
    return Promise.resolve();
  }
}

/** The proxy of a browser's line in a media thread, which has its sockets, packets and messages. */
export class WebRtcLineProxy extends LineProxy {
  readonly name = 'webrtc';
  /** Resolves when the other side can hear; rejects if the connection fails. */
  readonly connected: Promise<void>;
  #resolve!: () => void;
  #reject!: (error: Error) => void;

  constructor(id: string, thread: LineChannel) {
    super(id, thread);
    this.connected = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.connected.catch(() => undefined); // may have no reader
  }

  /** Answers an offer, the first or a later one. @throws ParleyError as `WebRtcTransport.answer`, MEDIA_THREAD_LOST */
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

/** The operations of a line's proxy in its media thread. */
export interface LineChannel {
  tell: Rpc<ThreadMethods>['tell'];
  openSession(
    line: { id: string; sessionOver: () => void },
    request: Omit<SessionRequest, 'transport'>,
  ): Promise<RemoteSession>;
  /** @returns the language of the agent */
  openWaiting(line: string, request: Omit<WaitingRequest, 'transport' | 'events'>): Promise<string>;
  /** @param text null = the tone after which a caller speaks. Never rejects. */
  sayWaiting(line: string, text: string | null): Promise<boolean>;
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
