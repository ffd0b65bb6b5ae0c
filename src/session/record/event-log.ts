import type { ConversationConfig } from '../../agent/flow/conversation-config.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../conversation/events.js';

/**
 * The event log of a session, one entry a line of JSON. The first entry holds the settings; the events alone, at their
 * times, lead a conversation with these settings to the same effects again.
 */
export type LogEntry =
  | { v: typeof LOG_VERSION; t: number; kind: 'start'; sessionId: string; config: ConversationConfig }
  | { t: number; kind: 'event'; event: ConversationEvent; position: PlayoutPosition }
  | { t: number; kind: 'effect'; effect: ConversationEffect }
  /**
   * Something of the shell around the conversation: a fault that it went on in spite of (with a `reason`), or
   * `voice.first`: the first audio of an utterance is there.
   */
  | { t: number; kind: 'note'; name: string; data: NoteData };

export type NoteData = Readonly<Record<string, string | number | boolean | null>>;

export const LOG_VERSION = 1;

export type LogSink = (entry: LogEntry) => void;
