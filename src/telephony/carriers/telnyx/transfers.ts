import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import type { TransferOutcome } from '../../../transports/transport.js';
import { retryUntilDone } from '../media-socket/leg-control.js';
import type { TelnyxApi } from './api.js';
import type { TelnyxEvent } from './event.js';
import { transferOutcome } from './statuses.js';

export interface TelnyxTransfersOptions {
  clock: Clock;
  api: TelnyxApi;
  /** The call's token; the target's leg has the attempt appended. */
  token: string;
  webhookUrl: string;
  /** The number that the target sees: an own number. */
  from: string;
  commandId: () => string;
  /** Whether the far end's leg has ended. */
  isOver: () => boolean;
  /** Aborted when no more requests are needed. */
  closing: AbortSignal;
  onError: (error: unknown) => void;
}

interface Attempt {
  name: string;
  /** The far end's leg. */
  id: string;
  /** The target's leg, as soon as Telnyx reports it. */
  legId: string | null;
  tell: (outcome: TransferOutcome) => void;
}

const RING_S = 45;
/** Additional wait for Telnyx's own end of the ringing. */
const GRACE_MS = 15_000;
const FAILED: TransferOutcome = { ok: false, reason: 'failed' };

/**
 * Blind transfers of a call. Telnyx calls the target on a separate leg, whose webhooks report the outcome. Until the
 * target answers, and if it does not, the far end stays on parley's leg. It also stays if the target is cancelled at
 * the moment of its answer: the far end's leg outlives the connection (`park_after_unbridge`), and parley ends it when
 * a wanted connection is over.
 */
export class TelnyxTransfers {
  readonly #options: TelnyxTransfersOptions;
  #attempt: Attempt | null = null;
  #attempts = 0;
  /** Cancelled attempts whose leg may still appear or answer: it is ended. */
  readonly #unwanted = new Set<string>();
  /** The attempt that has connected the far end. */
  #connected: Attempt | null = null;

  constructor(options: TelnyxTransfersOptions) {
    this.#options = options;
  }

  get isUnderWay(): boolean {
    return this.#attempt !== null;
  }

  /** One at a time. Abort: cancels the target, and the far end stays. Never rejects. */
  async transfer(id: string, target: string, signal: AbortSignal): Promise<TransferOutcome> {
    const { clock, api, token, webhookUrl, from, commandId, closing, onError } = this.#options;
    const name = String(++this.#attempts);
    const outcome = new Promise<TransferOutcome>((resolve) => {
      this.#attempt = { name, id, legId: null, tell: resolve };
    });
    const giveUp = (): void => this.giveUp();
    const cancel = clock.schedule(clock.nowMs() + RING_S * 1000 + GRACE_MS, giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    const targetState = targetStateOf({ token, attempt: name, farId: id });
    const request = { target, from, ringS: RING_S, state: token, targetState, webhookUrl };
    try {
      await api.transfer(id, request, commandId(), AbortSignal.any([signal, closing]));
    } catch (error) {
      onError(error);
      // A command without an answer may have been executed.
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
    if (this.#unwanted.has(name)) {
      if (type === 'call.hangup') this.#unwanted.delete(name);
      else this.#end(callControlId);
      return;
    }
    if (this.#connected?.name === name && type === 'call.hangup') {
      this.#end(this.#connected.id, this.#options.isOver);
      this.#connected = null;
    }
    const attempt = this.#attempt;
    if (attempt?.name !== name) return;
    attempt.legId = callControlId;
    if (type === 'call.answered' || type === 'call.bridged') {
      this.#connected = attempt;
      this.#outcome({ ok: true });
    } else if (type === 'call.hangup') {
      const outcome = transferOutcome(hangup);
      this.#outcome(outcome);
      if (outcome.ok) this.#end(attempt.id, this.#options.isOver);
    }
  }

  /** Cancels the target. */
  giveUp(): void {
    const attempt = this.#attempt;
    if (attempt === null) return;
    this.#unwanted.add(attempt.name);
    if (attempt.legId !== null) this.#end(attempt.legId);
    this.#outcome(FAILED);
  }

  #outcome(outcome: TransferOutcome): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    attempt?.tell(outcome);
  }

  #end(legId: string, isOver = (): boolean => false): void {
    const { clock, api, commandId, onError } = this.#options;
    const attempt = (): Promise<void> => api.hangUp(legId, commandId(), new AbortController().signal);
    void retryUntilDone(clock, attempt, isOver, onError);
  }
}

/** The state that Telnyx stores with a target's leg. Sufficient to clean up after it without its call. */
export interface TargetState {
  token: string;
  attempt: string;
  /** The far end's leg. */
  farId: string;
}

function targetStateOf({ token, attempt, farId }: TargetState): string {
  return `${token}.${attempt}.${farId}`;
}

/** Null = not the leg of a target. */
export function readTargetState(state: string): TargetState | null {
  const [, token = '', attempt = '', farId = ''] = /^([\w-]+)\.(\d+)\.(.+)$/.exec(state) ?? [];
  return token === '' ? null : { token, attempt, farId };
}
