import * as z from 'zod';
import type { EvalLine, CaseResult, CaseRun, ModelUsage, SuiteResult } from '../../eval/result.js';
import type { EvalSuite } from '../../eval/suite/suite-schema.js';
import type { StoredEvalRun } from '../../store/eval-runs.js';
import type { EvalSuiteVersion, StoredEvalSuite } from '../../store/eval-suites.js';

/** A run of a case, with the id of its call in the call log. */
export interface LoggedCaseRun extends CaseRun {
  /** Null = the call could not be held. */
  sessionId: string | null;
}

const seconds = z.number().describe('Unix seconds');
const milliseconds = z.number().describe('Milliseconds from the start of the call');
const mode = z.enum(['text', 'voice']);
const passRate = z
  .strictObject({ rate: z.number(), low: z.number(), high: z.number() })
  .describe('Share of the runs that passed, with its 95 % Wilson interval');

const suiteShape = {
  id: z.string(),
  agent_id: z.string().nullable().describe('The agent that it tests; null = any'),
  name: z.string(),
  version: z.int().describe('Starts at 1 and grows by one with each save.'),
  cases: z.int().describe('Number of cases'),
  created_at: z.int().describe('Unix seconds'),
  changed_at: z.int().describe('Unix seconds'),
  changed_by: z.string().nullable().describe('The name of the key'),
};
export const suiteListSchema = z.strictObject(suiteShape).meta({ id: 'EvalSuiteItem', description: 'A test suite.' });
export const suiteReplySchema = z
  .strictObject({
    ...suiteShape,
    suite: z.record(z.string(), z.unknown()).describe('The suite, see docs/evals.md'),
    text: z.string().describe('The suite as YAML or JSON, as it was saved'),
  })
  .meta({ id: 'EvalSuite', description: 'A test suite with its cases.' });
export const suiteVersionSchema = suiteReplySchema
  .omit({ id: true, agent_id: true, created_at: true })
  .meta({ id: 'EvalSuiteVersion', description: 'A test suite after a save.' });

export const caseReplySchema = z
  .strictObject({
    name: z.string(),
    text: z.string().describe('The case as YAML'),
  })
  .meta({ id: 'EvalCaseText', description: 'A case of a test suite.' });

const progressShape = {
  done: z.int().describe('Calls that are over'),
  total: z.int().describe('Calls in all; 0 = not known yet'),
  passed: z.int(),
  failed: z.int(),
};
const status = z.enum(['queued', 'running', 'done', 'canceled', 'failed']);
const reason = z.string().nullable().describe('Why it failed');
export const progressSchema = z
  .strictObject({ status, reason, ...progressShape })
  .meta({ id: 'EvalProgress', description: 'The progress of a run.' });

const caseSummarySchema = z
  .strictObject({
    name: z.string(),
    mode,
    passed: z.boolean(),
    runs: z.int(),
    passes: z.int(),
    errors: z.int().describe('Runs whose call could not be held'),
    pass_rate: passRate,
    needed: z.number().describe('Share of the runs that has to pass'),
    response_ms: z.number().nullable().describe('Median response time over all runs; null = no turn was answered'),
    cost: z.number().nullable().describe("Cost of all runs by the operator's prices; null = it is not known"),
  })
  .meta({ id: 'EvalCaseSummary', description: 'Figures of a case in a run.' });
export type CaseSummary = z.output<typeof caseSummarySchema>;

