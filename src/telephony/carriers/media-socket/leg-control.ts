import type { Cancel, Clock } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd, CarrierCall } from '../carrier.js';
import type { MediaMessage } from './dialect.js';
import type { SocketCall } from './socket-call.js';
import { StreamWait } from './stream-wait.js';

/** The common parts of a call's control. */
export interface LegParts<C> {
  call: SocketCall;
  /** Part of all addresses of this call; unpredictable. */
  token: string;
  /** The carrier's id, if known. */
  id: string | null;
  clock: Clock;
  /** The control of another call; null if that is with another carrier. */
  controlOf: (call: CarrierCall) => C | null;
  /** The carrier has reported the call for the first time. */
  onKnown: (id: string) => void;
  onError: (error: unknown) => void;
}

export interface LegManners {
  /** In errors, such as `twilio`. */
  carrier: string;
  /** For people, such as `Twilio`. */
  title: string;
  /** After a broken socket: time for the carrier to report the call's end or to continue. */
  brokenMs: number;
}

/** Maximum time that a call waits at the carrier before it rings. */
const QUEUE_MS = 60_000;
/** Additional wait for the carrier's own end of the ringing. */
const RING_GRACE_MS = 5_000;
/** Without an answer from the carrier, webhooks may still report the call in this time. */
const UNKNOWN_MS = 20_000;
/** From the answer to the first audio. */
export const STREAM_MS = 10_000;
/** A stream that the carrier ends means that the call has ended, or a request; both come within this time. */
const STOPPED_MS = 1_500;
/** Ring times that all carriers support, in seconds. */
const RING_S = { least: 5, most: 600 };

/**
 * The common part of a carrier's call: it places a call once, even if the call is reported late; limits the ringing;
 * waits for the stream with a deadline; and checks the call when the stream is gone.
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

  /** Places the call at the carrier. */
  async place(ringTimeoutMs: number): Promise<void> {
    this.#ringTimeoutMs = ringTimeoutMs;
    const ringS = Math.min(Math.max(Math.ceil(ringTimeoutMs / 1000), RING_S.least), RING_S.most);
    this.within(QUEUE_MS + ringTimeoutMs, () => this.#noAnswer());
    try {
      await this.dial(ringS, this.closing);
    } catch (error) {
      if (this.#id !== null) return; // its webhooks have reported the id meanwhile
      const isUnknown = error instanceof ParleyError && error.code === 'CARRIER_SILENT';
      const end: CallEnd = { cause: 'failed', by: 'network', reason: reasonOf(error) };
      if (!isUnknown) this.over(end);
      // It is unknown whether the call exists: no other is placed, and this one is ended if it appears.
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

  /** Cancels everything in progress, except the report of the end to the carrier. */
  close(): void {
    this.cancelTimer();
    this.#closing.abort(new ParleyError('CARRIER_CLOSED', { carrier: this.#manners.carrier }));
  }

  /** Requests the call, once, and calls `known` with its id if the answer has it. */
  protected abstract dial(ringS: number, signal: AbortSignal): Promise<void>;

  /** Whether the far end is redirected for a while, so that its stream may be gone. */
  protected abstract get isAway(): boolean;

  /** The call has lost its stream without a reason. Never rejects. */
  protected abstract lookAfter(id: string): Promise<void>;

  /** The call is over: settles pending operations before its line closes. */
  protected abstract giveUp(): void;

  /** A stream of the call has begun. */
  protected streamBegan(): void {
    // Most carriers need nothing here.
  }

  /** The carrier's handle of the call, with which it can be ended. */
  protected get handle(): string | null {
    return this.#id;
  }

  /** Aborted when the carrier closes. */
  protected get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** The carrier reports the end of the call. */
  protected get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the call continues without a stream. */
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
    // It was cancelled before it was known to exist.
    if (this.call.end !== null) this.hangUp();
  }

  /** It rings at the far end, or is assumed to. */
  protected rings(): void {
    if (this.call.end !== null || this.call.direction === 'inbound' || this.call.state !== 'initiated') return;
    this.within(this.#ringTimeoutMs + RING_GRACE_MS, () => this.#noAnswer());
    this.call.ring();
  }

  /** The call was answered: waits for the stream. */
  protected awaitStream(): void {
    this.within(STREAM_MS, () => this.noStream());
  }

  protected noStream(): void {
    if (!this.isBereft) return;
    this.fail(`${this.#manners.title} did not open the media socket: does it reach publicUrl?`);
  }

  /** The call cannot continue. */
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

  /** Requests the end of the call, with retries until the carrier confirms or reports it. */
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

  /** One deadline at a time. */
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

/** Delays between the attempts. */
const TRIES_AFTER_MS: readonly number[] = [0, 1_000, 4_000, 15_000];

/**
 * Retries until it succeeds or has failed too often: a call that continues at the carrier costs money. Never rejects.
 *
 * @param isNeedless checked before each attempt
 * @param onGivenUp called with the last failure
 */
export async function retryUntilDone(
  clock: Clock,
  attempt: () => Promise<void>,
  isNeedless: () => boolean,
  onGivenUp: (error: unknown) => void,
): Promise<void> {
  let last: unknown;
  for (const waitMs of TRIES_AFTER_MS) {
    if (waitMs > 0) await new Promise<void>((resolve) => clock.schedule(clock.nowMs() + waitMs, resolve));
    if (isNeedless()) return;
    try {
      await attempt();
      return;
    } catch (error) {
      last = error;
    }
  }
  onGivenUp(last);
}
