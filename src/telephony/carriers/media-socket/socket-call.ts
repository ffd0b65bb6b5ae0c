import type { Cancel, Clock } from '../../../base/clock.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import { CallStates, TRANSFERRED } from '../call-states.js';
import {
  type CallEnd,
  type CallRecord,
  type CallRefusal,
  type CallState,
  type CarrierCall,
  refused,
} from '../carrier.js';
import type { MediaDialect, MediaEncoding } from './dialect.js';
import { SocketLine, type SocketLineEvents } from './socket-line.js';

/** The operations of a call at its carrier. None of these throws, and each retries as needed. */
export interface SocketCallControl {
  /** Answers an inbound call. */
  accept(): void;
  /** Refuses an unanswered inbound call. */
  refuse(refusal: CallRefusal): void;
  /** Ends the call, or cancels it while it rings. */
  hangUp(): void;
  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome>;
  /** Presses keys. Rejects if that is not possible. */
  press(keys: string, signal: AbortSignal): Promise<void>;
}

export interface SocketCallOptions {
  id: string;
  carrier: string;
  direction: 'inbound' | 'outbound';
  from: string;
  to: string;
  headers: Readonly<Record<string, string>>;
  clock: Clock;
  dialect: MediaDialect;
  encoding: MediaEncoding;
  sampleRateHz: number;
  line: Pick<SocketLineEvents, 'onStart' | 'onGone' | 'onBad'>;
  /** As `CarrierCall.placeBeside`. */
  placeBeside: (call: SocketCall, target: string, ringTimeoutMs: number) => SocketCall;
  /** An inbound call was refused. */
  onRefused: (refusal: CallRefusal) => void;
  onListenerError: (error: unknown) => void;
}

const CODECS: Readonly<Record<MediaEncoding, string>> = { mulaw: 'PCMU', alaw: 'PCMA', l16: 'L16' };

/** A call with audio over a carrier's media socket; its `SocketCallControl` is the carrier's part. */
export class SocketCall implements CarrierCall {
  readonly id: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly line: SocketLine;
  readonly #options: SocketCallOptions;
  readonly #states: CallStates;
  #control: SocketCallControl | null = null;
  #end: CallEnd | null = null;
  #transfer: CallRecord['transfer'] = null;
  #machine: CallRecord['machine'];
  #networkCallId: string | null = null;
  #isHandedOver = false;

  constructor(options: SocketCallOptions) {
    const { id, direction, from, to, headers, carrier, clock, dialect, encoding, sampleRateHz, line } = options;
    this.#options = options;
    this.id = id;
    this.direction = direction;
    this.from = from;
    this.to = to;
    this.headers = headers;
    this.line = new SocketLine({
      clock,
      carrier,
      dialect,
      encoding,
      sampleRateHz,
      events: {
        ...line,
        onClosed: () => this.hangUp(),
        onTransfer: (target, signal) => this.#transferTo(target, signal),
        onDigits: (keys, signal) => this.#bound.press(keys, signal),
      },
    });
    this.#states = new CallStates({ nowMs: () => clock.nowMs(), onListenerError: options.onListenerError });
  }

  get state(): CallState {
    return this.#states.current;
  }

  get end(): CallEnd | null {
    return this.#end;
  }

  /** The own number of this call. */
  get ours(): string {
    return this.direction === 'outbound' ? this.from : this.to;
  }

  /** Whether the far end was transferred. */
  get isHandedOver(): boolean {
    return this.#isHandedOver;
  }

  bind(control: SocketCallControl): void {
    this.#control = control;
  }

  onState(listener: (state: CallState) => void): Cancel {
    return this.#states.listen(listener);
  }

  answer(): void {
    if (this.direction === 'inbound' && this.state === 'ringing') this.#bound.accept();
  }

  hangUp(refusal: CallRefusal = 'declined'): void {
    if (this.#end !== null) return;
    if (this.#isHandedOver) {
      this.finish(TRANSFERRED);
      return;
    }
    const isUnanswered = this.state !== 'answered';
    if (isUnanswered && this.direction === 'inbound') {
      this.finish(refused(refusal));
      this.#options.onRefused(refusal);
      this.#bound.refuse(refusal);
      return;
    }
    const cause = isUnanswered ? 'canceled' : 'hangup';
    this.finish({ cause, by: 'agent', reason: isUnanswered ? 'given up while it rang' : 'the agent hung up' });
    this.#bound.hangUp();
  }

  placeBeside(target: string, ringTimeoutMs: number): SocketCall {
    return this.#options.placeBeside(this, target, ringTimeoutMs);
  }

  async connectTo(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome> {
    const outcome = await this.#bound.connect(other, signal);
    this.#transfer = { target: other.to, outcome };
    return outcome;
  }

  record(): CallRecord {
    const { id: callId, carrier, encoding } = this.#options;
    const { direction, from, to, line } = this;
    const { sent, received, lost } = line.lineStats();
    return {
      callId,
      carrier,
      direction,
      from,
      to,
      ...this.#states.times(),
      end: this.#end,
      codec: line.counts.streams > 0 ? CODECS[encoding] : '',
      digitsSent: line.digitsSent,
      digitsReceived: line.digitsReceived,
      transfer: this.#transfer,
      packets: { sent, sentLost: line.counts.unsentFrames, received, receivedLost: lost },
      machine: this.#machine ?? undefined,
      networkCallId: this.#networkCallId ?? undefined,
    };
  }

  ring(): void {
    if (this.state === 'initiated') this.#states.enter('ringing');
  }

  /** Audio flows both ways. */
  pickUp(): void {
    if (this.state === 'initiated' || this.state === 'ringing') this.#states.enter('answered');
  }

  /** The carrier's id has become known. */
  knownAs(networkCallId: string): void {
    if (networkCallId !== this.id) this.#networkCallId = networkCallId;
  }

  /** The carrier's detection of who answered, in its own terms. */
  answeredBy(who: string): void {
    this.#machine = { answeredBy: who, toldMs: this.#options.clock.nowMs() };
  }

  /** The far end was transferred: the agent leaves. */
  handedOver(): void {
    this.#isHandedOver = true;
  }

  /** The call is over for the agent; the first reason counts. */
  finish(end: CallEnd): void {
    if (this.#end !== null) return;
    this.#end = this.#isHandedOver ? TRANSFERRED : end;
    this.line.gone();
    this.#states.enter('ended');
    this.#states.forget();
  }

  get #bound(): SocketCallControl {
    if (this.#control === null) throw new Error('the call has no carrier yet');
    return this.#control;
  }

  async #transferTo(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const outcome = await this.#bound.transfer(target, signal);
    this.#transfer = { target, outcome };
    return outcome;
  }
}
