import type { ChatMessage } from '../config/chat.js';
import type { EndStatus } from '../conversation/events.js';
import type { LatencySummary } from './latency.js';
import type { PlayoutStats } from './playout.js';
import type { TurnMetrics } from './turn-metrics.js';

export interface FunctionCall {
  name: string;
  /** JSON text of an object, as the model gave it. */
  arguments: string;
  ok: boolean;
  /** What the model was told. */
  result: string;
  tookMs: number;
  /** It ran when the call was over. */
  runAfterCall: boolean;
}

/** What is left of a session when it is over. */
export interface SessionReport {
  sessionId: string;
  status: EndStatus;
  durationMs: number;
  /** What both sides said, the agent's part as far as it was heard. */
  messages: readonly ChatMessage[];
  turns: readonly TurnMetrics[];
  latency: LatencySummary;
  functionCalls: readonly FunctionCall[];
  /** Characters given to the voice. */
  ttsChars: number;
  promptTokens: number;
  completionTokens: number;
  playout: Readonly<PlayoutStats>;
  /** Faults by name, with how often each occurred. */
  faults: Readonly<Record<string, number>>;
}
