import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { mergeConfig } from '../agent/flow/conversation-config.js';
import type { EventLog } from './read-log.js';

/** The result of a replay. */
export interface Replayed {
  events: number;
  effects: number;
  /** Null = identical, bit for bit. */
  difference: Difference | null;
}

/** The first effect that differs. */
export interface Difference {
  atMs: number;
  /** Number of the event that caused it, from 1. */
  eventNumber: number;
  event: ConversationEvent;
  /** The effect in the log; null = the event has no further effect. */
  logged: ConversationEffect | null;
  /** The effect in the replay; null = the event has no further effect. */
  replayed: ConversationEffect | null;
}

/** Replays a session's events with the same settings and compares the effects. */
export function replay({ start, entries }: EventLog): Replayed {
  // Settings that are newer than the log get their defaults.
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
  // The log may end before the last effects were written.
  return result;
}
