import type { SessionReport } from '../session/record/session-report.js';
import type { EvalMode } from './suite/suite-schema.js';

/** One thing that was said or done in a call. Times in ms from the start of the call. */
export type EvalLine =
  | {
      type: 'caller';
      /** What the caller said. */
      text: string;
      /** What the agent understood; null = nothing, or not known. */
      understood: string | null;
      startMs: number;
      endMs: number;
      /** The agent began to speak before the caller had finished. */
      cutOff: boolean;
      /** From the end of the caller's turn to the agent's voice; null = no answer to this line. */
      responseMs: number | null;
    }
  | { type: 'agent'; text: string; startMs: number; endMs: number; interrupted: boolean }
  | { type: 'keys'; by: 'caller' | 'agent'; keys: string; startMs: number }
  | {
      type: 'tool';
      name: string;
      /** JSON text of an object. */
      arguments: string;
      ok: boolean;
      result: string;
      startMs: number;
      tookMs: number;
      /** A mock answered. */
      mocked: boolean;
      /** It ran when the call was over. */
      afterCall: boolean;
    }
  | { type: 'transfer'; target: string; outcome: string; startMs: number }
  | { type: 'end'; status: string; by: 'agent' | 'caller' | 'limit'; startMs: number };

/** What an expectation found. */
export interface ExpectationResult {
  /** Index in the case's `expect`; -1 = what holds for every case, such as that the caller can do all steps. */
  index: number;
  /** The expectation's name, such as `tool_called`. */
  kind: string;
  /** The expectation in words. */
  expected: string;
  /** `error`: it could not be decided, because a judge or a check failed. It never counts as a pass. */
  outcome: 'pass' | 'fail' | 'error';
  /** Why, in words; empty for most passes. */
  reason: string;
  /** Index in the call's lines that the reason is about; null = the whole call. */
  line: number | null;
  /** What judges answered. */
  votes?: readonly JudgeVote[];
  /** Who judged. */
  judge?: ModelIdentity;
}

/** The model that judged or played the caller: results of others cannot be compared. */
export interface ModelIdentity {
  /** The model id; no other model has answered in its place. */
  model: string;
  /** Version of the prompt. */
  prompt: string;
  /** 0 to 2. */
  temperature: number;
}

export interface JudgeVote {
  verdict: 'pass' | 'fail' | 'error';
  /** The judge's words, or the error. */
  reason: string;
  /** What the judge quotes of the conversation; empty = nothing. */
  quote: string;
}

/** Figures of one call. Times in ms. */
export interface EvalMetrics {
  durationMs: number;
  callerTurns: number;
  /** The agent's share of all speech, 0..1. */
  talkRatio: number;
  /** Response times of all answered turns, in order. */
  responseMs: readonly number[];
  cutOffs: number;
  /** Longest silence of both sides. */
  longestSilenceMs: number;
  promptTokens: number;
  completionTokens: number;
  /** Cost of the agent's side in the unit of the prices; null = there are no prices. */
  costUsd: number | null;
  /** What the model that plays the caller uses, which is no part of the above; null = none plays. */
  persona: ModelUsage | null;
  /** What judges use; null = none was asked. */
  judges: ModelUsage | null;
}

/** What language models use beside the agent. */
export interface ModelUsage {
  promptTokens: number;
  completionTokens: number;
  /** In the unit of the prices; null = there are no prices. */
  costUsd: number | null;
}

/** One run of a case. */
export interface CaseRun {
  /** Index of the run within its case, from 0. */
  run: number;
  seed: number;
  mode: EvalMode;
  passed: boolean;
  /** Why the call could not be held; null = it was held. */
  error: string | null;
  expectations: readonly ExpectationResult[];
  lines: readonly EvalLine[];
  metrics: EvalMetrics;
  /** Who played the caller; left out where no model did. */
  playedBy?: ModelIdentity;
  /** Null where the call could not be held. */
  report: SessionReport | null;
  /** Paths of what was kept of the call; null = nothing was. */
  recording: string | null;
  trace: string | null;
}

/** A case with all its runs in one mode, against one agent. */
export interface CaseResult {
  name: string;
  mode: EvalMode;
  runs: readonly CaseRun[];
  passes: number;
  /** Share of the runs that passed, with its 95 % Wilson interval. */
  passRate: { rate: number; low: number; high: number };
  /** Share that is needed. */
  needed: number;
  passed: boolean;
}

/** A whole suite against one agent. */
export interface SuiteResult {
  suite: string;
  /** The agent as it was named: a file, or an id with its version. */
  agent: string;
  startedAt: string;
  /** Real duration in ms. */
  tookMs: number;
  cases: readonly CaseResult[];
  passed: boolean;
  /** Currency of costs; left out where there are no prices. */
  costUnit?: string;
  comparison: Comparison | null;
}

/** Two agents over the same cases and seeds. */
export interface Comparison {
  /** The other agent, as it was named. */
  against: string;
  cases: readonly ComparedCase[];
  /** Runs that only one of the two passed. */
  onlyThis: number;
  onlyOther: number;
  both: number;
  neither: number;
  /** Probability of such a difference, or a larger one, by chance (exact McNemar test, two-sided), 0..1. */
  pValue: number;
}

export interface ComparedCase {
  name: string;
  mode: EvalMode;
  passes: number;
  otherPasses: number;
  runs: number;
  /** Median response time of this agent and of the other; null = no turn was answered. */
  responseMs: number | null;
  otherResponseMs: number | null;
  /** Expectations whose outcome differs in some run, in words. */
  differences: readonly string[];
  other: CaseResult;
}
