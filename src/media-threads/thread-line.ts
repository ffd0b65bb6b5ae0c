import type { LineElsewhere, SessionElsewhere } from '../engine/line-elsewhere.js';
import type { SessionRequest } from '../engine/options.js';
import type { TransferOutcome, Transport, TransportSink } from '../transports/transport.js';
import type { MediaThread } from './media-thread.js';

type Transfer = NonNullable<Transport['transfer']>;

/** The main thread's end of a line that lies in a media thread. */
export abstract class ThreadLine implements LineElsewhere {
  abstract readonly name: string;
  abstract readonly inputRateHz: number;
  abstract readonly outputRateHz: number;
  readonly id: string;
  protected readonly thread: MediaThread;

  constructor(id: string, thread: MediaThread) {
    this.id = id;
    this.thread = thread;
  }

  /** The thread has ended, and the line with it. */
  abstract lost(error: Error): void;

  openSession(request: SessionRequest): Promise<SessionElsewhere> {
    return this.thread.openSession(this, request);
  }

  /** Its session is over; over there the line has been closed, unless it was handed on. */
  sessionOver(): void {
    this.thread.forgetLine(this.id);
  }

  transferringBy(_transfer: Transfer): Transport {
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

  start(_sink: TransportSink): void {
    throw new Error('the session of this line runs in a media thread');
  }

  play(): void {
    // Nothing is heard on it here.
  }

  send(): void {
    // Nor said to its client.
  }
}
