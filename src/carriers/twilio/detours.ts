import type { Clock } from '../../clock/clock.js';
import { ParleyError } from '../../errors.js';
import type { TransferOutcome } from '../../transports/transport.js';
import type { SocketCall } from '../media-socket/socket-call.js';
import type { StreamWait } from '../media-socket/stream-wait.js';
import type { TwilioApi } from './api.js';
import { transferOutcome } from './statuses.js';
import { conferenceTwiml, type Dialling, dialTwiml, HANG_UP_TWIML } from './twiml.js';

export interface DetourOptions {
  call: SocketCall;
  clock: Clock;
  api: TwilioApi;
  streams: StreamWait;
  sid: () => string | null;
  url: (what: 'dialled' | 'answered', attempt: string) => string;
  /** TwiML that brings the far end to the agent, with keys that are pressed before. */
  connecting: (keys?: string) => string;
  /** The far end should be with the agent, and is not. */
  onLost: () => void;
  /** Aborted when the carrier closes. */
  closing: AbortSignal;
  onError: (error: unknown) => void;
}

/** From Twilio's new orders to the first sound of the stream that follows. */
const STREAM_MS = 10_000;
const TRANSFER_RING_S = 45;
/** A key and the pause behind it, as Twilio plays them; `w` is half a second. */
const KEY_MS = 500;
const FAILED: TransferOutcome = { ok: false, reason: 'failed' };

/**
 * What takes a call's far end away from the agent for a while, or for good: keys, which a media stream cannot carry to
 * Twilio, and transfers. Twilio ends the stream for them, and opens another one where the far end comes back.
 */
export class TwilioDetours {
  readonly #options: DetourOptions;
  /** The one under way. */
  #attempt: string | null = null;
  #onOutcome: ((outcome: TransferOutcome) => void) | null = null;
  #attempts = 0;

  constructor(options: DetourOptions) {
    this.#options = options;
  }

  /** Whether the far end is away, or on its way back. */
  get isUnderWay(): boolean {
    return this.#attempt !== null;
  }

  /** Presses keys. About a second of what the far end says meanwhile is not heard. */
  async press(keys: string, signal: AbortSignal): Promise<void> {
    const { streams, connecting } = this.#options;
    if (!/^[0-9*#w]{1,200}$/.test(keys)) throw new ParleyError('KEYS_UNSUPPORTED', { carrier: 'Twilio', keys });
    const sid = this.#begin();
    if (sid === null) throw new Error('the call cannot take keys now');
    try {
      await this.#redirect(sid, connecting(keys), signal);
      const isBack = await streams.within(keys.length * KEY_MS + STREAM_MS);
      if (!isBack)
        throw new ParleyError('CARRIER_SILENT', { carrier: 'twilio', reason: 'the sound did not come back' });
    } finally {
      this.#end();
    }
  }

  /** Connects the far end to somebody else; who cannot be had gives it back. */
  async transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const { call, clock, url, onError } = this.#options;
    const sid = this.#begin();
    if (sid === null) return FAILED;
    const attempt = this.#attempt ?? '';
    const outcome = new Promise<TransferOutcome>((resolve) => (this.#onOutcome = resolve));
    const dialling: Dialling = {
      ...{ target, from: call.ours, ringS: TRANSFER_RING_S },
      ...{ answeredUrl: url('answered', attempt), actionUrl: url('dialled', attempt) },
    };
    try {
      await this.#redirect(sid, dialTwiml(dialling), signal);
    } catch (error) {
      onError(error);
      this.#settle(FAILED);
      return FAILED;
    }
    const giveUp = (): void => void this.fetchBack(sid).then(() => this.#settle(FAILED));
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    const cancelLate = clock.schedule(clock.nowMs() + (TRANSFER_RING_S + 15) * 1000, giveUp);
    try {
      return await outcome;
    } finally {
      signal.removeEventListener('abort', giveUp);
      cancelLate();
    }
  }

  /** The target of a transfer has answered. */
  targetAnswered(attempt: string, status: string): void {
    if (status === 'in-progress' && this.#attempt === attempt) this.#settle({ ok: true });
  }

  /** A transfer is over, one way or the other. Returns what is next; null = nothing that is known here. */
  dialled(attempt: string, form: URLSearchParams): string | null {
    if (this.#attempt !== attempt) return null;
    const outcome = transferOutcome(form.get('DialCallStatus') ?? '', form.get('DialSipResponseCode') ?? '');
    if (outcome.ok) {
      // It was over before we heard of the answer.
      this.#settle(outcome);
      return HANG_UP_TWIML;
    }
    const { streams, connecting } = this.#options;
    void streams.within(STREAM_MS).then(() => this.#settle(outcome));
    return connecting();
  }

  /** Connects the far end with that of another call. */
  async connect(other: TwilioDetours, room: string, signal: AbortSignal): Promise<TransferOutcome> {
    const twiml = conferenceTwiml(`${room}-${String(this.#attempts + 1)}`);
    if (!(await other.#moveTo(twiml, signal))) return FAILED;
    if (!(await this.#moveTo(twiml, signal))) {
      await other.fetchBack(other.#options.sid() ?? '');
      other.#end();
      return FAILED;
    }
    for (const { call } of [this.#options, other.#options]) call.handedOver();
    other.#options.call.finish({ cause: 'transferred', by: 'agent', reason: 'connected to the other call' });
    return { ok: true };
  }

  /** Brings the far end to the agent again; resolves when it is there, or will not come. */
  async fetchBack(sid: string): Promise<void> {
    const { api, streams, connecting, closing, onError } = this.#options;
    const back = streams.within(STREAM_MS);
    await api.redirect(sid, connecting(), closing).catch(onError);
    await back;
  }

  /** The call is over: whoever waits for a transfer is told. */
  giveUp(): void {
    if (this.#attempt !== null) this.#settle(FAILED);
  }

  async #moveTo(twiml: string, signal: AbortSignal): Promise<boolean> {
    const sid = this.#begin();
    if (sid === null) return false;
    try {
      await this.#redirect(sid, twiml, signal);
      return true;
    } catch (error) {
      this.#options.onError(error);
      this.#end();
      return false;
    }
  }

  /** The call's id; null where it cannot be sent anywhere now. */
  #begin(): string | null {
    const { call, sid } = this.#options;
    if (this.#attempt !== null || call.end !== null || call.state !== 'answered') return null;
    this.#attempt = String(++this.#attempts);
    return sid();
  }

  #redirect(sid: string, twiml: string, signal: AbortSignal): Promise<void> {
    const { api, closing } = this.#options;
    return api.redirect(sid, twiml, AbortSignal.any([signal, closing]));
  }

  #settle(outcome: TransferOutcome): void {
    const tell = this.#onOutcome;
    if (outcome.ok) this.#options.call.handedOver();
    this.#end();
    tell?.(outcome);
  }

  #end(): void {
    this.#attempt = null;
    this.#onOutcome = null;
    const { call, onLost } = this.#options;
    if (!call.isHandedOver && call.end === null && !call.line.hasStream) onLost();
  }
}
