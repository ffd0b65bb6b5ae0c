import type { ChatMessage } from '../agent/chat.js';
import { reportWithoutText } from '../session/record/session-report.js';
import { latencySummary, noSpeculations } from '../session/record/session-metrics.js';
import type { FunctionCall, SessionReport } from '../session/record/session-report.js';
import type { UsageBook } from '../session/record/usage.js';

/** What a chat ends as. */
export const CHAT_STATUS = 'chat_completion';

export interface ChatReportParts {
  id: string;
  durationMs: number;
  messages: readonly ChatMessage[];
  calls: readonly FunctionCall[];
  usage: UsageBook;
  faults: ReadonlyMap<string, number>;
  /** Nothing that was said may be kept. */
  optOut: boolean;
}

/** What is left of a conversation in writing: nobody heard or spoke, so those parts are empty. */
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
