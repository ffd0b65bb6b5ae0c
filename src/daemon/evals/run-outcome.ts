import type { CaseResult, CaseRun, SuiteResult } from '../../eval/result.js';
import { callHistoryItem } from '../../session/record/call-history.js';
import type { Prices } from '../../settings/prices.js';
import type { StoredCall } from '../../store/calls.js';
import type { EvalRunEnd, StoredEvalRun } from '../../store/eval-runs.js';
import { type MultiplierOf, priced } from '../call-log/pricing.js';
import type { TestedAgent } from './suite-runner.js';
import type { CaseSummary, LoggedCaseRun } from './replies.js';

export interface RunOutcomeOptions {
  run: StoredEvalRun;
  result: SuiteResult;
  agent: TestedAgent;
  against: TestedAgent | null;
  prices: Prices;
  multiplierOf: MultiplierOf;
  /** Where a call's recording is by now; null = it has none. @param path as the run has named it */
  recordingOf: (sessionId: string, path: string | null) => string | null;
  finishedMs: number;
}

/** The id of a test call. @param call index of the call in its run, counted over all cases and both agents */
export function evalSessionId(runId: string, call: number): string {
  return `eval-${runId}-${String(call)}`;
}

/** All runs of a result in the order of their calls: those of the agent, then those of the other one. */
export function runsOf({ cases, comparison }: SuiteResult): { of: CaseResult; run: CaseRun; isOther: boolean }[] {
  const all = [
    ...cases.map((of) => ({ of, isOther: false })),
    ...(comparison?.cases ?? []).map(({ other }) => ({ of: other, isOther: true })),
  ];
  return all.flatMap(({ of, isOther }) => of.runs.map((run) => ({ of, run, isOther })));
}

/** What is stored of a run that has a result. */
export function runOutcome(options: RunOutcomeOptions): Pick<EvalRunEnd, 'passed' | 'summary' | 'result' | 'calls'> {
  const { run, result, agent, against, prices } = options;
  const calls: StoredCall[] = [];
  const logged = new Map<CaseRun, LoggedCaseRun>();
  runsOf(result).forEach(({ of, run: caseRun, isOther }, at) => {
    const tested = isOther && against !== null ? against : agent;
    const call = callOf(options, { sessionId: evalSessionId(run.id, at), of, caseRun, tested });
    if (call !== null) calls.push(call);
    logged.set(caseRun, loggedRun(caseRun, call, costOf(call, prices)));
  });
  const withIds = (of: CaseResult): CaseResult => ({ ...of, runs: of.runs.map((each) => logged.get(each) ?? each) });
  const { comparison } = result;
  const kept: SuiteResult = {
    ...result,
    cases: result.cases.map(withIds),
    comparison: comparison && {
      ...comparison,
      cases: comparison.cases.map((each) => ({ ...each, other: withIds(each.other) })),
    },
  };
  const summary = kept.cases.map(summaryOf);
  return { passed: result.passed, summary: JSON.stringify(summary), result: JSON.stringify(kept), calls };
}

/** The parts of a run's end without a result. */
export const NO_OUTCOME = { passed: null, summary: null, result: null, calls: [] } as const;

/** A run of a case without its report, which the call has, and with its files where a client finds them. */
function loggedRun(run: CaseRun, call: StoredCall | null, costUsd: number | null): LoggedCaseRun {
  const path = call === null ? null : `/call-logs/${call.sessionId}`;
  return {
    ...run,
    metrics: { ...run.metrics, costUsd },
    report: null,
    sessionId: call?.sessionId ?? null,
    recording: path !== null && call?.recording != null ? `${path}/recording` : null,
    trace: path !== null && run.trace !== null ? `${path}/trace` : null,
  };
}

interface HeldCall {
  sessionId: string;
  of: CaseResult;
  caseRun: CaseRun;
  tested: TestedAgent;
}

/** The call of a run as the call log shows it; null = it could not be held. */
function callOf(options: RunOutcomeOptions, { sessionId, of, caseRun, tested }: HeldCall): StoredCall | null {
  const { run, prices, multiplierOf, recordingOf, finishedMs } = options;
  const { report } = caseRun;
  if (report === null) return null;
  const startUnixMs = run.startedMs ?? run.createdMs;
  const item = callHistoryItem(
    { ...report, sessionId },
    {
      agentId: tested.id,
      agentConfig: tested.config,
      callId: null,
      campaignId: null,
      startUnixMs,
      metadata: {},
      phones: null,
      direction: 'inbound',
      outcome: null,
      recordingUrl: null,
      optOut: false,
    },
  );
  return {
    sessionId,
    callId: null,
    channel: 'talk',
    direction: 'inbound',
    agentId: tested.id,
    agentVersion: tested.version,
    campaignId: null,
    fromPhone: null,
    toPhone: null,
    status: item.call_status,
    tsUs: Math.round(startUnixMs * 1000),
    endedUs: Math.round(finishedMs * 1000),
    recording: recordingOf(sessionId, caseRun.recording),
    item: {
      ...item,
      agent_version: tested.version,
      cost_breakdown: priced(item, prices, multiplierOf),
      eval: {
        run_id: run.id,
        suite_id: run.suiteId,
        suite_version: run.suiteVersion,
        case: of.name,
        mode: of.mode,
        run: caseRun.run,
        passed: caseRun.passed,
      },
    },
  };
}

/** Null = the operator has set no prices, or the call could not be held. */
function costOf(call: StoredCall | null, prices: Prices): number | null {
  if (call === null || Object.keys(prices).length === 0) return null;
  return call.item.cost_breakdown.reduce((sum, { credit }) => sum + credit, 0);
}

function summaryOf(of: CaseResult): CaseSummary {
  const { runs } = of;
  const times = runs.flatMap(({ metrics }) => metrics.responseMs).toSorted((a, b) => a - b);
  const costs = runs.flatMap(({ metrics }) => metrics.costUsd ?? []);
  return {
    name: of.name,
    mode: of.mode,
    passed: of.passed,
    runs: runs.length,
    passes: of.passes,
    errors: runs.filter(({ error }) => error !== null).length,
    pass_rate: { ...of.passRate },
    needed: of.needed,
    response_ms: median(times),
    cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
  };
}

/** @param sorted in ascending order */
function median(sorted: readonly number[]): number | null {
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? null : (upper + lower) / 2;
}
