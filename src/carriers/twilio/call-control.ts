import type { Cancel, Clock } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { TransferOutcome } from '../../transports/transport.js';
import type { CallEnd, CarrierCall } from '../carrier.js';
import type { MediaMessage } from '../media-socket/dialect.js';
import { insist } from '../media-socket/insist.js';
import type { CallControl, SocketCall } from '../media-socket/socket-call.js';
import { StreamWait } from '../media-socket/stream-wait.js';
import type { TwilioApi } from './api.js';
import { endOf, transferOutcome } from './statuses.js';
import { conferenceTwiml, connectTwiml, dialTwiml, HANG_UP_TWIML, REJECT_TWIML } from './twiml.js';

export interface TwilioControlOptions {
  call: SocketCall;
  /** In all addresses of this call; nobody guesses it. */
  token: string;
  /** Twilio's id, where it is known. */
  sid: string | null;
  clock: Clock;
  api: TwilioApi;
  /** An address of ours on the web, or of the media socket, for this call. */
  url: (what: 'next' | 'status' | 'dialled' | 'answered' | 'machine' | 'media', more?: string) => string;
  machineDetection: 'Enable' | 'DetectMessageEnd' | null;
  controlOf: (call: CarrierCall) => TwilioControl | null;
  /** Twilio has told of the call for the first time. */
  onKnown: (sid: string) => void;
  /** Twilio says that the call is over. */
  onOver: () => void;
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
const TRANSFER_RING_S = 45;
/** Twilio's shortest and longest ringing. */
const RING_S = { least: 5, most: 600 };
/** A key and the pause behind it, as Twilio plays them; `w` is half a second. */
const KEY_MS = 500;

interface Detour {
  attempt: string;
  /** The far end is away from the stream because of a transfer; told what came of it. */
  onOutcome: ((outcome: TransferOutcome) => void) | null;
}

/** Twilio's part of a call: what it tells of it, and what it is told. */
export class TwilioControl implements CallControl {
  readonly call: SocketCall;
  readonly #options: TwilioControlOptions;
  readonly #closing = new AbortController();
  readonly #streams: StreamWait;
  #sid: string | null;
  #isOver = false;
  #ending: Promise<void> = Promise.resolve();
  #detour: Detour | null = null;
  #attempts = 0;
  #ringTimeoutMs = 0;
  #cancelTimer: Cancel = () => undefined;
  #decide: (twiml: string) => void = () => undefined;
  readonly #decided: Promise<string>;

  constructor(options: TwilioControlOptions) {
    this.#options = options;
    this.call = options.call;
    this.#sid = options.sid;
    this.#streams = new StreamWait(options.clock);
    this.#decided = new Promise((resolve) => (this.#decide = resolve));
  }

  get sid(): string | null {
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
    this.#within(STREAM_MS, () => this.#noStream());
    return this.#connecting();
  }

