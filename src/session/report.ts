import { latencySummary } from './latency.js';
import type { Ledger } from './ledger.js';
import { reportWithoutText } from './privacy.js';
import type { SessionReport } from './session-report.js';

type Figures = 'turns' | 'latency' | 'speculation' | 'promptTokens' | 'completionTokens' | 'usage';

export interface ReportParts extends Omit<SessionReport, Figures> {
  ledger: Ledger;
  /** Nothing that was said may be kept. */
  optOut: boolean;
}

/** What is left of a session. */
export function reportOf({ ledger, optOut, ...parts }: ReportParts): SessionReport {
  const { turns, usage, speculation } = ledger;
  const { promptTokens, completionTokens } = usage.tokens;
  const report: SessionReport = {
    ...parts,
    turns: turns.turns,
    latency: latencySummary(turns.turns),
    speculation,
    promptTokens,
    completionTokens,
    usage: usage.usage(parts.durationMs),
  };
  return optOut ? reportWithoutText(report) : report;
}
