import type { Clock } from '../base/clock.js';
import type { ConversationEvent } from '../conversation/events.js';
import type { NoteData } from './record/event-log.js';

/** What all parts of a session share. */
export interface SessionContext {
  clock: Clock;
  /** Milliseconds since the session began; 0 before. */
  nowMs: () => number;
  /** Gives the conversation an event; it is ignored unless the session runs. */
  emit: (event: ConversationEvent) => void;
  /**
   * Counts and logs something that went wrong while the session goes on.
   * @param cause the stack of an exception in a provider's code
   */
  fault: (name: string, reason: string, cause?: string) => void;
  /** Notes in the event log something that is no fault. */
  log: (name: string, data: NoteData) => void;
}
