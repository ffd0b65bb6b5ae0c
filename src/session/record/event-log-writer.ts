import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../conversation/events.js';
import type { LogEntry, LogSink, NoteData } from './event-log.js';
import { withoutText } from './privacy.js';
import type { SessionEvent, SessionOptions } from '../session-options.js';

type JournalOptions = Pick<SessionOptions, 'log' | 'watch' | 'optOut'> & { tts: Named; llm: Named };
type Named = Pick<SessionOptions['tts'], 'name'>;

/** What a session writes down: its event log, and the faults that it went on in spite of. */
export class EventLogWriter {
  /** By name, with how often each occurred. */
  readonly faults: Record<string, number> = {};
  /** The last reason of each. */
  readonly faultReasons: Record<string, string> = {};
  /** The last stack of those that an exception in a provider's code has caused. */
  readonly faultCauses: Record<string, string> = {};
  readonly #nowMs: () => number;
  readonly #tell: (event: SessionEvent) => void;
  #sink: LogSink | null;
  #watch: LogSink | null;
  readonly #optOut: boolean;
  #started = false;
  readonly #early: LogEntry[] = [];
  /** The request whose turn may not be over. */
  #speculative: number | null = null;
  /** The model has said why it failed. */
  #modelTold = false;
  readonly #names: { voice: string; model: string };

  /** @param tell told of each fault, and of a provider that was given up */
  constructor(
    { log, watch, optOut = false, tts, llm }: JournalOptions,
    nowMs: () => number,
    tell: (event: SessionEvent) => void = () => undefined,
  ) {
    this.#tell = tell;
    this.#names = { voice: tts.name, model: llm.name };
    this.#sink = log ?? null;
    this.#watch = watch ?? null;
    this.#optOut = optOut;
    this.#nowMs = nowMs;
  }

  /** The log begins with the session's start: what is noted before waits for it. */
  write(entry: LogEntry): void {
    this.#tellWatch(entry);
    if (entry.kind === 'note' && !this.#started) {
      this.#early.push(entry);
      return;
    }
    this.#write(entry);
    if (entry.kind !== 'start') return;
    this.#started = true;
    for (const note of this.#early.splice(0)) this.#write(note);
  }

  #write(entry: LogEntry): void {
    try {
      this.#sink?.(this.#optOut ? withoutText(entry) : entry);
    } catch {
      this.#sink = null; // a log that cannot be written must not cost the call
      this.#count('log.failed');
    }
  }

  /** What happens to the conversation; some of it is a fault. */
  event(event: ConversationEvent, t: number, position: PlayoutPosition): void {
    this.write({ t, kind: 'event', event, position });
    if (event.type === 'utterance.failed') this.fault('tts.failed', event.reason, event.cause);
    else if (event.type === 'ears.failed') this.fault(event.type, event.reason, event.cause);
    else if (event.type === 'llm.failed') {
      // It is asked again in earnest: the turn has not failed for that.
      const isEarly = event.requestId === this.#speculative;
      this.#modelTold = !isEarly;
      this.fault(isEarly ? 'speculation.failed' : event.type, event.reason, event.cause);
    }
  }

  /** What the conversation wants done. */
  effect(effect: ConversationEffect, t: number): void {
    this.write({ t, kind: 'effect', effect });
    if (effect.type === 'llm.start' && effect.speculative) this.#speculative = effect.requestId;
    else if (effect.type === 'llm.confirm') this.#speculative = null;
    else if (effect.type === 'trace') this.#stalled(effect.name, effect.data);
  }

  /** The conversation has waited long enough, sooner than the provider itself gave up: that is a fault of the provider's. */
  #stalled(name: string, data: Readonly<Record<string, unknown>>): void {
    const { voice, model } = this.#names;
    if (name === 'speech.stalled') {
      this.#tell({ type: 'provider', stage: 'tts', provider: voice, failed: 'late' });
      this.fault('tts.failed', `${voice} gave no sound in time`);
    }
    if (name !== 'reply.failed') return;
    if (!this.#modelTold) {
      this.#tell({ type: 'provider', stage: 'llm', provider: model, failed: 'late' });
      this.fault('llm.failed', `${model}: ${String(data['reason'])}`);
    }
    this.#modelTold = false;
  }

  /** @param cause the stack of an exception in a provider's code */
  fault(name: string, reason: string, cause?: string): void {
    this.#count(name);
    this.faultReasons[name] = reason;
    if (cause !== undefined) this.faultCauses[name] = cause;
    // A listener that throws is not told of that.
    if (name !== 'observer.failed') this.#tell({ type: 'fault', name, reason });
    this.note(name, { reason, ...(cause !== undefined && { cause }) });
  }

  /** Something around the conversation that is no fault. */
  note(name: string, data: NoteData): void {
    this.write({ t: this.#nowMs(), kind: 'note', name, data });
  }

  #tellWatch(entry: LogEntry): void {
    try {
      this.#watch?.(entry);
    } catch {
      this.#watch = null;
      this.#count('watch.failed');
    }
  }

  #count(name: string): void {
    this.faults[name] = (this.faults[name] ?? 0) + 1;
  }
}
