import { type Cancel, type Clock, delay } from '../../clock/clock.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { TransferOutcome } from '../../transports/transport.js';
import type { CallEnd, CarrierCall } from '../carrier.js';
import type { MediaMessage } from '../media-socket/dialect.js';
import { insist } from '../media-socket/insist.js';
import type { SocketCall } from '../media-socket/socket-call.js';
import type { SocketControl } from '../media-socket/socket-carrier.js';
import { StreamWait } from '../media-socket/stream-wait.js';
import type { TelnyxApi, TelnyxDetection, TelnyxStream } from './api.js';
import type { TelnyxEvent } from './event.js';
import { endOf } from './statuses.js';
import { TelnyxTransferring } from './transferring.js';

export interface TelnyxControlOptions {
  call: SocketCall;
  /** In the address of this call's media socket and in what Telnyx keeps with the call; nobody guesses it. */
  token: string;
  /** Telnyx's `call_control_id`, where it is known. */
  id: string | null;
  clock: Clock;
  api: TelnyxApi;
  /** Where webhooks about the call come to. */
  webhookUrl: string;
  stream: TelnyxStream;
  /** Whether a call that comes in has its stream with its answer, or asked for behind it. */
  streamsWithAnswer: boolean;
  detection: TelnyxDetection | null;
  controlOf: (call: CarrierCall) => TelnyxControl | null;
  /** Telnyx has told of the call for the first time. */
  onKnown: (id: string) => void;
  onError: (error: unknown) => void;
}

/** A call may wait so long at Telnyx for its turn before it goes out. */
const QUEUE_MS = 60_000;
/** Telnyx's own end of the ringing is waited for. */
const RING_GRACE_MS = 5_000;
/** Where Telnyx has not answered, it may still tell of the call by its webhooks. */
const UNKNOWN_MS = 20_000;
/** From the answer to the first sound. */
const STREAM_MS = 10_000;
/** A stream that Telnyx ends means the call's end, which is told within this. */
const STOPPED_MS = 1_500;
/** A socket that broke off: the end of the call may have been on its way. */
const BROKEN_MS = 300;
/** The word of an end that Telnyx knows of already. */
const LATE_END_MS = 1_000;
/** Nobody lets a caller ring for longer. */
const DECIDE_MS = 60_000;
/** From the command to the word that two are connected. */
const BRIDGE_MS = 10_000;
/** A stream that lived so long was one; so many in a row that did not are enough. */
const LIVED_MS = 10_000;
const MOST_BROKEN = 5;
/** A key and the pause behind it. */
const KEY_MS = 200;
/** Telnyx's shortest and longest ringing. */
const RING_S = { least: 5, most: 600 };
const FAILED: TransferOutcome = { ok: false, reason: 'failed' };

/** Telnyx's part of a call: what it tells of it, and what it is told. */
export class TelnyxControl implements SocketControl {
  readonly call: SocketCall;
  readonly #options: TelnyxControlOptions;
  readonly #closing = new AbortController();
  readonly #streams: StreamWait;
  readonly #transferring: TelnyxTransferring;
  #id: string | null;
  #isOver = false;
  #isAccepted = false;
  #ending: Promise<void> = Promise.resolve();
  #commands = 0;
  #ringTimeoutMs = 0;
  #streamSinceMs = 0;
  #brokenStreams = 0;
  #cancelTimer: Cancel = () => undefined;
  #tellBridged: (isBridged: boolean) => void = () => undefined;

