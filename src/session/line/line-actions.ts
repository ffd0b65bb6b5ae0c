import { dialMs, dialTones } from '../../audio/tones/dtmf.js';
import { frameSamples } from '../../audio/frame.js';
import { type HoldSound, holdSound } from '../../audio/tones/hold-sound.js';
import { raceAbort } from '../../base/deadlines.js';
import type { ChatMessage } from '../../agent/chat.js';
import type { AttendedTransfer } from '../../conversation/events.js';
import { reasonOf } from '../../base/errors.js';
import type { TransferFailure, TransferOutcome, Transport, TransportMessage } from '../../transports/transport.js';
import type { TransferAttempt } from '../record/session-report.js';
import type { SessionContext } from '../session-context.js';

/** The request to ask a target whether they take the call. */
export interface Consultation extends Omit<AttendedTransfer, 'holdSound'> {
  /** The target's number or address. */
  target: string;
  /** The conversation so far. */
  messages: readonly ChatMessage[];
}

/** Asks the target, and connects the user if they agree. Abort: the user has hung up or no longer waits. */
export type Consult = (consultation: Consultation, signal: AbortSignal) => Promise<TransferOutcome>;

/** Why a call must not be transferred; null = it may. The answer may be asynchronous. */
export type MayTransfer = (target: string) => string | null | Promise<string | null>;

export interface LineActionsOptions {
  transport: Transport;
  /** Why the call must not be transferred; null = it may. Default: always allowed. */
  mayTransfer: MayTransfer | null | undefined;
  /** Default: attended transfers fail. */
  consult: Consult | null | undefined;
  /** The conversation so far. */
  messages: () => readonly ChatMessage[];
  /** There is audio to pull. */
  onSound: () => void;
  tell: (message: TransportMessage) => void;
}

/** The model's result of a failed transfer. */
const FAILURES: Readonly<Record<TransferFailure, string>> = {
  busy: 'the line is busy',
  'no-answer': 'nobody answered',
  rejected: 'the call was rejected',
  voicemail: 'a voicemail answered',
  declined: 'they cannot take the call',
  unsupported: 'this line cannot transfer calls',
  failed: 'it failed',
};

const UNSUPPORTED: Promise<TransferOutcome> = Promise.resolve({ ok: false, reason: 'unsupported' });

/** Additional time that a transport may need to send keys. */
const SPARE_MS = 10_000;
/** Maximum delay of the echo of the agent's own tones. */
const ECHO_MS = 300;

/**
 * The agent's actions on the line other than speech: transfers and key presses. If a transport cannot send keys itself,
 * it gets them as tones while the agent is silent.
 */
export class LineActions {
  readonly transfers: TransferAttempt[] = [];
  readonly #context: SessionContext;
  readonly #options: LineActionsOptions;
  readonly #closing = new AbortController();
  #transferring: AbortController | null = null;
  #hold: HoldSound | null = null;
  /** Rows of keys are sent one after another. */
  #presses: Promise<void> = Promise.resolve();
  #pressing = 0;
  #quietFromMs = -Infinity;
  #tones: { samples: Int16Array; at: number; onSent: () => void } | null = null;