export const runRequestShape = {
  mode: mode.nullable().describe('Null = all modes of each case'),
  runs: z.int().nullable().describe('Runs of each case; null = as the suite has it'),
  only: z.array(z.string()).nullable().describe('Names or tags of cases; null = all'),
  against: z
    .strictObject({ agent_id: z.string(), agent_version: z.int() })
    .nullable()
    .describe('The agent that the run compares with; null = none'),
};
const runRequestSchema = z.strictObject(runRequestShape);
export type RunRequest = z.output<typeof runRequestSchema>;
export const runReplySchema = z
  .strictObject({
    id: z.string(),
    suite_id: z.string(),
    suite_version: z.int(),
    agent_id: z.string(),
    agent_version: z.int(),
    ...runRequestShape,
    status,
    reason,
    passed: z.boolean().nullable().describe('Whether all cases passed; null = there is no result'),
    progress: z.strictObject(progressShape),
    cases: z.array(caseSummarySchema).nullable().describe('Null = there is no result'),
    created_at: seconds,
    started_at: seconds.nullable(),
    finished_at: seconds.nullable(),
  })
  .meta({ id: 'EvalRun', description: 'A run of a test suite.' });
export type RunReply = z.output<typeof runReplySchema>;

const lineSchema = z
  .union([
    z.strictObject({
      type: z.literal('caller'),
      text: z.string(),
      understood: z.string().nullable(),
      start_ms: milliseconds,
      end_ms: milliseconds,
      cut_off: z.boolean(),
      response_ms: z.number().nullable(),
    }),
    z.strictObject({
      type: z.literal('agent'),
      text: z.string(),
      start_ms: milliseconds,
      end_ms: milliseconds,
      interrupted: z.boolean(),
    }),
    z.strictObject({
      type: z.literal('keys'),
      by: z.enum(['caller', 'agent']),
      keys: z.string(),
      start_ms: milliseconds,
    }),
    z.strictObject({
      type: z.literal('tool'),
      name: z.string(),
      arguments: z.string(),
      ok: z.boolean(),
      result: z.string(),
      start_ms: milliseconds,
      took_ms: z.number(),
      mocked: z.boolean(),
      after_call: z.boolean(),
    }),
    z.strictObject({ type: z.literal('transfer'), target: z.string(), outcome: z.string(), start_ms: milliseconds }),
    z.strictObject({
      type: z.literal('end'),
      status: z.string(),
      by: z.enum(['agent', 'caller', 'limit']),
      start_ms: milliseconds,
    }),
  ])
  .meta({ id: 'EvalCallLine', description: 'One thing that was said or done in a test call.' });

const outcome = z.enum(['pass', 'fail', 'error']);
const modelSchema = z
  .strictObject({ model: z.string(), prompt: z.string().describe('Version of the prompt'), temperature: z.number() })
  .nullable();
const modelUsageSchema = z
  .strictObject({ prompt_tokens: z.int(), completion_tokens: z.int(), cost: z.number().nullable() })
  .nullable();
const caseRunSchema = z
  .strictObject({
    run: z.int().describe('Index within the case, from 0'),
    seed: z.int(),
    passed: z.boolean(),
    error: z.string().nullable().describe('Why the call could not be held'),
    session_id: z.string().nullable().describe('The call in the call log; null = it could not be held'),
    expectations: z.array(
      z.strictObject({
        index: z.int().describe("Index in the case's `expect`"),
        kind: z.string(),
        expected: z.string().describe('The expectation in words'),
        outcome: outcome.describe('`error`: it could not be decided'),
        reason: z.string(),
        line: z.int().nullable().describe('Index in `lines`; null = the whole call'),
        votes: z.array(z.strictObject({ verdict: outcome, reason: z.string(), quote: z.string() })),
        judge: modelSchema.describe('Who judged; null = no model did'),
      }),
    ),
    played_by: modelSchema.describe('The model that played the caller; null = none did'),
    lines: z.array(lineSchema),
    metrics: z.strictObject({
      duration_ms: z.number(),
      caller_turns: z.int(),
      talk_ratio: z.number().describe("The agent's share of all speech, 0 to 1"),
      response_ms: z.array(z.number()).describe('Response times of all answered turns, in order'),
      cut_offs: z.int(),
      longest_silence_ms: z.number(),
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      cost: z.number().nullable().describe("Cost of the agent's side by the operator's prices; null = it is not known"),
      persona: modelUsageSchema.describe('What the model that plays the caller uses; null = none does'),
      judges: modelUsageSchema.describe('What judges use; null = none was asked'),
    }),
  })
  .meta({ id: 'EvalCaseRun', description: 'A test call and what the expectations found.' });
