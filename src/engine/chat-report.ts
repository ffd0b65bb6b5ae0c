import type { ChatMessage } from '../agent/chat.js';
import { reportWithoutText } from '../session/record/session-report.js';
import { latencySummary, noSpeculations } from '../session/record/session-metrics.js';
import type { FunctionCall, SessionReport } from '../session/record/session-report.js';
import type { UsageBook } from '../session/record/usage.js';

/** The end status of a chat. */
export const CHAT_STATUS = 'chat_completion';

export interface ChatReportParts {
  id: string;
  durationMs: number;
  messages: readonly ChatMessage[];
  calls: readonly FunctionCall[];
  usage: UsageBook;
  faults: ReadonlyMap<string, number>;
  /** No words may be stored. */
  optOut: boolean;
}

/** The report of a text conversation: the parts about speech are empty. */
export function chatReport({ id, durationMs, messages, calls, usage, faults, optOut }: ChatReportParts): SessionReport {
  const report: SessionReport = {
    sessionId: id,
    status: 'user-ended',
    durationMs,
    messages,
    functionCalls: calls,
    turns: [],
    latency: latencySummary([]),
    doNotCall: false,
    transfers: [],
    ttsChars: 0,
    speculation: noSpeculations(),
    promptTokens: usage.tokens.promptTokens,
    completionTokens: usage.tokens.completionTokens,
    usage: usage.usage(durationMs),
    playout: { underruns: 0, speechMs: 0, skippedFrames: 0 },
    line: null,
    recording: null,
    faults: Object.fromEntries(faults),
  };
  return optOut ? reportWithoutText(report) : report;
}
