import { parentPort, workerData } from 'node:worker_threads';
import type { SettingFlags } from '../../settings/load-settings.js';
import { evalPrices } from '../../daemon/call-log/eval-prices.js';
import { RealClock } from '../../base/real-clock.js';
import type { EvalAgent } from '../../eval/agent.js';
import { type EvalJob, LocalCaseRunner } from '../../eval/case-runner.js';
import type { CaseRun } from '../../eval/result.js';
import type { RunContext } from '../../eval/run-case.js';
import type { LoadedSuite } from '../../eval/suite/load-suite.js';
import { embeddingRoute } from '../../settings/models.js';
import type { CommandIo } from '../shared/command.js';
import { engineSettings } from '../shared/engine-settings.js';

/** What a thread needs to hold the calls of a suite. */
export interface EvalWorkerData extends LoadedSuite {
  agents: readonly EvalAgent[];
  /** Values of setting flags. */
  flags: SettingFlags;
  allow: readonly string[];
  env: CommandIo['env'];
  keep: RunContext['keep'];
}

export interface EvalRequest {
  id: number;
  job: EvalJob;
}

export interface EvalReply {
  id: number;
  run: CaseRun;
}

const { flags, allow, env, ...data } = workerData as EvalWorkerData;
// The main thread ends this one: nothing here outlives it.
const { signal } = new AbortController();
const { engine, settings } = await engineSettings({ env, signal }, flags);
const options = {
  ...data,
  engine: { ...engine, allowUrls: [...engine.allowUrls, ...allow] },
  embedding: embeddingRoute(settings),
  // Custom voices, which have a price factor, are the daemon's.
  prices: evalPrices(settings.prices, () => 1),
  signal,
};
const runner = new LocalCaseRunner(options, new RealClock());
parentPort?.on('message', ({ id, job }: EvalRequest) => {
  void runner.run(job).then((run) => parentPort?.postMessage({ id, run } satisfies EvalReply));
});
