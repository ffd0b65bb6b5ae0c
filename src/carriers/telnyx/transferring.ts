import type { Clock } from '../../clock/clock.js';
import { ParleyError } from '../../errors.js';
import type { TransferOutcome } from '../../transports/transport.js';
import { insist } from '../media-socket/insist.js';
import type { TelnyxApi } from './api.js';
import type { TelnyxEvent } from './event.js';
import { transferOutcome } from './statuses.js';

export interface TelnyxTransferringOptions {
  clock: Clock;
  api: TelnyxApi;
  /** Of the call; with the attempt behind it, of the target's leg. */
  token: string;
  webhookUrl: string;
  /** Who the target is shown: our number. */
  from: string;
  commandId: () => string;
  /** Nothing is asked for any more. */
  closing: AbortSignal;
  onError: (error: unknown) => void;
}

interface Attempt {
  name: string;
  /** The target's leg, as soon as Telnyx has told of it. */
  legId: string | null;
  tell: (outcome: TransferOutcome) => void;
}

const RING_S = 45;
/** Telnyx's own end of the ringing is waited for. */
const GRACE_MS = 15_000;
const FAILED: TransferOutcome = { ok: false, reason: 'failed' };

/**
 * Blind transfers of a call. Telnyx calls the target on a leg of its own, whose webhooks tell what came of it; until
 * the target answers, and when it does not, the far end stays on our leg.
 */
export class TelnyxTransferring {
  readonly #options: TelnyxTransferringOptions;
  #attempt: Attempt | null = null;
  #attempts = 0;
  /** Attempts that were given up before their leg was known: it is ended when it turns up. */
  readonly #unwanted = new Set<string>();

  constructor(options: TelnyxTransferringOptions) {
    this.#options = options;
  }

  get isUnderWay(): boolean {
    return this.#attempt !== null;
  }

  /** One at a time. Aborted: the target is let go, the far end stays. Never rejects. */
  async transfer(id: string, target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const { clock, api, token, webhookUrl, from, commandId, closing, onError } = this.#options;
    const name = String(++this.#attempts);
    const outcome = new Promise<TransferOutcome>((resolve) => {
      this.#attempt = { name, legId: null, tell: resolve };
    });
    const giveUp = (): void => this.giveUp();
    const cancel = clock.schedule(clock.nowMs() + RING_S * 1000 + GRACE_MS, giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    const request = { target, from, ringS: RING_S, state: token, targetState: `${token}.${name}`, webhookUrl };
    try {
      await api.transfer(id, request, commandId(), AbortSignal.any([signal, closing]));
    } catch (error) {
      onError(error);
      // What got no answer may have been done all the same.
      if (!(error instanceof ParleyError) || error.code !== 'CARRIER_SILENT') giveUp();
    }
    try {
      return await outcome;
    } finally {
      cancel();
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** A webhook about the leg of an attempt. */
  event(name: string, { type, callControlId, hangup }: TelnyxEvent): void {
    if (this.#unwanted.has(name) && type !== 'call.hangup') {
      this.#unwanted.delete(name);
      this.#end(callControlId);
      return;
    }
    const attempt = this.#attempt;
    if (attempt?.name !== name) return;
    attempt.legId = callControlId;
    if (type === 'call.answered' || type === 'call.bridged') this.succeeded();
    else if (type === 'call.hangup') this.#outcome(transferOutcome(hangup));
  }

  /** The far end and the target are connected. */
  succeeded(): void {
    this.#outcome({ ok: true });
  }

  /** Nobody waits for the target any more. */
  giveUp(): void {
    const attempt = this.#attempt;
    if (attempt === null) return;
    if (attempt.legId === null) this.#unwanted.add(attempt.name);
    else this.#end(attempt.legId);
    this.#outcome(FAILED);
  }

  #outcome(outcome: TransferOutcome): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    attempt?.tell(outcome);
  }

  #end(legId: string): void {
    const { clock, api, commandId, onError } = this.#options;
    const attempt = (): Promise<void> => api.hangUp(legId, commandId(), new AbortController().signal);
    void insist(clock, attempt, () => false, onError);
  }
}