  /** The target of a transfer has answered. */
  targetAnswered(attempt: string, status: string): void {
    if (status === 'in-progress' && this.#detour?.attempt === attempt) this.#outcome({ ok: true });
  }

  /** A transfer is over, one way or the other; what is next? */
  dialled(attempt: string, form: URLSearchParams): string {
    if (this.#detour?.attempt !== attempt)
      return this.call.end === null && !this.call.isHandedOver ? this.next() : HANG_UP_TWIML;
    const outcome = transferOutcome(form.get('DialCallStatus') ?? '', form.get('DialSipResponseCode') ?? '');
    if (outcome.ok) {
      // It was over before we heard of the answer.
      this.#outcome(outcome);
      return HANG_UP_TWIML;
    }
    void this.#back().then(() => this.#outcome(outcome));
    return this.#connecting();
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
    this.#cancelTimer();
    this.call.ring();
    this.call.pickUp();
    this.#streams.tell(true);
  }

  gone(isStopped: boolean): void {
    if (this.call.end !== null || this.#detour !== null || this.call.isHandedOver) return;
    this.#within(isStopped ? STOPPED_MS : BROKEN_MS, () => void this.#lookAfter());
  }

  async transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const sid = this.#sid;
    const { api, url } = this.#options;
    const failed: TransferOutcome = { ok: false, reason: 'failed' };
    if (sid === null || this.#detour !== null || this.call.end !== null) return failed;
    const attempt = String(++this.#attempts);
    const outcome = new Promise<TransferOutcome>((resolve) => {
      this.#detour = { attempt, onOutcome: resolve };
    });
    const { call } = this;
    const answeredUrl = url('answered', attempt);
    const twiml = dialTwiml({
      target,
      from: call.ours,
      ringS: TRANSFER_RING_S,
      answeredUrl,
      actionUrl: url('dialled', attempt),
    });
    try {
      await api.redirect(sid, twiml, AbortSignal.any([signal, this.#closing.signal]));
    } catch (error) {
      this.#detour = null;
      this.#options.onError(error);
      return failed;
    }
    const onAbort = (): void => void this.#fetchBack(sid).then(() => this.#outcome(failed));
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#within((TRANSFER_RING_S + 15) * 1000, onAbort);
    try {
      return await outcome;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#cancelTimer();
    }
  }

  async press(keys: string, signal: AbortSignal): Promise<void> {
    const sid = this.#sid;
    if (!/^[0-9*#w]{1,200}$/.test(keys)) throw new ParleyError('KEYS_UNSUPPORTED', { carrier: 'Twilio', keys });
    if (sid === null || this.#detour !== null || this.call.end !== null)
      throw new Error('the call cannot take keys now');
    this.#detour = { attempt: String(++this.#attempts), onOutcome: null };
    try {
      await this.#options.api.redirect(sid, this.#connecting(keys), AbortSignal.any([signal, this.#closing.signal]));
      const isBack = await this.#streams.within(keys.length * KEY_MS + STREAM_MS);
      if (!isBack)
        throw new ParleyError('CARRIER_SILENT', { carrier: 'twilio', reason: 'the sound did not come back' });
    } finally {
      this.#detour = null;
      if (!this.call.line.hasStream) this.gone(true);
    }
  }

  async connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome> {
    const theirs = this.#options.controlOf(other);
    const sid = this.#sid;
    const failed: TransferOutcome = { ok: false, reason: 'failed' };
    if (sid === null || theirs === null || theirs.call.state !== 'answered' || this.call.state !== 'answered')
      return failed;
    const twiml = conferenceTwiml(`parley-${this.#options.token}-${String(++this.#attempts)}`);
    if (!(await theirs.#moveTo(twiml, signal))) return failed;
    if (!(await this.#moveTo(twiml, signal))) {
      theirs.#detour = null;
      await theirs.#fetchBack(theirs.#sid ?? '');
      return failed;
    }
    this.call.handedOver();
    theirs.call.handedOver();
    theirs.call.finish({ cause: 'transferred', by: 'agent', reason: 'connected to the other call' });
    return { ok: true };
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
    const reason = `Twilio did not open the media socket within ${String(STREAM_MS / 1000)} s: does it reach publicUrl?`;
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
      await this.#fetchBack(sid);
    } catch (error) {
      this.#options.onError(error);
    }
    if (this.call.line.hasStream || this.call.end !== null) return;
    this.call.finish({ cause: 'failed', by: 'network', reason: 'the media socket broke off' });
    this.hangUp();
  }

  /** Connects the far end to the agent again; resolves when it is there, or will not come. */
  async #fetchBack(sid: string): Promise<void> {
    const { api, onError } = this.#options;
    const back = this.#back();
    await api.redirect(sid, this.#connecting(), this.#closing.signal).catch(onError);
    await back;
  }

  #back(): Promise<boolean> {
    return this.#streams.within(STREAM_MS);
  }

  async #moveTo(twiml: string, signal: AbortSignal): Promise<boolean> {
    const sid = this.#sid;
    if (sid === null || this.#detour !== null) return false;
    this.#detour = { attempt: '', onOutcome: null };
    try {
      await this.#options.api.redirect(sid, twiml, AbortSignal.any([signal, this.#closing.signal]));
      return true;
    } catch (error) {
      this.#detour = null;
      this.#options.onError(error);
      return false;
    }
  }

  #outcome(outcome: TransferOutcome): void {
    const tell = this.#detour?.onOutcome;
    this.#detour = null;
    if (outcome.ok) this.call.handedOver();
    else if (!this.call.line.hasStream) this.gone(true);
    tell?.(outcome);
  }

  #over(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    // Whoever waits for a transfer is told before the line closes.
    if (this.#detour !== null) this.#outcome({ ok: false, reason: 'failed' });
    this.#streams.tell(false);
    this.#cancelTimer();
    const { clock, onOver } = this.#options;
    const finish = (): void => {
      this.call.finish(end);
      this.#decide(HANG_UP_TWIML);
      onOver();
    };
    clock.schedule(clock.nowMs(), finish);
  }

  #within(ms: number, onLate: () => void): void {
    const { clock } = this.#options;
    this.#cancelTimer();
    this.#cancelTimer = clock.schedule(clock.nowMs() + ms, onLate);
  }
}
