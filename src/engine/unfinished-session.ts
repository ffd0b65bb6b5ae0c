import type { ChatMessage } from '../agent/chat.js';
import type { AgentExtensions } from '../agent/extensions/extensions.js';
import type { WebhookAddress } from '../agent/webhook.js';
import type { AfterCallMarks } from '../session/after-call/after-call.js';
import type { CallFacts } from '../session/record/call-history.js';
import type { FunctionCall, ReportParts } from '../session/record/session-report.js';

/** What is needed to finish a session after its process has died. Plain data. */
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
  /** The state of a chat, which has no event log; null for a spoken session. */
  chat: UnfinishedChat | null;
}

export interface UnfinishedChat {
  /** Empty where the agent opts out of data collection. */
  messages: readonly ChatMessage[];
  functionCalls: readonly FunctionCall[];
  durationMs: number;
}

/** Stores sessions until all work after them is done. Survives the process. */
export interface UnfinishedSessions extends AfterCallMarks {
  /** Adds or replaces a session. */
  put(session: UnfinishedSession): Promise<void>;
  /** The session is in the history and its webhook in the outbox. */
  remove(sessionId: string): Promise<void>;
}

/** The remains of an unfinished session. */
export interface LeftSession {
  parts: ReportParts;
  /** The system prompt of its model; null = it is built again. */
  systemPrompt: string | null;
  /** Whether the session ran. Nothing follows one that never did. */
  ran: boolean;
}
