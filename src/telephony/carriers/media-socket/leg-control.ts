import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd, CarrierCall } from '../carrier.js';
import type { MediaMessage } from './dialect.js';
import { retryUntilDone } from './retry-until-done.js';
import type { SocketCall } from './socket-call.js';
import { StreamWait } from './stream-wait.js';

/** What the control of a call is made of, whichever carrier it is with. */
export interface LegParts<C> {
  call: SocketCall;
  /** In all addresses of this call; nobody guesses it. */
  token: string;
  /** The carrier's id, where it is known. */
  id: string | null;
  clock: Clock;
  /** The control of another call; null where that is not with this carrier. */
  controlOf: (call: CarrierCall) => C | null;
  /** The carrier has reported the call for the first time. */
  onKnown: (id: string) => void;
  onError: (error: unknown) => void;
}

export interface LegManners {
  /** As errors have it, such as `twilio`. */
  carrier: string;
  /** As people read it, such as `Twilio`. */
  title: string;
  /** A socket that broke off: how long it takes the carrier to tell of the call's end, or of what comes next. */
  brokenMs: number;
}

/** A call may wait so long at the carrier for its turn before it rings. */
const QUEUE_MS = 60_000;
/** The carrier's own end of the ringing is waited for. */
const RING_GRACE_MS = 5_000;
/** Where the carrier has not answered, it may still tell of the call by its webhooks. */
const UNKNOWN_MS = 20_000;
/** From the answer to the first sound. */
export const STREAM_MS = 10_000;
/** A stream that the carrier ends means the call's end, which is told within this, or something that it asks. */
const STOPPED_MS = 1_500;
/** The shortest and longest ringing that all carriers take, in seconds. */
const RING_S = { least: 5, most: 600 };

/**
 * A carrier's part of a call, as far as all of them are alike: a call that is placed once and may turn up late, rings
 * for so long and no longer, has its stream within a time, and is looked after when that is gone.
 */
export abstract class LegControl {
  readonly call: SocketCall;
  protected readonly clock: Clock;
  protected readonly streams: StreamWait;
  readonly #parts: LegParts<unknown>;
  readonly #manners: LegManners;
  readonly #closing = new AbortController();
  #id: string | null;
  #isOver = false;
  #ending: Promise<void> = Promise.resolve();
  #ringTimeoutMs = 0;
  #cancelTimer: Cancel = () => undefined;

  constructor(parts: LegParts<unknown>, manners: LegManners) {
    this.#parts = parts;
    this.#manners = manners;
    this.call = parts.call;
    this.clock = parts.clock;
    this.#id = parts.id;
    this.streams = new StreamWait(parts.clock);
  }

  get id(): string | null {
    return this.#id;
  }

  get takesStream(): boolean {
    return this.isBereft;
  }

  /** Resolves when the carrier knows of the end, or does not answer. */
  get ended(): Promise<void> {
    return this.#ending;
  }

  abstract hangUp(): void;
  abstract press(keys: string, signal: AbortSignal): Promise<void>;
  abstract transfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  abstract connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome>;

