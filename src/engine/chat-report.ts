import type { ChatMessage } from '../agent/chat.js';
import { reportWithoutText } from '../session/record/session-report.js';
import { latencySummary, noSpeculations } from '../session/record/session-metrics.js';
import type { FunctionCall, SessionReport } from '../session/record/session-report.js';
import type { UsageBook } from '../session/record/usage.js';

/** The end status of a chat. */
export const CHAT_STATUS = 'chat_completion';

/** Number of occurrences of each fault, by name. */
export class FaultCounts extends Map<string, number> {
  /** The last reason of each. */
  readonly reasons: Record<string, string> = {};
  /** The last stack of faults caused by an exception in an embedder's code. */
  readonly causes: Record<string, string> = {};
  readonly #onFault: (name: string, reason: string) => void;

  /** @param onFault gets each at once */
  constructor(onFault: (name: string, reason: string) => void) {
    super();
    this.#onFault = onFault;
  }

  readonly note = (name: string, reason: string, cause?: string): void => {
    this.#onFault(name, reason);
    this.set(name, (this.get(name) ?? 0) + 1);
    this.reasons[name] = reason;
    if (cause !== undefined) this.causes[name] = cause;
  };
}

export interface ChatReportParts {
  id: string;
  durationMs: number;
  messages: readonly ChatMessage[];
  calls: readonly FunctionCall[];
  usage: UsageBook;
  faults: FaultCounts;
  steps: SessionReport['steps'];
  /** No words may be stored. */
  optOut: boolean;
}

/** The report of a text conversation: the parts about speech are empty. */
export function chatReport({
  id,
  durationMs,
  messages,
  calls,
  usage,
  faults,
  steps,
  optOut,
}: ChatReportParts): SessionReport {
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
    steps,
    listeners: [],
    participants: [],
    agents: [],
    faults: Object.fromEntries(faults),
    faultReasons: { ...faults.reasons },
    faultCauses: { ...faults.causes },
  };
  return optOut ? reportWithoutText(report) : report;
}
