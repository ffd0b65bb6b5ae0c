import type { AttendedTransfer, ConversationEvent } from '../conversation/events.js';

/** A transfer that the agent requested. */
export interface StageTransfer {
  target: string;
  atMs: number;
  cancelledMs: number | null;
  /** Null = a blind transfer. */
  attended: AttendedTransfer | null;
}

interface Outcome {
  ok: boolean;
  reason: string;
  /** Null = never. */
  afterMs: number | null;
}

/** Length of a DTMF tone with the gap after it. */
const KEY_MS = 200;
/** Length of the pause `w`. */
const WAIT_MS = 500;
/** Time to switch the recogniser and the voice. */
const SWITCH_MS = 100;

/** The line of a scenario: transfers calls and sends the agent's keys. */
export class StageLine {
  readonly transfers: StageTransfer[] = [];
  /** Key sequences with their start times. */
  readonly pressed: { digits: string; atMs: number }[] = [];
  readonly #send: (atMs: number, event: ConversationEvent) => void;
  readonly #outcomes: Outcome[] = [];

  constructor(send: (atMs: number, event: ConversationEvent) => void) {
    this.#send = send;
  }

  /** The next transfer connects. */
  connects({ afterMs = 4000 } = {}): this {
    return this.#add({ ok: true, reason: 'connected', afterMs });
  }

  /** The next transfer fails. Without a script every transfer fails as `unsupported`. */
  doesNotConnect(reason: string, { afterMs = 4000 } = {}): this {
    return this.#add({ ok: false, reason, afterMs });
  }

  /** The next transfer rings forever. */
  rings(): this {
    return this.#add({ ok: false, reason: '', afterMs: null });
  }

  transfer(callId: string, target: string, atMs: number, attended?: AttendedTransfer): void {
    this.transfers.push({ target, atMs, cancelledMs: null, attended: attended ?? null });
    const { ok, reason, afterMs } = this.#outcomes.shift() ?? { ok: false, reason: 'unsupported', afterMs: 0 };
    if (afterMs !== null) this.#send(atMs + afterMs, { type: 'transfer.result', callId, ok, reason });
  }

  /** Switches to any language. */
  switchLanguage(callId: string, language: string, atMs: number): void {
    this.#send(atMs + SWITCH_MS, { type: 'language', language });
    this.#send(atMs + SWITCH_MS, { type: 'tool.result', callId, ok: true, content: `Now in ${language}.` });
  }

  cancelTransfer(atMs: number): void {
    const last = this.transfers.at(-1);
    if (last !== undefined) last.cancelledMs ??= atMs;
  }

  press(callId: string, digits: string, atMs: number): void {
    this.pressed.push({ digits, atMs });
    const lastsMs = [...digits].reduce((sum, key) => sum + (key === 'w' ? WAIT_MS : KEY_MS), 0);
    this.#send(atMs + lastsMs, { type: 'tool.result', callId, ok: true, content: `Pressed ${digits}.` });
  }

  #add(outcome: Outcome): this {
    this.#outcomes.push(outcome);
    return this;
  }
}
