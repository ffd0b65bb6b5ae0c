import { RealClock } from '../base/real-clock.js';
import type { EngineOptions } from '../engine/options.js';
import type { EvalAgent } from './agent.js';
import { LocalCaseRunner } from './case-runner.js';
import type { CaseResult } from './result.js';
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
  signal?: AbortSignal;
}

/**
 * Runs one case against an agent, such as in a test of vitest or jest: `expect(await evaluate(agent, case)).toMatchObject({
 * passed: true })`, or `assertPasses(await evaluate(…))` for the transcript in the error.
 * @param agent as `loadAgentFile` returns it
 * @throws InvalidConfigError for a case that is not valid; the signal's reason when it is aborted
 */
export async function evaluate(
  agent: Omit<EvalAgent, 'agentId'>,
  one: EvalCase,
  { mode = 'text', runs, concurrency, folder = '.', engine, signal }: EvaluateOptions = {},
): Promise<CaseResult> {
  const suite = parseSuite({ name: one.name, cases: [one] });
  const untilAborted = signal ?? new AbortController().signal;
  const agents = [{ ...agent, agentId: null }];
  const clock = new RealClock();
  const runner = new LocalCaseRunner({ suite, folder, agents, engine, signal: untilAborted }, clock);
  try {
    const { cases } = await runSuite({
      suite,
      folder,
      agent: { ...agent, agentId: null },
      modes: [mode],
      runs,
      concurrency,
      runner,
      startUnixMs: 0,
      signal: untilAborted,
    });
    return cases[0] as CaseResult;
  } finally {
    await runner.close();
  }
}
