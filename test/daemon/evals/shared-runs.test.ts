import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nowUnixMs, RealClock } from '../../../src/base/real-clock.js';
import { EvalFiles } from '../../../src/daemon/evals/eval-files.js';
import { EvalRuns, type EvalRunRequest } from '../../../src/daemon/evals/eval-runs.js';
import { EvalSuites } from '../../../src/daemon/evals/eval-suites.js';
import { CallFiles } from '../../../src/daemon/files/call-files.js';
import { DEFAULT_EVALS } from '../../../src/settings/setting-groups.js';
import { EvalRunStore, type StoredEvalRun } from '../../../src/store/eval-runs.js';
import { EvalSuiteStore } from '../../../src/store/eval-suites.js';
import { SecretBox } from '../../../src/store/secret-box.js';
import { sql } from '../../../src/store/sql/statement.js';
import { backends, isPostgresInstalled, type TestDatabase } from '../../store/support/backends.js';
import { caseResult, caseRun, suiteResult, TestRunner } from './runner.js';

const REQUEST: EvalRunRequest = {
  suiteId: 'bread',
  agentId: 'baker',
  agentVersion: 1,
  mode: 'text',
  runs: null,
  only: null,
  against: null,
  webhook: null,
};
const SUITE = { name: 'Bread', cases: [{ name: 'asks', caller: { script: [] }, expect: [] }] };
/** Nodes look at the queue every 5 s. */
const WITHIN = { timeout: 15_000, interval: 20 };

describe.runIf(isPostgresInstalled)('runs of nodes that share a database', { timeout: 30_000 }, () => {
  let opened: TestDatabase;
  let folder: string;
  const nodes: EvalRuns[] = [];
  const faults: Error[] = [];

  beforeEach(async () => {
    const postgres = backends.find(({ name }) => name === 'PostgreSQL');
    if (postgres === undefined) throw new Error('PostgreSQL is installed');
    opened = await postgres.open();
    folder = mkdtempSync(join(tmpdir(), 'parley-runs-'));
    await opened.database.run(sql`INSERT INTO agents (id, created_at, version) VALUES ('baker', 1, 1)`);
    const times = { createdAt: 1, changedAt: 1 };
    const suite = { id: 'bread', agentId: 'baker', version: 1, name: 'Bread', text: '', changedBy: null, ...times };
    await new EvalSuiteStore(opened.database).add({ ...suite, suite: JSON.stringify(SUITE) });
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((runs) => runs.close()));
    await opened.remove();
    rmSync(folder, { recursive: true });
    expect(faults.splice(0)).toEqual([]);
  });

  function node(id: string): { runs: EvalRuns; runner: TestRunner } {
    const { database } = opened;
    const runner = new TestRunner();
    const agents = {
      stored: () => ({ id: 'baker', version: 1 }) as never,
      version: async () => ({ id: 'baker', config: {}, script: undefined, extensions: null }) as never,
    };
    const dataDir = join(folder, id);
    const runs = new EvalRuns({
      agents,
      runner,
      store: new EvalRunStore(database, new SecretBox(Buffer.alloc(32), [])),
      suites: new EvalSuites({ agents, store: new EvalSuiteStore(database), nowUnixMs }),
      files: new EvalFiles(dataDir, new CallFiles(dataDir)),
      recordingOf: async () => null,
      settings: { ...DEFAULT_EVALS, runs: 1 },
      traces: false,
      prices: {},
      multiplierOf: () => 1,
      clock: new RealClock(),
      nowUnixMs,
      admission: { enter: () => undefined, isOpen: true },
      report: function* () {
        // No run has a webhook.
      },
      reported: () => undefined,
      node: { id },
      onError: (error) => void faults.push(error),
    });
    nodes.push(runs);
    return { runs, runner };
  }

  it('are taken by the node that has room, shown by every node and ended from each', async () => {
    const [one, other] = [node('one'), node('other')];
    one.runs.resume();
    const [first, second] = [await one.runs.start(REQUEST), await one.runs.start(REQUEST)];
    expect([first.status, second.status]).toEqual(['running', 'queued']);
    other.runs.resume();
    const held = await other.runner.job(0);

    const states: (StoredEvalRun | null)[] = [];
    const stop = one.runs.watch(second.id, (run) => void states.push(run));
    held.onProgress({ done: 1, total: 2, passed: 1, failed: 0 });
    await vi.waitUntil(() => states.some((run) => run?.progress.done === 1), WITHIN);
    expect(await one.runs.get(second.id)).toMatchObject({ status: 'running', progress: { done: 1, total: 2 } });
    expect(await one.runs.cancel(second.id)).toMatchObject({ status: 'canceled', progress: { done: 1 } });
    expect(held.signal.aborted).toBe(true);
    await vi.waitUntil(() => states.at(-1)?.status === 'canceled', WITHIN);
    stop();

    (await one.runner.job(0)).resolve(suiteResult([caseResult('asks', [caseRun(0)])]));
    await vi.waitUntil(async () => (await other.runs.get(first.id)).status === 'done', WITHIN);
    expect(await other.runs.result(first.id)).toMatchObject({ suite: 'Bread', passed: true });
    expect([one.runner.held.length, other.runner.held.length]).toEqual([1, 1]);
  });

  it('fail when their node has died, and a node that lives all the same ends its own', async () => {
    const [one, other] = [node('one'), node('other')];
    one.runs.resume();
    const { id } = await one.runs.start(REQUEST);
    const held = await one.runner.job(0);
    await other.runs.takeOver('one');
    await other.runs.takeOver('one');
    expect(await other.runs.get(id)).toMatchObject({ status: 'failed', reason: 'The daemon stopped during the run.' });
    await vi.waitUntil(() => held.signal.aborted, WITHIN);
    expect(await one.runs.get(id)).toMatchObject({ status: 'failed' });
  });
});
