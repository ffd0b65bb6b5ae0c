import { delay } from '../../../base/clock.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import type { CallEnd, CallRefusal, CarrierCall } from '../carrier.js';
import { LegControl, type LegParts, STREAM_MS } from '../media-socket/leg-control.js';
import type { SocketControl } from '../media-socket/socket-carrier.js';
import type { TelnyxApi, TelnyxDetection, TelnyxStream } from './api.js';
import type { TelnyxEvent } from './event.js';
import { endOf } from './statuses.js';
import { TelnyxTransfers } from './transfers.js';

export interface TelnyxControlOptions extends LegParts<TelnyxControl> {
  api: TelnyxApi;
  /** The webhook address for the call. */
  webhookUrl: string;
  stream: TelnyxStream;
  /** Whether an inbound call's stream starts with the answer, or by a command after it. */
  streamsWithAnswer: boolean;
  detection: TelnyxDetection | null;
}

/** After a broken socket, the end of the call may be on its way. */
const MANNERS = { carrier: 'telnyx', title: 'Telnyx', brokenMs: 300 };
/** Maximum delay of an end that Telnyx already knows. */
const LATE_END_MS = 1_000;
/** A caller rings no longer. */
const DECIDE_MS = 60_000;
/** From the command to the report that two legs are connected. */
const BRIDGE_MS = 10_000;
/** Minimum life of a working stream; and the number of consecutive shorter ones after which the call fails. */
const LIVED_MS = 10_000;
const MOST_BROKEN = 5;
/** A key with its pause. */
const KEY_MS = 200;
const FAILED: TransferOutcome = { ok: false, reason: 'failed' };

/** Telnyx's side of a call: handles webhooks and sends commands. */
export class TelnyxControl extends LegControl implements SocketControl {
  readonly #options: TelnyxControlOptions;
  readonly #transferring: TelnyxTransfers;
  #isAccepted = false;
  #commands = 0;
  #streamSinceMs = 0;
  #brokenStreams = 0;
  #tellBridged: (isBridged: boolean) => void = () => undefined;

