/** Answers of `/evals`, as far as the console needs them. */

export interface SuiteItem {
  id: string;
  agent_id: string | null;
  name: string;
  version: number;
  cases: number;
  changed_at: number;
  changed_by: string | null;
}

export interface Suite extends SuiteItem {
  text: string;
  suite: { cases: readonly { name: string; tags?: readonly string[] }[] };
}

export type EvalModeName = 'text' | 'voice';

export interface CaseFigures {
  name: string;
  mode: EvalModeName;
  passed: boolean;
  runs: number;
  passes: number;
  errors: number;
  pass_rate: { rate: number; low: number; high: number };
  needed: number;
  response_ms: number | null;
  cost: number | null;
}

export interface ProgressOfRun {
  status: 'queued' | 'running' | 'done' | 'canceled' | 'failed';
  reason: string | null;
  done: number;
  total: number;
  passed: number;
  failed: number;
}

export interface Run {
  id: string;
  suite_id: string;
  suite_version: number;
  agent_id: string;
  agent_version: number;
  mode: EvalModeName | null;
  runs: number | null;
  only: readonly string[] | null;
  against: { agent_id: string; agent_version: number } | null;
  status: ProgressOfRun['status'];
  reason: string | null;
  passed: boolean | null;
  progress: Omit<ProgressOfRun, 'status' | 'reason'>;
  cases: readonly CaseFigures[] | null;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}

export type ReportLine =
  | {
      type: 'caller';
      text: string;
      understood: string | null;
      start_ms: number;
      cut_off: boolean;
      response_ms: number | null;
    }
  | { type: 'agent'; text: string; start_ms: number; interrupted: boolean }
  | { type: 'keys'; by: 'caller' | 'agent'; keys: string; start_ms: number }
  | { type: 'tool'; name: string; arguments: string; ok: boolean; result: string; start_ms: number; mocked: boolean }
  | { type: 'transfer'; target: string; outcome: string; start_ms: number }
  | { type: 'end'; status: string; by: 'agent' | 'caller' | 'limit'; start_ms: number };

export interface ReportExpectation {
  kind: string;
  expected: string;
  outcome: 'pass' | 'fail' | 'error';
  reason: string;
  line: number | null;
  votes: readonly { verdict: 'pass' | 'fail' | 'error'; reason: string; quote: string }[];
}

/** What language models use beside the agent. */
export interface ReportUsage {
  prompt_tokens: number;
  completion_tokens: number;
  cost: number | null;
}

export interface ReportRun {
  run: number;
  seed: number;
  passed: boolean;
  error: string | null;
  session_id: string | null;
  expectations: readonly ReportExpectation[];
  lines: readonly ReportLine[];
  metrics: {
    duration_ms: number;
    response_ms: readonly number[];
    cost: number | null;
    persona: ReportUsage | null;
    judges: ReportUsage | null;
  };
}

export interface ReportCase {
  name: string;
  mode: EvalModeName;
  passed: boolean;
  passes: number;
  needed: number;
  pass_rate: CaseFigures['pass_rate'];
  runs: readonly ReportRun[];
}

export interface Report {
  agent: string;
  took_ms: number;
  passed: boolean;
  cases: readonly ReportCase[];
  comparison: {
    against: string;
    only_this: number;
    only_other: number;
    both: number;
    neither: number;
    p_value: number;
    cases: readonly {
      name: string;
      mode: EvalModeName;
      runs: number;
      passes: number;
      other_passes: number;
      response_ms: number | null;
      other_response_ms: number | null;
      differences: readonly string[];
    }[];
  } | null;
}

/** One version of an agent, as `/agents/{agent_id}/versions` has it. */
export interface ListedVersion {
  version: number;
  changed_at: number;
}

export function suitePath(id: string): string {
  return `/evals/suites/${encodeURIComponent(id)}`;
}

export function runPath(id: string): string {
  return `/evals/runs/${encodeURIComponent(id)}`;
}

/** The address of a run's page. */
export function runLink(id: string, caseName: string | null = null): string {
  const search = caseName === null ? '' : `?case=${encodeURIComponent(caseName)}`;
  return `#/evals/run/${encodeURIComponent(id)}${search}`;
}

/** How a run stands, in a word. */
export function runWord({ status, passed }: Pick<Run, 'status' | 'passed'>): string {
  if (status !== 'done') return status;
  return passed === true ? 'passed' : 'did not pass';
}

/** The class of the pill of a run. */
export function runPill({ status, passed }: Pick<Run, 'status' | 'passed'>): string {
  if (status === 'queued' || status === 'running') return 'running';
  if (status === 'canceled') return 'other';
  return status === 'done' && passed === true ? 'done' : 'failed';
}
