import type { EngineOptions } from '../engine/options.js';
import type { EmbeddingRoute } from '../tools/knowledge/embeddings.js';
import type { EvalAgent } from './agent.js';
import type { CaseResult } from './result.js';
import { caseReport } from './report/text-report.js';
import { runSuite } from './run-suite.js';
import { parseSuite } from './suite/load-suite.js';
import type { EvalCase, EvalMode } from './suite/suite-schema.js';

export interface EvaluateOptions {
  /** Default `text`. */
  mode?: EvalMode;
  /** Replaces the case's own. */
  runs?: number;
  /** Calls side by side. Default 1. */
  concurrency?: number;
  /** Paths of recordings and checks are relative to it. Default the working folder. */
  folder?: string;
  /** Default: the embedded providers. */
  engine?: EngineOptions;
  /** The embedding model of `said_like`. Default none. */
  embedding?: EmbeddingRoute;
  signal?: AbortSignal;
}

/**
 * Runs one case against an agent, such as in a test of vitest or jest: `assertPasses(await evaluate(agent, case))`.
 * @param agent as `loadAgentFile` returns it
 * @throws InvalidConfigError for a case that is not valid; the signal's reason when it is aborted
 */
export async function evaluate(
  agent: Omit<EvalAgent, 'agentId'>,
  one: EvalCase,
  { mode = 'text', runs, concurrency, folder = '.', engine, embedding, signal }: EvaluateOptions = {},
): Promise<CaseResult> {
  const suite = parseSuite({ name: one.name, cases: [one] });
  const { cases } = await runSuite({
    suite,
    folder,
    agent: { ...agent, agentId: null },
    modes: [mode],
    runs,
    concurrency,
    engine,
    embedding,
    startUnixMs: 0,
    signal: signal ?? new AbortController().signal,
  });
  return cases[0] as CaseResult;
}

/**
 * Throws where a case fails, with the transcript and the reasons in the message.
 * @throws Error
 */
export function assertPasses(result: CaseResult): void {
  if (!result.passed) throw new Error(`the case fails\n${caseReport(result)}`);
}

/**
 * Matchers for vitest and jest: `expect.extend(evalMatchers)`, then `expect(await evaluate(agent, case)).toPassEval()`.
 */
export const evalMatchers = {
  toPassEval(result: CaseResult): { pass: boolean; message: () => string } {
    return { pass: result.passed, message: () => caseReport(result) };
  },
};