const caseSchema = z
  .strictObject({
    name: z.string(),
    mode,
    passed: z.boolean(),
    passes: z.int(),
    pass_rate: passRate,
    needed: z.number(),
    runs: z.array(caseRunSchema),
  })
  .meta({ id: 'EvalCaseResult', description: 'A case with all its runs in one mode.' });
export const reportSchema = z
  .strictObject({
    suite: z.string(),
    agent: z.string(),
    started_at: z.string().describe('ISO 8601'),
    took_ms: z.number(),
    passed: z.boolean(),
    cost_unit: z.string().nullable().describe('Currency of costs; null = there are no prices'),
    cases: z.array(caseSchema),
    comparison: z
      .strictObject({
        against: z.string(),
        only_this: z.int().describe('Runs that only this agent passed'),
        only_other: z.int(),
        both: z.int(),
        neither: z.int(),
        p_value: z.number().describe('Probability of such a difference by chance (exact McNemar test)'),
        cases: z.array(
          z.strictObject({
            name: z.string(),
            mode,
            runs: z.int(),
            passes: z.int(),
            other_passes: z.int(),
            response_ms: z.number().nullable(),
            other_response_ms: z.number().nullable(),
            differences: z.array(z.string()),
            other: caseSchema,
          }),
        ),
      })
      .nullable(),
  })
  .meta({ id: 'EvalReport', description: 'The result of a run.' });
export type RunReport = z.output<typeof reportSchema>;
export type CaseReport = z.output<typeof caseSchema>;
export type CaseRunReport = z.output<typeof caseRunSchema>;
export type LineReport = z.output<typeof lineSchema>;

function parsedSuite(text: string): EvalSuite {
  return JSON.parse(text) as EvalSuite;
}

export function suiteItem(suite: StoredEvalSuite): z.output<typeof suiteListSchema> {
  const { id, agentId, name, version, createdAt, changedAt, changedBy } = suite;
  return {
    id,
    agent_id: agentId,
    name,
    version,
    cases: parsedSuite(suite.suite).cases.length,
    created_at: createdAt,
    changed_at: changedAt,
    changed_by: changedBy,
  };
}

export function suiteReply(suite: StoredEvalSuite): z.output<typeof suiteReplySchema> {
  return { ...suiteItem(suite), suite: parsedSuite(suite.suite), text: suite.text };
}

export function suiteVersionReply(given: EvalSuiteVersion): z.output<typeof suiteVersionSchema> {
  const { name, version, text, changedAt, changedBy } = given;
  const suite = parsedSuite(given.suite);
  return { name, version, cases: suite.cases.length, changed_at: changedAt, changed_by: changedBy, suite, text };
}

export function progressReply({ status: now, reason: why, progress }: StoredEvalRun): z.output<typeof progressSchema> {
  return { status: now, reason: why, ...progress };
}

export function runReply(run: StoredEvalRun): RunReply {
  const inSeconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
  return {
    id: run.id,
    suite_id: run.suiteId,
    suite_version: run.suiteVersion,
    agent_id: run.agentId,
    agent_version: run.agentVersion,
    ...(JSON.parse(run.request) as RunRequest),
    status: run.status,
    reason: run.reason,
    passed: run.passed,
    progress: { ...run.progress },
    cases: run.summary === null ? null : (JSON.parse(run.summary) as CaseSummary[]),
    created_at: run.createdMs / 1000,
    started_at: inSeconds(run.startedMs),
    finished_at: inSeconds(run.finishedMs),
  };
}

