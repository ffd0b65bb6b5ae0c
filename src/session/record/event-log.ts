import type { ConversationConfig } from '../../agent/flow/conversation-config.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../conversation/events.js';

/**
 * A session's event log, one JSON entry per line. The first entry has the settings. The events at their times lead a
 * conversation with these settings to the same effects again.
 */
export type LogEntry =
  | { v: typeof LOG_VERSION; t: number; kind: 'start'; sessionId: string; config: ConversationConfig }
  | { t: number; kind: 'event'; event: ConversationEvent; position: PlayoutPosition }
  | { t: number; kind: 'effect'; effect: ConversationEffect }
  /**
   * A note about the shell around the conversation: a fault after which it continued (with a `reason`), or
   * `voice.first`: the first audio of an utterance has arrived.
   */
  | { t: number; kind: 'note'; name: string; data: NoteData };

export type NoteData = Readonly<Record<string, string | number | boolean | null>>;

export const LOG_VERSION = 1;

export type LogSink = (entry: LogEntry) => void;
