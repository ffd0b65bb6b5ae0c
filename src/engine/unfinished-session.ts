import type { ChatMessage } from '../agent/chat.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import type { WebhookAddress } from '../agent/webhook.js';
import type { AfterCallMarks } from '../session/after-call/after-call.js';
import type { CallFacts } from '../session/record/call-history.js';
import type { FunctionCall, ReportParts } from '../session/record/session-report.js';

/** What it takes to finish a session after the process that ran it has died. Plain data. */
export interface UnfinishedSession {
  sessionId: string;
  /** The agent's `session_data_webhook`; null = it has none. */
  to: WebhookAddress | null;
  facts: Omit<CallFacts, 'outcome'>;
  /** Rules of the scripted model; null = none. */
  script: unknown;
  /** Missing in records of earlier releases. */
  extensions?: AgentExtensions | null | undefined;
  includeMetadataInPrompt: boolean;
  /** What a chat has come to, which has no event log; null for a spoken session. */
  chat: UnfinishedChat | null;
}

export interface UnfinishedChat {
  /** Empty where the agent opts out of data collection. */
  messages: readonly ChatMessage[];
  functionCalls: readonly FunctionCall[];
  durationMs: number;
}

/** Keeps sessions from their beginning until all that follows them is done. What it keeps survives the process. */
export interface UnfinishedSessions extends AfterCallMarks {
  /** Adds a session, or replaces what is kept of it. */
  put(session: UnfinishedSession): void;
  /** The session is in the history and its webhook in the outbox. */
  remove(sessionId: string): void;
}

/** What an unfinished session has left behind. */
export interface LeftSession {
  parts: ReportParts;
  /** The system prompt of its model; null = it is built again. */
  systemPrompt: string | null;
  /** Whether the session ran. Nothing follows one that never did. */
  ran: boolean;
}
