import type { Cancel, Clock } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { TransferOutcome } from '../../transports/transport.js';
import type { CallEnd, CarrierCall } from '../carrier.js';
import type { MediaMessage } from '../media-socket/dialect.js';
import { insist } from '../media-socket/insist.js';
import type { SocketCall } from '../media-socket/socket-call.js';
import type { SocketControl } from '../media-socket/socket-carrier.js';
import { StreamWait } from '../media-socket/stream-wait.js';
import type { TwilioApi } from './api.js';
import { TwilioDetours } from './detours.js';
import { endOf } from './statuses.js';
import { connectTwiml, HANG_UP_TWIML, REJECT_TWIML } from './twiml.js';

export interface TwilioControlOptions {
  call: SocketCall;
  /** In all addresses of this call; nobody guesses it. */
  token: string;
  /** Twilio's id, where it is known. */
  id: string | null;
  clock: Clock;
  api: TwilioApi;
  /** An address of ours on the web, or of the media socket, for this call. */
  url: (what: 'next' | 'status' | 'dialled' | 'answered' | 'machine' | 'media', more?: string) => string;
  machineDetection: 'Enable' | 'DetectMessageEnd' | null;
  controlOf: (call: CarrierCall) => TwilioControl | null;
  /** Twilio has told of the call for the first time. */
  onKnown: (sid: string) => void;
  onError: (error: unknown) => void;
}

/** A call may wait so long at Twilio for its turn before it rings. */
const QUEUE_MS = 60_000;
/** Twilio's own end of the ringing is waited for. */
const RING_GRACE_MS = 5_000;
/** Where Twilio has not answered, it may still tell of the call by its webhooks. */
const UNKNOWN_MS = 20_000;
/** From the answer to the first sound. */
const STREAM_MS = 10_000;
/** A stream that Twilio ends means the call's end, which is told within this, or that we are asked what is next. */
const STOPPED_MS = 1_500;
/** A socket that broke off: Twilio notices late. */
const BROKEN_MS = 8_000;
/** Twilio waits 15 s for the answer to its webhook. */
const VOICE_MS = 12_000;
/** Twilio is sent to the media socket so often in a row. */
const MOST_CONNECTS = 3;
/** Twilio's shortest and longest ringing. */
const RING_S = { least: 5, most: 600 };

/** Twilio's part of a call: what it tells of it, and what it is told. */
export class TwilioControl implements SocketControl {
  readonly call: SocketCall;
  readonly #options: TwilioControlOptions;
  readonly #closing = new AbortController();
  readonly #streams: StreamWait;
  readonly #detours: TwilioDetours;
  #sid: string | null;
  #isOver = false;
  #ending: Promise<void> = Promise.resolve();
  /** How often Twilio was sent to the media socket, and did not come. */
  #connects = 0;
  #ringTimeoutMs = 0;
  #cancelTimer: Cancel = () => undefined;
  #decide: (twiml: string) => void = () => undefined;
  readonly #decided: Promise<string>;

