import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import { STREAM_MS } from './leg-control.js';
import { isRefusal } from './rest.js';
import type { SocketCall } from './socket-call.js';
import type { StreamWait } from './stream-wait.js';
import type { CallRefusal } from '../carrier.js';

export interface LegRedirectsOptions {
  call: SocketCall;
  carrier: string;
  clock: Clock;
  streams: StreamWait;
  documents: CallDocuments;
  /** The carrier's id of the call; null = unknown. */
  id: () => string | null;
  /** Redirects the call to another document. */
  redirect: (id: string, document: string, signal: AbortSignal) => Promise<void>;
  /** The far end should be with the agent, and is not. */
  onLost: () => void;
  /** Aborted when the carrier closes. */
  closing: AbortSignal;
  onError: (error: unknown) => void;
}

/** Ring time of a target, in seconds. */
export const TRANSFER_RING_S = 45;
const FAILED: TransferOutcome = { ok: false, reason: 'failed' };

/**
 * Redirects the far end away from the agent, temporarily or permanently: for transfers, and for keys if the media
 * stream cannot carry them. The carrier ends the stream meanwhile, and opens another when the far end returns.
 */
export class LegRedirects {
  readonly #options: LegRedirectsOptions;
  /** The attempt in progress. */
  #attempt: string | null = null;
  #onOutcome: ((outcome: TransferOutcome) => void) | null = null;
  #attempts = 0;
  /** The attempt whose far end is being brought back, and whether its target has answered since. */
  #fetched: { attempt: string; isAnswered: boolean } | null = null;

  constructor(options: LegRedirectsOptions) {
    this.#options = options;
  }

  /** Whether the far end is away, or on its way back. */
  get isUnderWay(): boolean {
    return this.#attempt !== null;
  }

  /**
   * Executes a document after which the far end returns.
   * @param ms maximum duration, in addition to the time for a new stream
   */
  async visit(document: string, ms: number, signal: AbortSignal): Promise<void> {
    const { streams, carrier } = this.#options;
    const id = this.#begin();
    if (id === null) throw new Error('the call cannot leave its stream now');
    try {
      await this.#redirect(id, document, signal);
      const isBack = await streams.within(ms + STREAM_MS);
      if (!isBack) throw new ParleyError('CARRIER_SILENT', { carrier, reason: 'the sound did not come back' });
    } finally {
      this.#end();
    }
  }

  /** Connects the far end to a target; after a failure the far end returns. */
  async transfer(target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const { clock, documents, onError } = this.#options;
    const id = this.#begin();
    const attempt = this.#attempt;
    if (id === null || attempt === null) return FAILED;
    const outcome = new Promise<TransferOutcome>((resolve) => (this.#onOutcome = resolve));
    try {
      await this.#redirect(id, documents.dialling(target, attempt), signal);
    } catch (error) {
      onError(error);
      this.#settle(attempt, FAILED);
      // The attempt may have ended before.
      return outcome;
    }
    const giveUp = (): void => void this.#giveUp(id, attempt);
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
  targetAnswered(attempt: string): void {
    if (this.#fetched?.attempt === attempt) this.#fetched.isAnswered = true;
    else this.#settle(attempt, { ok: true });
  }

  /** A transfer is over. Returns the next instructions; null = unknown attempt. */
  dialled(attempt: string, outcome: TransferOutcome): string | null {
    if (this.#attempt !== attempt) return null;
    const { streams, documents } = this.#options;
    if (outcome.ok) {
      // It was over before the answer was reported.
      this.#settle(attempt, outcome);
      return documents.hangUp;
    }
    void streams.within(STREAM_MS).then(() => this.#settle(attempt, outcome));
    return documents.connecting();
  }

  /** Connects the far end with that of another call. */
  async connect(other: LegRedirects, room: string, signal: AbortSignal): Promise<TransferOutcome> {
    const document = this.#options.documents.meeting(`${room}-${String(this.#attempts + 1)}`);
    if (!(await other.#moveTo(document, signal))) return FAILED;
    if (!(await this.#moveTo(document, signal))) {
      await other.fetchBack(other.#options.id() ?? '');
      other.#end();
      return FAILED;
    }
    for (const { call } of [this.#options, other.#options]) call.handedOver();
    other.#options.call.finish({ cause: 'transferred', by: 'agent', reason: 'connected to the other call' });
    return { ok: true };
  }

  /**
   * Brings the far end back to the agent; resolves when it is there, or will not come.
   * @returns false if the carrier refuses
   */
  async fetchBack(id: string): Promise<boolean> {
    const { redirect, streams, documents, closing, onError } = this.#options;
    const back = streams.within(STREAM_MS);
    try {
      await redirect(id, documents.connecting(), closing);
    } catch (error) {
      onError(error);
      if (isRefusal(error)) return false;
    }
    await back;
    return true;
  }

  /** The call is over: pending transfers fail. */
  giveUp(): void {
    if (this.#attempt !== null) this.#settle(this.#attempt, FAILED);
  }

  /** Takes the far end away from its target, even if the target has answered meanwhile, unless the carrier refuses. */
  async #giveUp(id: string, attempt: string): Promise<void> {
    if (this.#attempt !== attempt || this.#fetched !== null) return;
    const fetched = { attempt, isAnswered: false };
    this.#fetched = fetched;
    const isBack = await this.fetchBack(id);
    this.#fetched = null;
    this.#settle(attempt, !isBack && fetched.isAnswered ? { ok: true } : FAILED);
  }

  async #moveTo(document: string, signal: AbortSignal): Promise<boolean> {
    const id = this.#begin();
    if (id === null) return false;
    try {
      await this.#redirect(id, document, signal);
      return true;
    } catch (error) {
      this.#options.onError(error);
      this.#end();
      return false;
    }
  }

  /** The call's id; null if it cannot be redirected now. */
  #begin(): string | null {
    const { call, id } = this.#options;
    if (this.#attempt !== null || call.end !== null || call.state !== 'answered') return null;
    this.#attempt = String(++this.#attempts);
    return id();
  }

  /** If the carrier's answer is lost, the end of the stream shows that the redirection succeeded. */
  async #redirect(id: string, document: string, signal: AbortSignal): Promise<void> {
    const { redirect, closing, call, onError } = this.#options;
    try {
      await redirect(id, document, AbortSignal.any([signal, closing]));
    } catch (error) {
      const isSilent = error instanceof ParleyError && error.code === 'CARRIER_SILENT';
      if (!isSilent || call.line.hasStream || call.end !== null) throw error;
      onError(error);
    }
  }

  /** The first outcome of an attempt counts. */
  #settle(attempt: string, outcome: TransferOutcome): void {
    if (this.#attempt !== attempt) return;
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

/** Instructions for a call, each a complete document in the carrier's format. */
export interface CallDocuments {
  /** Connects the audio to the media socket until it closes; then the carrier asks for instructions. */
  connecting(): string;
  /** Connects the far end to a target; the outcome is reported under the attempt's name. */
  dialling(target: string, attempt: string): string;
  /** Moves the far end to a conference. */
  meeting(room: string): string;
  readonly hangUp: string;
  /** Refuses an inbound call. */
  reject(refusal: CallRefusal): string;
}