export function reportReply(result: SuiteResult): RunReport {
  const { suite, agent, startedAt, tookMs, passed, cases, comparison, costUnit = null } = result;
  return {
    suite,
    agent,
    started_at: startedAt,
    took_ms: tookMs,
    passed,
    cost_unit: costUnit,
    cases: cases.map(caseReply),
    comparison: comparison && {
      against: comparison.against,
      only_this: comparison.onlyThis,
      only_other: comparison.onlyOther,
      both: comparison.both,
      neither: comparison.neither,
      p_value: comparison.pValue,
      cases: comparison.cases.map((each) => ({
        name: each.name,
        mode: each.mode,
        runs: each.runs,
        passes: each.passes,
        other_passes: each.otherPasses,
        response_ms: each.responseMs,
        other_response_ms: each.otherResponseMs,
        differences: [...each.differences],
        other: caseReply(each.other),
      })),
    },
  };
}

function caseReply({ name, mode: of, passed, passes, passRate: rate, needed, runs }: CaseResult): CaseReport {
  return {
    name,
    mode: of,
    passed,
    passes,
    pass_rate: { ...rate },
    needed,
    runs: (runs as readonly LoggedCaseRun[]).map(caseRunReply),
  };
}

function caseRunReply({
  run,
  seed,
  passed,
  error,
  sessionId,
  expectations,
  playedBy,
  lines,
  metrics,
}: LoggedCaseRun): CaseRunReport {
  return {
    run,
    seed,
    passed,
    error,
    session_id: sessionId,
    expectations: expectations.map(({ votes = [], judge = null, ...one }) => ({
      index: one.index,
      kind: one.kind,
      expected: one.expected,
      outcome: one.outcome,
      reason: one.reason,
      line: one.line,
      votes: votes.map(({ verdict, reason: words, quote }) => ({ verdict, reason: words, quote })),
      judge,
    })),
    played_by: playedBy ?? null,
    lines: lines.map(lineReply),
    metrics: {
      duration_ms: metrics.durationMs,
      caller_turns: metrics.callerTurns,
      talk_ratio: metrics.talkRatio,
      response_ms: [...metrics.responseMs],
      cut_offs: metrics.cutOffs,
      longest_silence_ms: metrics.longestSilenceMs,
      prompt_tokens: metrics.promptTokens,
      completion_tokens: metrics.completionTokens,
      cost: metrics.costUsd,
      persona: modelUsageReply(metrics.persona),
      judges: modelUsageReply(metrics.judges),
    },
  };
}

/** @param usage undefined in results of earlier releases */
function modelUsageReply(usage: ModelUsage | null | undefined): z.output<typeof modelUsageSchema> {
  if (usage == null) return null;
  const { promptTokens, completionTokens, costUsd } = usage;
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, cost: costUsd };
}

function lineReply(line: EvalLine): LineReport {
  switch (line.type) {
    case 'caller': {
      const { type, text, understood, startMs, endMs, cutOff, responseMs } = line;
      return { type, text, understood, start_ms: startMs, end_ms: endMs, cut_off: cutOff, response_ms: responseMs };
    }
    case 'agent': {
      const { type, text, startMs, endMs, interrupted } = line;
      return { type, text, start_ms: startMs, end_ms: endMs, interrupted };
    }
    case 'keys':
      return { type: line.type, by: line.by, keys: line.keys, start_ms: line.startMs };
    case 'tool': {
      const { type, name, ok, result, mocked, startMs, tookMs, afterCall } = line;
      return {
        type,
        name,
        arguments: line.arguments,
        ok,
        result,
        start_ms: startMs,
        took_ms: tookMs,
        mocked,
        after_call: afterCall,
      };
    }
    case 'transfer':
      return { type: line.type, target: line.target, outcome: line.outcome, start_ms: line.startMs };
    case 'end':
      return { type: line.type, status: line.status, by: line.by, start_ms: line.startMs };
  }
}