  constructor(options: TwilioControlOptions) {
    this.#options = options;
    this.call = options.call;
    this.#sid = options.id;
    const { call, clock, api, url, onError } = options;
    this.#streams = new StreamWait(clock);
    this.#detours = new TwilioDetours({
      ...{ call, clock, api, url, onError, streams: this.#streams, closing: this.#closing.signal },
      sid: () => this.#sid,
      connecting: (keys) => this.#connecting(keys),
      onLost: () => this.gone(true),
    });
    this.#decided = new Promise((resolve) => (this.#decide = resolve));
  }

  get id(): string | null {
    return this.#sid;
  }

  /** Resolves when Twilio has been told of the end, or will not listen. */
  get ended(): Promise<void> {
    return this.#ending;
  }

  /** Has Twilio place the call. */
  async place(ringTimeoutMs: number): Promise<void> {
    const { api, url, machineDetection: mode } = this.#options;
    const { from, to } = this.call;
    this.#ringTimeoutMs = ringTimeoutMs;
    const ringS = Math.min(Math.max(Math.ceil(ringTimeoutMs / 1000), RING_S.least), RING_S.most);
    this.#within(QUEUE_MS + ringTimeoutMs, () => this.#noAnswer());
    const machineDetection = mode === null ? null : { mode, url: url('machine') };
    const request = { from, to, ringS, machineDetection, twiml: this.#connecting(), statusUrl: url('status') };
    try {
      const sid = await api.createCall(request, this.#closing.signal);
      this.#known(sid);
    } catch (error) {
      if (this.#sid !== null) return; // its webhooks have told meanwhile
      const isUnknown = error instanceof ParleyError && error.code === 'CARRIER_SILENT';
      const end: CallEnd = { cause: 'failed', by: 'network', reason: reasonOf(error) };
      if (!isUnknown) this.#over(end);
      // Nobody knows whether there is a call: another one is not placed, and this one is ended if it turns up.
      else this.#within(UNKNOWN_MS, () => this.call.finish(end));
    }
  }

  /** What Twilio is to do with a call that comes in, once somebody has decided. */
  async voice(): Promise<string> {
    const { clock } = this.#options;
    const cancel = clock.schedule(clock.nowMs() + VOICE_MS, () => {
      this.call.finish({ cause: 'failed', by: 'agent', reason: 'nobody answered in time' });
      this.#decide(REJECT_TWIML);
    });
    const twiml = await this.#decided;
    cancel();
    // Asked once more, when it is over.
    return this.call.end === null || twiml === REJECT_TWIML ? twiml : HANG_UP_TWIML;
  }

  accept(): void {
    this.#decide(this.#connecting());
    this.#within(STREAM_MS, () => this.#noStream());
  }

  refuse(): void {
    this.#decide(REJECT_TWIML);
  }

  hangUp(): void {
    this.#cancelTimer();
    this.#decide(HANG_UP_TWIML);
    const sid = this.#sid;
    if (sid === null || this.#isOver) return;
    const { api, clock, onError } = this.#options;
    const end = (): Promise<void> => api.end(sid, new AbortController().signal);
    this.#ending = insist(clock, end, () => this.#isOver, onError);
  }

  /** A status callback. */
  status(form: URLSearchParams): void {
    const status = form.get('CallStatus') ?? '';
    const sid = form.get('CallSid') ?? '';
    if (sid === '' || (this.#sid !== null && sid !== this.#sid)) return;
    this.#known(sid);
    if (status === 'ringing') this.#rings();
    if (status === 'in-progress' && this.call.state !== 'answered') this.#within(STREAM_MS, () => this.#noStream());
    const end = endOf(status, form, this.call.state === 'answered');
    if (end !== null) this.#over(end);
  }

  /** Twilio asks what is next: the stream is over, the call is not. */
  next(): string {
    if (this.call.end !== null) return HANG_UP_TWIML;
    // A socket that Twilio cannot open brings it here at once, and would for ever.
    if (++this.#connects > MOST_CONNECTS) {
      this.#noStream();
      return HANG_UP_TWIML;
    }
    this.#within(STREAM_MS, () => this.#noStream());
    return this.#connecting();
  }

  press(keys: string, signal: AbortSignal): Promise<void> {
    return this.#detours.press(keys, signal);
  }

  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    return this.#detours.transfer(target, signal);
  }

  connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome> {
    const theirs = this.#options.controlOf(other);
    if (theirs === null) return Promise.resolve({ ok: false, reason: 'failed' });
    return this.#detours.connect(theirs.#detours, `parley-${this.#options.token}`, signal);
  }

  /** The target of a transfer has answered. */
  targetAnswered(attempt: string, status: string): void {
    this.#detours.targetAnswered(attempt, status);
  }

  /** A transfer is over, one way or the other; what is next? */
  dialled(attempt: string, form: URLSearchParams): string {
    return this.#detours.dialled(attempt, form) ?? (this.call.isHandedOver ? HANG_UP_TWIML : this.next());
  }

  /** What Twilio takes whoever answered for. */
  machine(form: URLSearchParams): void {
    this.call.answeredBy((form.get('AnsweredBy') ?? 'unknown').slice(0, 40));
  }

  started(start: MediaMessage & { type: 'start' }): void {
    if (this.#sid !== null && start.callId !== this.#sid) {
      this.#options.onError(
        new ParleyError('CARRIER_MESSAGE_BAD', { carrier: 'twilio', reason: 'a stream of another call' }),
      );
      this.call.line.detach();
      return;
    }
    this.#known(start.callId);
    this.#connects = 0;
    this.#cancelTimer();
    this.call.ring();
    this.call.pickUp();
    this.#streams.tell(true);
  }

  gone(isStopped: boolean): void {
    if (this.call.end !== null || this.#detours.isUnderWay || this.call.isHandedOver) return;
    this.#within(isStopped ? STOPPED_MS : BROKEN_MS, () => void this.#lookAfter());
  }

  /** Gives everything up that is waited for; what Twilio is told of the end still goes out. */
  close(): void {
    this.#cancelTimer();
    this.#closing.abort(new ParleyError('CARRIER_CLOSED', { carrier: 'twilio' }));
  }

  #connecting(keys = ''): string {
    const { url } = this.#options;
    return connectTwiml({ streamUrl: url('media'), nextUrl: url('next') }, keys);
  }

  #known(sid: string): void {
    if (this.#sid !== null) return;
    this.#sid = sid;
    this.call.knownAs(sid);
    this.#options.onKnown(sid);
    // It had been given up before anybody knew that there is one.
    if (this.call.end !== null) this.hangUp();
  }

  #rings(): void {
    if (this.call.end !== null || this.call.state !== 'initiated') return;
    this.#within(this.#ringTimeoutMs + RING_GRACE_MS, () => this.#noAnswer());
    this.call.ring();
  }

  #noAnswer(): void {
    this.call.finish({ cause: 'no-answer', by: 'agent', reason: 'nobody answered' });
    this.hangUp();
  }

  #noStream(): void {
    if (this.call.line.hasStream || this.call.end !== null) return;
    const reason = 'Twilio did not open the media socket: does it reach publicUrl?';
    this.call.finish({ cause: 'failed', by: 'network', reason });
    this.hangUp();
  }

  /** The call has no stream, and nobody has said why. */
  async #lookAfter(): Promise<void> {
    const { api } = this.#options;
    const sid = this.#sid;
    if (sid === null || this.call.line.hasStream || this.call.end !== null) return;
    try {
      const found = await api.status(sid, this.#closing.signal);
      const end = found === null ? null : endOf(found.status, new URLSearchParams(), true);
      if (found === null || end !== null) {
        this.#over(end ?? { cause: 'failed', by: 'network', reason: 'Twilio knows the call no more' });
        return;
      }
      await this.#detours.fetchBack(sid);
    } catch (error) {
      this.#options.onError(error);
    }
    if (this.call.line.hasStream || this.call.end !== null) return;
    this.call.finish({ cause: 'failed', by: 'network', reason: 'the media socket broke off' });
    this.hangUp();
  }

  #over(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    // Whoever waits for a transfer is told before the line closes.
    this.#detours.giveUp();
    this.#streams.tell(false);
    this.#cancelTimer();
    const { clock } = this.#options;
    const finish = (): void => {
      this.call.finish(end);
      this.#decide(HANG_UP_TWIML);
    };
    clock.schedule(clock.nowMs(), finish);
  }

  #within(ms: number, onLate: () => void): void {
    const { clock } = this.#options;
    this.#cancelTimer();
    this.#cancelTimer = clock.schedule(clock.nowMs() + ms, onLate);
  }
}
