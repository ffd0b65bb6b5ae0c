import type { SuiteResult } from '../../eval/result.js';
import type { EvalMode, EvalSuite } from '../../eval/suite/suite-schema.js';
import type { EvalRunProgress } from '../../store/eval-runs.js';
import type { HostedAgent } from '../agents/agents.js';

/** One version of an agent that takes test calls. */
export interface TestedAgent extends HostedAgent {
  version: number;
}

/** What a run has to do. It is plain data, so that another process can do it. */
export interface SuiteJob {
  suite: EvalSuite;
  agent: TestedAgent;
  /** Runs the same calls with this agent, too, and compares. Null = no comparison. */
  against: TestedAgent | null;
  /** Null = all modes of each case. */
  mode: EvalMode | null;
  /** Runs of each case; null = as the suite has it. */
  runs: number | null;
  /** Names or tags of cases; null = all cases. */
  only: readonly string[] | null;
  /** Calls side by side. */
  concurrency: number;
  /** An existing folder for recordings and event logs. */
  folder: string;
}

export interface SuiteRunnerOptions {
  /** Its abort ends the run at once. */
  signal: AbortSignal;
  onProgress: (progress: EvalRunProgress) => void;
}

/** Holds the calls of a run. */
export interface SuiteRunner {
  /** @throws the signal's reason, or the error that ended the run */
  run(job: SuiteJob, options: SuiteRunnerOptions): Promise<SuiteResult>;
}
