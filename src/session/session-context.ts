import type { Clock } from '../base/clock.js';
import type { ConversationEvent } from '../conversation/events.js';
import type { NoteData } from './record/event-log.js';
import type { UsageNote } from './record/usage.js';

/** Shared by all parts of a session. */
export interface SessionContext {
  clock: Clock;
  /** Milliseconds since the session began; 0 before. */
  nowMs: () => number;
  /** Sends the conversation an event; ignored unless the session runs. */
  emit: (event: ConversationEvent) => void;
  /**
   * Counts and logs a fault after which the session continues.
   * @param cause the stack of an exception in a provider's code
   */
  fault: (name: string, reason: string, cause?: string) => void;
  /** Adds a note that is not a fault to the event log. */
  log: (name: string, data: NoteData) => void;
  /** Counts and logs what a provider was used for. */
  usage: (note: UsageNote) => void;
}