  /** Has the carrier place the call. */
  async place(ringTimeoutMs: number): Promise<void> {
    this.#ringTimeoutMs = ringTimeoutMs;
    const ringS = Math.min(Math.max(Math.ceil(ringTimeoutMs / 1000), RING_S.least), RING_S.most);
    this.within(QUEUE_MS + ringTimeoutMs, () => this.#noAnswer());
    try {
      await this.dial(ringS, this.closing);
    } catch (error) {
      if (this.#id !== null) return; // its webhooks have named it meanwhile
      const isUnknown = error instanceof ParleyError && error.code === 'CARRIER_SILENT';
      const end: CallEnd = { cause: 'failed', by: 'network', reason: reasonOf(error) };
      if (!isUnknown) this.over(end);
      // Nobody knows whether there is a call: another one is not placed, and this one is ended if it turns up.
      else this.within(UNKNOWN_MS, () => this.call.finish(end));
    }
  }

  started(start: MediaMessage & { type: 'start' }): void {
    if (this.#id !== null && start.callId !== this.#id) {
      const { carrier } = this.#manners;
      this.onError(new ParleyError('CARRIER_MESSAGE_BAD', { carrier, reason: 'a stream of another call' }));
      this.call.line.detach();
      return;
    }
    this.known(start.callId);
    this.streamBegan();
    this.cancelTimer();
    this.call.ring();
    this.call.pickUp();
    this.streams.tell(true);
  }

  gone(isStopped: boolean): void {
    if (this.call.end !== null || this.isAway || this.call.isHandedOver) return;
    this.within(isStopped ? STOPPED_MS : this.#manners.brokenMs, () => {
      if (this.#id !== null && this.isBereft) void this.lookAfter(this.#id);
    });
  }

  /** Gives up everything that is pending, except the message about the end to the carrier. */
  close(): void {
    this.cancelTimer();
    this.#closing.abort(new ParleyError('CARRIER_CLOSED', { carrier: this.#manners.carrier }));
  }

  /** Asks for the call, once, and tells of its id with `known` where the answer has it. */
  protected abstract dial(ringS: number, signal: AbortSignal): Promise<void>;

  /** Whether we have redirected the far end for a while, so that its stream may be gone. */
  protected abstract get isAway(): boolean;

  /** The call has no stream, and nobody has said why. Never rejects. */
  protected abstract lookAfter(id: string): Promise<void>;

  /** The call is over: what is pending settles before its line closes. */
  protected abstract giveUp(): void;

  /** A stream of the call's has begun. */
  protected streamBegan(): void {
    // Most carriers have nothing to do then.
  }

  /** What the carrier knows the call by, as far as it can be ended by that. */
  protected get handle(): string | null {
    return this.#id;
  }

  /** Aborted when the carrier closes. */
  protected get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** The carrier says that the call is over. */
  protected get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the call goes on and has no stream. */
  protected get isBereft(): boolean {
    return this.call.end === null && !this.call.line.hasStream;
  }

  protected onError(error: unknown): void {
    this.#parts.onError(error);
  }

  protected known(id: string): void {
    if (this.#id !== null) return;
    this.#id = id;
    this.call.knownAs(id);
    this.#parts.onKnown(id);
    // It had been given up before anybody knew that there is one.
    if (this.call.end !== null) this.hangUp();
  }

  /** It rings at the far end, or will as far as anybody tells. */
  protected rings(): void {
    if (this.call.end !== null || this.call.direction === 'inbound' || this.call.state !== 'initiated') return;
    this.within(this.#ringTimeoutMs + RING_GRACE_MS, () => this.#noAnswer());
    this.call.ring();
  }

  /** Somebody has answered: the stream is waited for. */
  protected awaitStream(): void {
    this.within(STREAM_MS, () => this.noStream());
  }

  protected noStream(): void {
    if (!this.isBereft) return;
    this.fail(`${this.#manners.title} did not open the media socket: does it reach publicUrl?`);
  }

  /** The call cannot go on. */
  protected fail(reason: string): void {
    this.call.finish({ cause: 'failed', by: 'network', reason });
    this.hangUp();
  }

  protected over(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.giveUp();
    this.streams.tell(false);
    this.cancelTimer();
    this.clock.schedule(this.clock.nowMs(), () => this.call.finish(end));
  }

  /** Asks the carrier to end the call, with retries until it does or reports the end. */
  protected insist(does: (handle: string, signal: AbortSignal) => Promise<void>): void {
    this.cancelTimer();
    const handle = this.handle;
    if (handle === null || this.#isOver) return;
    this.#ending = retryUntilDone(
      this.clock,
      () => does(handle, new AbortController().signal),
      () => this.#isOver,
      (error) => this.onError(error),
    );
  }

  /** One thing is waited for at a time. */
  protected within(ms: number, onLate: () => void): void {
    this.cancelTimer();
    this.#cancelTimer = this.clock.schedule(this.clock.nowMs() + ms, onLate);
  }

  protected cancelTimer(): void {
    this.#cancelTimer();
  }

  #noAnswer(): void {
    this.call.finish({ cause: 'no-answer', by: 'agent', reason: 'nobody answered' });
    this.hangUp();
  }
}