  constructor(context: SessionContext, options: LineActionsOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Whether keys detected now may be the agent's own. */
  get ownTones(): boolean {
    return this.#pressing > 0 || this.#context.clock.nowMs() < this.#quietFromMs;
  }

  /** Only the agent's speech is on the line. */
  get rests(): boolean {
    return this.#tones === null && this.#hold === null;
  }

  /**
   * The next 20 ms for the line: the agent's tones, or else its speech, or else hold audio for a waiting user; null =
   * silence.
   * @param skipped frames that the line skipped since the last one
   */
  pull(voice: (skipped: number) => Int16Array | null, skipped: number): Int16Array | null {
    return this.#nextTone() ?? voice(skipped) ?? this.#hold?.frame() ?? null;
  }

  #nextTone(): Int16Array | null {
    const tones = this.#tones;
    if (tones === null) return null;
    const frame = new Int16Array(frameSamples(this.#options.transport.outputRateHz));
    frame.set(tones.samples.subarray(tones.at, tones.at + frame.length));
    tones.at += frame.length;
    if (tones.at >= tones.samples.length) {
      this.#tones = null;
      tones.onSent();
    }
    return frame;
  }

  /** Presses keys; a `tool.result` follows when they are sent. */
  press(callId: string, digits: string): void {
    this.#pressing++;
    this.#presses = this.#presses.then(() => this.#press(callId, digits));
  }

  /** Connects the user to a target; `transfer.result` has the outcome. */
  transfer(callId: string, target: string, attended: AttendedTransfer | null = null): void {
    this.#transferring?.abort();
    const abort = new AbortController();
    this.#transferring = abort;
    this.#options.tell({ type: 'action', id: callId, name: 'transfer', data: { phone: target } });
    const { outputRateHz, ringsOnTransfer = false } = this.#options.transport;
    const sound = attended?.holdSound ?? (ringsOnTransfer ? 'ringing' : 'none');
    if (sound !== 'none') {
      this.#hold = holdSound(sound, outputRateHz);
      this.#options.onSound();
    }
    void this.#transfer(callId, target, attended, abort.signal);
  }

  cancelTransfer(): void {
    this.#transferring?.abort();
    this.#transferring = null;
    this.#hold = null;
  }

  /** The user hears music, or silence, until `unhold`. */
  hold(music: boolean): void {
    this.#hold = music ? holdSound('music', this.#options.transport.outputRateHz) : null;
    this.#options.onSound();
  }

  unhold(): void {
    this.#hold = null;
  }

  /** Cancels everything in progress. May be called twice. */
  close(): void {
    this.cancelTransfer();
    this.#closing.abort();
    this.#tones = null;
  }

  async #transfer(
    callId: string,
    target: string,
    attended: AttendedTransfer | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, emit, fault } = this.#context;
    const startMs = clock.nowMs();
    let failure: TransferFailure | null = null;
    let detail: string | null = null;
    let words = '';
    try {
      const asked = this.#options.mayTransfer?.(target) ?? null;
      const refusal = asked instanceof Promise ? await asked : asked;
      if (refusal !== null) {
        failure = 'rejected';
        detail = refusal;
        fault('transfer.refused', refusal);
      }
      const outcome = refusal === null ? await raceAbort(this.#connect(target, attended, signal), signal) : null;
      if (outcome?.ok === false) {
        failure = outcome.reason;
        if (outcome.words !== undefined) words = `; they said: "${outcome.words}"`;
      }
    } catch (error) {
      failure = signal.aborted ? 'no-answer' : 'failed';
      if (!signal.aborted) {
        detail = reasonOf(error);
        fault('transfer.failed', detail);
      }
    }
    const tookMs = clock.nowMs() - startMs;
    this.transfers.push({ target, ok: failure === null, reason: failure, detail, attended: attended !== null, tookMs });
    if (signal.aborted) return;
    this.#transferring = null;
    this.#hold = null;
    emit({
      type: 'transfer.result',
      callId,
      ok: failure === null,
      reason: failure === null ? '' : FAILURES[failure] + words,
    });
  }

  #connect(target: string, attended: AttendedTransfer | null, signal: AbortSignal): Promise<TransferOutcome> {
    signal.throwIfAborted();
    const { transport, consult, messages } = this.#options;
    if (attended === null) return transport.transfer?.(target, signal) ?? UNSUPPORTED;
    const { briefing, confirm, ringMs, summary } = attended;
    return consult?.({ target, briefing, confirm, ringMs, summary, messages: messages() }, signal) ?? UNSUPPORTED;
  }

  async #press(callId: string, digits: string): Promise<void> {
    const { clock, emit, fault } = this.#context;
    let result = { ok: true, content: `Pressed ${[...digits].join(' ')}.` };
    try {
      await this.#send(digits);
    } catch (error) {
      result = { ok: false, content: `The keys could not be pressed: ${reasonOf(error)}` };
      if (!this.#closing.signal.aborted) fault('digits.failed', reasonOf(error));
    }
    this.#pressing--;
    this.#quietFromMs = clock.nowMs() + ECHO_MS;
    if (!this.#closing.signal.aborted) emit({ type: 'tool.result', callId, ...result });
  }

  /** Resolves when the keys are sent; rejects if that takes too long, or the call ends. */
  async #send(digits: string): Promise<void> {
    const { transport } = this.#options;
    const { clock } = this.#context;
    const abort = new AbortController();
    const cancel = clock.schedule(clock.nowMs() + dialMs(digits) + SPARE_MS, () =>
      abort.abort(new Error('it took too long')),
    );
    const signal = AbortSignal.any([abort.signal, this.#closing.signal]);
    try {
      signal.throwIfAborted();
      await raceAbort(transport.sendDigits?.(digits, signal) ?? this.#play(digits), signal);
    } finally {
      this.#tones = null;
      cancel();
    }
  }

  #play(digits: string): Promise<void> {
    return new Promise((resolve) => {
      this.#tones = { samples: dialTones(digits, this.#options.transport.outputRateHz), at: 0, onSent: resolve };
      this.#options.onSound();
    });
  }
}
