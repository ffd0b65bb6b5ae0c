import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../conversation/events.js';
import type { LogEntry, LogSink } from './event-log.js';

/** What a session writes down: its event log, and the faults that it went on in spite of. */
export class Journal {
  /** By name, with how often each occurred. */
  readonly faults: Record<string, number> = {};
  readonly #nowMs: () => number;
  #sink: LogSink | null;
  /** The request whose turn may not be over. */
  #speculative: number | null = null;

  constructor(sink: LogSink | undefined, nowMs: () => number) {
    this.#sink = sink ?? null;
    this.#nowMs = nowMs;
  }

  write(entry: LogEntry): void {
    try {
      this.#sink?.(entry);
    } catch {
      this.#sink = null; // a log that cannot be written must not cost the call
      this.#count('log.failed');
    }
  }

  /** What happens to the conversation; some of it is a fault. */
  event(event: ConversationEvent, t: number, position: PlayoutPosition): void {
    this.write({ t, kind: 'event', event, position });
    if (event.type === 'utterance.failed') this.fault('tts.failed', event.reason);
    else if (event.type === 'ears.failed') this.fault(event.type, event.reason);
    else if (event.type === 'llm.failed') {
      // It is asked again in earnest: the turn has not failed for that.
      this.fault(event.requestId === this.#speculative ? 'speculation.failed' : event.type, event.reason);
    }
  }

  /** What the conversation wants done. */
  effect(effect: ConversationEffect, t: number): void {
    this.write({ t, kind: 'effect', effect });
    if (effect.type === 'llm.start' && effect.speculative) this.#speculative = effect.requestId;
    else if (effect.type === 'llm.confirm') this.#speculative = null;
  }

  fault(name: string, reason: string): void {
    this.#count(name);
    this.write({ t: this.#nowMs(), kind: 'note', name, data: { reason } });
  }

  #count(name: string): void {
    this.faults[name] = (this.faults[name] ?? 0) + 1;
  }
}
