import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { mergeConfig } from '../conversation/merge-config.js';
import type { EventLog } from './read-log.js';

/** Whether a session's events lead to the same effects again. */
export interface Replayed {
  events: number;
  effects: number;
  /** Null = the same, bit for bit. */
  difference: Difference | null;
}

/** The first effect that is not the same. */
export interface Difference {
  atMs: number;
  /** The event that led to it, counted from 1. */
  eventNumber: number;
  event: ConversationEvent;
  /** What the log holds; null = nothing more of this event. */
  logged: ConversationEffect | null;
  /** What the conversation does now; null = nothing more. */
  replayed: ConversationEffect | null;
}

/** Gives a session's events to a new conversation with the same settings, and compares the effects. */
export function replay({ start, entries }: EventLog): Replayed {
  // Settings that this log's parley did not know yet are as they are by default.
  const conversation = new Conversation(mergeConfig(start.config));
  const result: Replayed = { events: 0, effects: 0, difference: null };
  let step: { t: number; event: ConversationEvent; effects: ConversationEffect[] } | null = null;
  const differ = (logged: ConversationEffect | null, replayed: ConversationEffect | null): Replayed => {
    const { t: atMs, event } = step ?? { t: 0, event: { type: 'time' } };
    return { ...result, difference: { atMs, eventNumber: result.events, event, logged, replayed } };
  };
  for (const entry of entries) {
    if (entry.kind === 'event') {
      const [missing] = step?.effects ?? [];
      if (missing !== undefined) return differ(null, missing);
      const { t, event, position } = entry;
      step = { t, event, effects: conversation.step(event, t, position) };
      result.events++;
    } else if (entry.kind === 'effect') {
      const replayed = step?.effects.shift() ?? null;
      if (replayed === null || JSON.stringify(replayed) !== JSON.stringify(entry.effect)) {
        return differ(entry.effect, replayed);
      }
      result.effects++;
    }
  }
  // Effects that are missing at the very end were not written any more.
  return result;
}
