import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../conversation/events.js';
import type { LogEntry, LogSink, NoteData } from './event-log.js';
import { withoutText } from './privacy.js';
import type { SessionContext } from '../session-context.js';
import type { SessionEvent, SessionOptions } from '../session-options.js';

type EventLogOptions = Pick<SessionOptions, 'log' | 'optOut'> & { tts: Named; llm: Named };
type Named = Pick<SessionOptions['tts'], 'name'>;

/** Writes a session's event log, and counts faults after which the session continues. */
export class EventLogWriter {
  /** Number of occurrences by name. */
  readonly faults: Record<string, number> = {};
  /** The last reason of each. */
  readonly faultReasons: Record<string, string> = {};
  /** The last stack of faults caused by an exception in a provider's code. */
  readonly faultCauses: Record<string, string> = {};
  readonly #nowMs: () => number;
  readonly #observe: (event: SessionEvent) => void;
  #sink: LogSink | null;
  readonly #optOut: boolean;
  #started = false;
  readonly #early: LogEntry[] = [];
  /** Faults of the preparation: whoever listens does so when the session runs. */
  readonly #earlyFaults: SessionEvent[] = [];
  /** The request whose turn may not be over. */
  #speculative: number | null = null;
  /** The log already has the failure of the reply, with the model's own reason. */
  #isModelFailureLogged = false;
  readonly #names: { voice: string; model: string };

  /** @param observe gets each fault, and each provider that was cancelled for being slow */
  constructor(
    { nowMs }: Pick<SessionContext, 'nowMs'>,
    { log, optOut = false, tts, llm }: EventLogOptions,
    observe: (event: SessionEvent) => void = () => undefined,
  ) {
    this.#observe = observe;
    this.#names = { voice: tts.name, model: llm.name };
    this.#sink = log ?? null;
    this.#optOut = optOut;
    this.#nowMs = nowMs;
  }

  /** The log begins with the session's start: earlier notes wait for it. */
  write(entry: LogEntry): void {
    if (entry.kind === 'note' && !this.#started) {
      this.#early.push(entry);
      return;
    }
    this.#write(entry);
    if (entry.kind !== 'start') return;
    this.#started = true;
    for (const note of this.#early.splice(0)) this.#write(note);
    for (const fault of this.#earlyFaults.splice(0)) this.#observe(fault);
  }

  #write(entry: LogEntry): void {
    try {
      this.#sink?.(this.#optOut ? withoutText(entry) : entry);
    } catch {
      this.#sink = null; // a log that cannot be written must not end the call
      this.#count('log.failed');
    }
  }

  /** Logs an event; some events are also faults. */
  event(event: ConversationEvent, t: number, position: PlayoutPosition): void {
    this.write({ t, kind: 'event', event, position });
    if (event.type === 'utterance.failed') this.fault('tts.failed', event.reason, event.cause);
    else if (event.type === 'ears.failed') this.fault(event.type, event.reason, event.cause);
    else if (event.type === 'llm.failed') {
      // It will be requested again: the turn has not failed.
      const isEarly = event.requestId === this.#speculative;
      this.#isModelFailureLogged = !isEarly;
      this.fault(isEarly ? 'speculation.failed' : event.type, event.reason, event.cause);
    }
  }

  /** Logs an effect. */
  effect(effect: ConversationEffect, t: number): void {
    this.write({ t, kind: 'effect', effect });
    if (effect.type === 'llm.start' && effect.speculative) this.#speculative = effect.requestId;
    else if (effect.type === 'llm.confirm') this.#speculative = null;
    else if (effect.type === 'trace') this.#stalled(effect.name, effect.data);
  }

  /** The conversation gave up on a provider before the provider reported a failure: a fault of the provider. */
  #stalled(name: string, data: Readonly<Record<string, unknown>>): void {
    const { voice, model } = this.#names;
    if (name === 'speech.stalled') {
      this.#observe({ type: 'provider', stage: 'tts', provider: voice, failed: 'late' });
      this.fault('tts.failed', `${voice} gave no sound in time`);
    }
    if (name !== 'reply.failed') return;
    if (!this.#isModelFailureLogged) {
      this.#observe({ type: 'provider', stage: 'llm', provider: model, failed: 'late' });
      this.fault('llm.failed', `${model}: ${String(data['reason'])}`);
    }
    this.#isModelFailureLogged = false;
  }

  /** @param cause the stack of an exception in a provider's code */
  fault(name: string, reason: string, cause?: string): void {
    this.#count(name);
    this.faultReasons[name] = reason;
    if (cause !== undefined) this.faultCauses[name] = cause;
    // A listener that throws is not notified of that.
    if (name !== 'observer.failed') {
      const event: SessionEvent = { type: 'fault', name, reason, ...(cause !== undefined && { stack: cause }) };
      if (this.#started) this.#observe(event);
      else this.#earlyFaults.push(event);
    }
    this.note(name, cause === undefined ? { reason } : { reason, cause });
  }

  /** Notes something outside the conversation that is not a fault. */
  note(name: string, data: NoteData): void {
    this.write({ t: this.#nowMs(), kind: 'note', name, data });
  }

  #count(name: string): void {
    this.faults[name] = (this.faults[name] ?? 0) + 1;
  }
}