  constructor(options: TelnyxControlOptions) {
    const { call, id, clock, token, api, webhookUrl, onError } = options;
    this.#options = options;
    this.call = call;
    this.#id = id;
    this.#streams = new StreamWait(clock);
    this.#transferring = new TelnyxTransferring({
      ...{ clock, api, token, webhookUrl, onError, from: call.ours, commandId: () => this.#commandId() },
      closing: this.#closing.signal,
    });
  }

  get id(): string | null {
    return this.#id;
  }

  /** Sent with the upgrade of its media socket, where it was asked for with the stream. */
  get authToken(): string {
    return this.#options.stream.authToken;
  }

  /** Resolves when Telnyx has been told of the end, or will not listen. */
  get ended(): Promise<void> {
    return this.#ending;
  }

  /** Has Telnyx place the call. */
  async place(ringTimeoutMs: number): Promise<void> {
    const { api, token, webhookUrl, stream, detection } = this.#options;
    const { from, to, headers } = this.call;
    this.#ringTimeoutMs = ringTimeoutMs;
    const ringS = Math.min(Math.max(Math.ceil(ringTimeoutMs / 1000), RING_S.least), RING_S.most);
    this.#within(QUEUE_MS + ringTimeoutMs, () => this.#noAnswer());
    const request = { from, to, ringS, state: token, webhookUrl, stream, detection, headers };
    try {
      this.#known(await api.dial(request, this.#commandId(), this.#closing.signal));
    } catch (error) {
      if (this.#id !== null) return; // its webhooks have told meanwhile
      const isUnknown = error instanceof ParleyError && error.code === 'CARRIER_SILENT';
      const end: CallEnd = { cause: 'failed', by: 'network', reason: reasonOf(error) };
      if (!isUnknown) this.#over(end);
      // Nobody knows whether there is a call: another one is not placed, and this one is ended if it turns up.
      else this.#within(UNKNOWN_MS, () => this.call.finish(end));
    }
  }

  /** A call that comes in rings: somebody is to decide. */
  offer(): void {
    this.#within(DECIDE_MS, () => {
      this.call.finish({ cause: 'failed', by: 'agent', reason: 'nobody answered in time' });
      this.refuse();
    });
    this.call.ring();
  }

  accept(): void {
    const { api, token, webhookUrl, stream, streamsWithAnswer, onError } = this.#options;
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    const id = this.#id ?? '';
    this.#within(STREAM_MS, () => this.#noStream());
    const streamUrl = streamsWithAnswer ? stream.url : null;
    api
      .answer(id, { state: token, webhookUrl, streamUrl }, this.#commandId(), this.#closing.signal)
      .catch((error: unknown) => {
        onError(error);
        if (this.call.state === 'answered') return;
        this.call.finish({ cause: 'failed', by: 'network', reason: reasonOf(error) });
        this.hangUp();
      });
  }

  refuse(): void {
    if (this.#isAccepted) this.hangUp();
    else this.#insist((api, id, commandId, signal) => api.reject(id, commandId, signal));
  }

  hangUp(): void {
    this.#insist((api, id, commandId, signal) => api.hangUp(id, commandId, signal));
  }

  /** A webhook about our leg of the call. They come in any order, twice, and late. */
  event({ type, callControlId, result, hangup }: TelnyxEvent): void {
    if (this.#id !== null && callControlId !== this.#id) return;
    this.#known(callControlId);
    switch (type) {
      case 'call.initiated':
        this.#rings();
        break;
      case 'call.answered':
        this.#answered();
        break;
      case 'streaming.failed':
        if (!this.call.line.hasStream) this.gone(false);
        break;
      case 'call.bridged':
        this.#tellBridged(true);
        this.#transferring.succeeded();
        break;
      case 'call.machine.detection.ended':
      case 'call.machine.premium.detection.ended':
        this.call.answeredBy(result);
        break;
      case 'call.machine.greeting.ended':
      case 'call.machine.premium.greeting.ended':
        this.call.answeredBy(`greeting: ${result}`);
        break;
      case 'call.hangup':
        this.#over(endOf(hangup, this.call.direction, this.call.state === 'answered'));
        break;
    }
  }

  /** A webhook about the leg of somebody whom the far end is transferred to. */
  targetEvent(attempt: string, event: TelnyxEvent): void {
    this.#transferring.event(attempt, event);
  }

  started(start: MediaMessage & { type: 'start' }): void {
    const { clock, onError } = this.#options;
    if (this.#id !== null && start.callId !== this.#id) {
      onError(new ParleyError('CARRIER_MESSAGE_BAD', { carrier: 'telnyx', reason: 'a stream of another call' }));
      this.call.line.detach();
      return;
    }
    this.#known(start.callId);
    this.#cancelTimer();
    this.#streamSinceMs = clock.nowMs();
    this.call.ring();
    this.call.pickUp();
    this.#streams.tell(true);
  }

  gone(isStopped: boolean): void {
    if (this.call.end !== null || this.#transferring.isUnderWay || this.call.isHandedOver) return;
    this.#within(isStopped ? STOPPED_MS : BROKEN_MS, () => void this.#lookAfter());
  }

  async transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const id = this.#id;
    if (id === null || this.#transferring.isUnderWay || this.call.end !== null) return FAILED;
    const outcome = await this.#transferring.transfer(id, target, signal);
    if (outcome.ok) this.#leave();
    else if (!this.call.line.hasStream) this.gone(true);
    return outcome;
  }

  async press(keys: string, signal: AbortSignal): Promise<void> {
    const id = this.#id;
    const { api, clock } = this.#options;
    if (!/^[0-9A-D*#w]{1,200}$/.test(keys)) throw new ParleyError('KEYS_UNSUPPORTED', { carrier: 'Telnyx', keys });
    if (id === null || this.call.end !== null) throw new Error('the call cannot take keys now');
    const either = AbortSignal.any([signal, this.#closing.signal]);
    await api.pressKeys(id, keys, this.#commandId(), either);
    const pauses = keys.split('w').length - 1;
    await delay(clock, (keys.length - pauses) * KEY_MS + pauses * 500, either);
  }

  async connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome> {
    const { api, clock, controlOf, onError } = this.#options;
    const theirs = controlOf(other);
    const [id, theirId] = [this.#id, theirs?.id ?? null];
    if (theirs === null || id === null || theirId === null) return FAILED;
    if (this.call.state !== 'answered' || other.state !== 'answered') return FAILED;
    const isBridged = new Promise<boolean>((resolve) => {
      const tell = (is: boolean): void => {
        cancel();
        this.#tellBridged = theirs.#tellBridged = () => undefined;
        resolve(is);
      };
      const cancel = clock.schedule(clock.nowMs() + BRIDGE_MS, () => tell(false));
      this.#tellBridged = theirs.#tellBridged = tell;
    });
    try {
      await api.bridge(id, theirId, this.#commandId(), AbortSignal.any([signal, this.#closing.signal]));
    } catch (error) {
      onError(error);
      // What got no answer may have been done all the same.
      if (!(error instanceof ParleyError) || error.code !== 'CARRIER_SILENT') this.#tellBridged(false);
    }
    if (!(await isBridged)) return FAILED;
    this.#leave();
    theirs.#leave();
    theirs.call.finish({ cause: 'transferred', by: 'agent', reason: 'connected to the other call' });
    return { ok: true };
  }

  /** Gives everything up that is waited for; what Telnyx is told of the end still goes out. */
  close(): void {
    this.#cancelTimer();
    this.#closing.abort(new ParleyError('CARRIER_CLOSED', { carrier: 'telnyx' }));
  }

  /** The far end talks with somebody else: its sound is not ours any more. */
  #leave(): void {
    this.call.handedOver();
    const { api, onError } = this.#options;
    if (this.#id !== null && !this.#isOver) {
      api.stopStream(this.#id, this.#commandId(), this.#closing.signal).catch(onError);
    }
  }

  #known(id: string): void {
    if (this.#id !== null) return;
    this.#id = id;
    this.call.knownAs(id);
    this.#options.onKnown(id);
    // It had been given up before anybody knew that there is one.
    if (this.call.end !== null) this.hangUp();
  }

  /** The call has gone out: Telnyx does not tell when it rings, or whether. */
  #rings(): void {
    if (this.call.end !== null || this.call.direction === 'inbound' || this.call.state !== 'initiated') return;
    this.#within(this.#ringTimeoutMs + RING_GRACE_MS, () => this.#noAnswer());
    this.call.ring();
  }

  #answered(): void {
    if (this.call.end !== null || this.call.state === 'answered' || this.call.line.hasStream) return;
    this.#within(STREAM_MS, () => this.#noStream());
    if (this.call.direction === 'inbound' && !this.#options.streamsWithAnswer) void this.#openStream();
  }

  #noAnswer(): void {
    this.call.finish({ cause: 'no-answer', by: 'agent', reason: 'nobody answered' });
    this.hangUp();
  }

  #noStream(): void {
    if (this.call.line.hasStream || this.call.end !== null) return;
    const reason = 'Telnyx did not open the media socket: does it reach publicUrl?';
    this.call.finish({ cause: 'failed', by: 'network', reason });
    this.hangUp();
  }

  /** The call has no stream, and nobody has said why. */
  async #lookAfter(): Promise<void> {
    const { api, clock, onError } = this.#options;
    const id = this.#id;
    if (id === null || this.call.line.hasStream || this.call.end !== null) return;
    this.#brokenStreams = clock.nowMs() - this.#streamSinceMs > LIVED_MS ? 1 : this.#brokenStreams + 1;
    try {
      if (!(await api.isAlive(id, this.#closing.signal))) {
        const end: CallEnd = { cause: 'hangup', by: 'remote', reason: 'Telnyx says that the call is over' };
        this.#within(LATE_END_MS, () => this.#over(end));
        return;
      }
    } catch (error) {
      onError(error);
    }
    if (this.call.line.hasStream || this.call.end !== null) return;
    if (this.#brokenStreams <= MOST_BROKEN) await this.#openStream();
    else this.#noStream();
  }

  async #openStream(): Promise<void> {
    const { api, stream, onError } = this.#options;
    const begun = this.#streams.within(STREAM_MS);
    await api.startStream(this.#id ?? '', stream, this.#commandId(), this.#closing.signal).catch(onError);
    if (!(await begun)) this.#noStream();
  }

  #over(end: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#tellBridged(false);
    // Whoever waits for a transfer is told before the line closes.
    this.#transferring.giveUp();
    this.#streams.tell(false);
    const { clock } = this.#options;
    clock.schedule(clock.nowMs(), () => this.call.finish(end));
  }

  #insist(does: (api: TelnyxApi, id: string, commandId: string, signal: AbortSignal) => Promise<void>): void {
    this.#cancelTimer();
    const id = this.#id;
    if (id === null || this.#isOver) return;
    const { api, clock, onError } = this.#options;
    const attempt = (): Promise<void> => does(api, id, this.#commandId(), new AbortController().signal);
    this.#ending = insist(clock, attempt, () => this.#isOver, onError);
  }

  #commandId(): string {
    return `${this.#options.token}-${String(++this.#commands)}`;
  }

  #within(ms: number, onLate: () => void): void {
    const { clock } = this.#options;
    this.#cancelTimer();
    this.#cancelTimer = clock.schedule(clock.nowMs() + ms, onLate);
  }
}