  constructor(options: TelnyxControlOptions) {
    super(options, MANNERS);
    const { call, clock, token, api, webhookUrl, onError } = options;
    this.#options = options;
    this.#transferring = new TelnyxTransfers({
      clock,
      api,
      token,
      webhookUrl,
      onError,
      from: call.ours,
      commandId: () => this.#commandId(),
      closing: this.closing,
      isOver: () => this.isOver,
    });
  }

  /** Sent with the upgrade of its media socket, if requested with the stream. */
  get authToken(): string {
    return this.#options.stream.authToken;
  }

  /** An inbound call rings: a decision is needed. */
  offer(): void {
    this.within(DECIDE_MS, () => {
      this.call.finish({ cause: 'failed', by: 'agent', reason: 'no answer came in time' });
      this.refuse('unavailable');
    });
    this.call.ring();
  }

  accept(): void {
    const { api, token, webhookUrl, stream, streamsWithAnswer, onError } = this.#options;
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    const id = this.id ?? '';
    this.awaitStream();
    const streamUrl = streamsWithAnswer ? stream.url : null;
    api.answer(id, { state: token, webhookUrl, streamUrl }, this.#commandId(), this.closing).catch((error: unknown) => {
      onError(error);
      if (this.call.state !== 'answered') this.fail(reasonOf(error));
    });
  }

  refuse(refusal: CallRefusal): void {
    if (this.#isAccepted) this.hangUp();
    else this.insist((id, signal) => this.#options.api.reject(id, refusal, this.#commandId(), signal));
  }

  hangUp(): void {
    this.insist((id, signal) => this.#options.api.hangUp(id, this.#commandId(), signal));
  }

  /** A webhook about parley's leg of the call. They may come in any order, twice, and late. */
  event({ type, callControlId, streamId, result, hangup }: TelnyxEvent): void {
    if (this.id !== null && callControlId !== this.id) return;
    this.known(callControlId);
    switch (type) {
      case 'call.initiated':
        this.rings(); // Telnyx does not report ringing
        break;
      case 'call.answered':
        this.#answered();
        break;
      case 'streaming.stopped':
        this.call.line.stopped(streamId);
        break;
      case 'streaming.failed':
        if (!this.call.line.hasStream) this.gone(false);
        break;
      case 'call.bridged':
        this.#tellBridged(true); // for a transfer the target's leg reports it
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
        this.over(endOf(hangup, this.call.direction, this.call.state === 'answered'));
        break;
    }
  }

  /** A webhook about the leg of a transfer's target. */
  targetEvent(attempt: string, event: TelnyxEvent): void {
    this.#transferring.event(attempt, event);
  }

  async transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const id = this.id;
    if (id === null || this.#transferring.isUnderWay || this.call.end !== null) return FAILED;
    const outcome = await this.#transferring.transfer(id, target, signal);
    if (outcome.ok) this.#leave();
    else if (!this.call.line.hasStream) this.gone(true);
    return outcome;
  }

  async press(keys: string, signal: AbortSignal): Promise<void> {
    const id = this.id;
    const { api, clock } = this.#options;
    if (!/^[0-9A-D*#w]{1,200}$/.test(keys)) throw new ParleyError('KEYS_UNSUPPORTED', { carrier: 'Telnyx', keys });
    if (id === null || this.call.end !== null) throw new Error('the call cannot take keys now');
    const either = AbortSignal.any([signal, this.closing]);
    await api.pressKeys(id, keys, this.#commandId(), either);
    const pauses = keys.split('w').length - 1;
    await delay(clock, (keys.length - pauses) * KEY_MS + pauses * 500, either);
  }

  async connect(other: CarrierCall, signal: AbortSignal): Promise<TransferOutcome> {
    const { api, clock, controlOf, onError } = this.#options;
    const theirs = controlOf(other);
    const [id, theirId] = [this.id, theirs?.id ?? null];
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
      signal.throwIfAborted();
      // Not abortable from here on: the result would be unknown.
      await api.bridge(id, theirId, this.#commandId(), this.closing);
    } catch (error) {
      onError(error);
      // A command without an answer may have been executed.
      if (!(error instanceof ParleyError) || error.code !== 'CARRIER_SILENT') this.#tellBridged(false);
    }
    if (!(await isBridged)) return FAILED;
    this.#leave();
    theirs.#leave();
    theirs.call.finish({ cause: 'transferred', by: 'agent', reason: 'connected to the other call' });
    return { ok: true };
  }

  protected async dial(ringS: number, signal: AbortSignal): Promise<void> {
    const { api, token, webhookUrl, stream, detection } = this.#options;
    const { from, to, headers } = this.call;
    const request = { from, to, ringS, state: token, webhookUrl, stream, detection, headers };
    this.known(await api.dial(request, this.#commandId(), signal));
  }

  protected get isAway(): boolean {
    return this.#transferring.isUnderWay;
  }

  protected override streamBegan(): void {
    this.#streamSinceMs = this.clock.nowMs();
  }

  protected async lookAfter(id: string): Promise<void> {
    this.#brokenStreams = this.clock.nowMs() - this.#streamSinceMs > LIVED_MS ? 1 : this.#brokenStreams + 1;
    try {
      if (!(await this.#options.api.isAlive(id, this.closing))) {
        const end: CallEnd = { cause: 'hangup', by: 'remote', reason: 'Telnyx says that the call is over' };
        this.within(LATE_END_MS, () => this.over(end));
        return;
      }
    } catch (error) {
      this.onError(error);
    }
    if (!this.isBereft) return;
    if (this.#brokenStreams <= MOST_BROKEN) await this.#openStream();
    else this.noStream();
  }

  protected giveUp(): void {
    this.#tellBridged(false);
    this.#transferring.giveUp();
  }

  /** The far end is connected to another party: its audio is no longer for the agent. */
  #leave(): void {
    this.call.handedOver();
    const { api, onError } = this.#options;
    if (this.id !== null && !this.isOver) {
      api.stopStream(this.id, this.#commandId(), this.closing).catch(onError);
    }
  }

  #answered(): void {
    if (!this.isBereft || this.call.state === 'answered') return;
    this.awaitStream();
    if (this.call.direction === 'inbound' && !this.#options.streamsWithAnswer) void this.#openStream();
  }

  async #openStream(): Promise<void> {
    const { api, stream, onError } = this.#options;
    const begun = this.streams.within(STREAM_MS);
    await api.startStream(this.id ?? '', stream, this.#commandId(), this.closing).catch(onError);
    if (!(await begun)) this.noStream();
  }

  #commandId(): string {
    return `${this.#options.token}-${String(++this.#commands)}`;
  }
}
