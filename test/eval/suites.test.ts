import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { ThreadedCaseRunner } from '../../src/cli/eval/threads.js';
import type { CaseResult, SuiteResult } from '../../src/eval/result.js';
import { caseReport } from '../../src/eval/report/text-report.js';
import { runSuite } from '../../src/eval/run-suite.js';
import { loadSuite } from '../../src/eval/suite/load-suite.js';
import type { EvalMode } from '../../src/eval/suite/suite-schema.js';
import { packageFile } from '../../src/package-files.js';

/** The suites of the example agents, with the embedded engines, on two threads of the build. */
const AGENTS = ['restaurant', 'appointments', 'survey'];
const THREADS = 2;
/** On a busy machine; alone, a suite takes about 30 s by voice. */
const LIMIT_MS = 600_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-suites-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Selection {
  modes: readonly EvalMode[];
  only?: readonly string[];
  /** Folder for the event logs and recordings of all calls. */
  keepIn?: string;
}

async function run(name: string, { modes, only, keepIn }: Selection): Promise<SuiteResult> {
  const pathOf = (file: string): string => fileURLToPath(packageFile(`examples/${name}/${file}`));
  const loaded = await loadSuite(pathOf('suite.yaml'));
  const agent = { ...(await loadAgentFile(pathOf('agent.json'))), name, agentId: null };
  const signal = AbortSignal.timeout(LIMIT_MS);
  const keep = keepIn === undefined ? null : { folder: keepIn, which: 'all' as const };
  const runner = new ThreadedCaseRunner(
    THREADS,
    { ...loaded, agents: [agent], env: {}, flags: {}, allow: [], keep },
    signal,
  );
  try {
    return await runSuite({ ...loaded, agent, modes, only, runner, concurrency: THREADS, startUnixMs: 0, signal });
  } finally {
    await runner.close();
  }
}

function failuresOf({ cases }: SuiteResult): string {
  return cases
    .filter(({ passed }) => !passed)
    .map((one) => caseReport(one))
    .join('\n');
}

describe.each(AGENTS)('the suite of %s', (name) => {
  it('has 25 cases or more, most of them by text and by voice', async () => {
    const { suite } = await loadSuite(fileURLToPath(packageFile(`examples/${name}/suite.yaml`)));
    expect(suite.cases.length).toBeGreaterThanOrEqual(25);
    expect(suite.cases.filter(({ modes }) => modes === undefined).length).toBeGreaterThanOrEqual(18);
  });

  it.each<EvalMode>(['text', 'voice'])(
    'passes by %s',
    async (mode) => {
      const result = await run(name, { modes: [mode] });
      expect(failuresOf(result)).toBe('');
      expect(result.cases.length).toBeGreaterThanOrEqual(20);
      expect(result.passed).toBe(true);
    },
    LIMIT_MS,
  );
});

/** All of a result that is to be the same; files by their content. */
async function contentOf({ cases }: SuiteResult): Promise<string> {
  const contents = cases.map(async (one: CaseResult) => {
    const runs = one.runs.map(async ({ recording, trace, ...rest }) => {
      const files = [recording, trace].filter((path) => path !== null);
      return [rest, ...(await Promise.all(files.map((path) => readFile(path, 'base64'))))];
    });
    return [one.name, one.mode, ...(await Promise.all(runs))];
  });
  return JSON.stringify(await Promise.all(contents));
}

it(
  'the same seeds give the same calls, recordings and event logs twice, to the bit',
  async () => {
    const only = ['line', 'persona', 'smoke'];
    for (const modes of [['text'], ['voice']] as const) {
      const cases = modes[0] === 'text' ? only : ['books over a noisy line', 'books a table in one sentence'];
      const first = await run('restaurant', { modes, only: cases, keepIn: join(folder, `${modes[0]}-1`) });
      const second = await run('restaurant', { modes, only: cases, keepIn: join(folder, `${modes[0]}-2`) });
      expect(first.cases.flatMap(({ runs }) => runs.map(({ trace }) => trace))).not.toContain(null);
      expect(await contentOf(second)).toBe(await contentOf(first));
    }
  },
  LIMIT_MS,
);
