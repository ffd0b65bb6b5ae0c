import type { ChatMessage } from '../config/chat.js';
import type { EndStatus } from '../conversation/events.js';
import type { TurnMetrics } from './turn-metrics.js';

export interface FunctionCall {
  name: string;
  arguments: string;
  ok: boolean;
  result: string;
  tookMs: number;
}

/** What is left of a session when it is over. */
export interface SessionReport {
  sessionId: string;
  status: EndStatus;
  durationMs: number;
  /** What both sides said, the agent's part as far as it was heard. */
  messages: readonly ChatMessage[];
  turns: readonly TurnMetrics[];
  functionCalls: readonly FunctionCall[];
  /** Characters given to the voice. */
  ttsChars: number;
  promptTokens: number;
  completionTokens: number;
  /** Faults by name, with how often each occurred. */
  faults: Readonly<Record<string, number>>;
}
