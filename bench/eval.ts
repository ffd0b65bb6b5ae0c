/**
 * Test suites of agents: calls a minute, by mode and by how many run side by side, and the time and processor time of a
 * call.
 *
 *   npm run build && node bench/run.mjs eval [--suite=examples/restaurant/suite.yaml] [--only=booking] [--concurrency=1,2]
 *     [--rounds=3]
 *
 * Each figure is the median of the rounds; modes and concurrencies take turns. The calls are held by the embedded
 * engines, in virtual time, in as many threads as run side by side. Starting the threads and loading the engines counts.
 */
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { loadAgentFile } from '../dist/agent/agent-file.js';
import { ThreadedCaseRunner } from '../dist/cli/eval/threads.js';
import type { EvalAgent } from '../dist/eval/agent.js';
import { runSuite } from '../dist/eval/run-suite.js';
import { loadSuite } from '../dist/eval/suite/load-suite.js';
import type { EvalMode } from '../dist/eval/suite/suite-schema.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MODES: readonly EvalMode[] = ['text', 'voice'];

const { values } = parseArgs({
  options: {
    suite: { type: 'string', default: `${ROOT}examples/restaurant/suite.yaml` },
    only: { type: 'string', multiple: true, default: [] },
    concurrency: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '3' },
  },
});

interface Round {
  calls: number;
  tookMs: number;
  cpuMs: number;
  /** Length of the calls, together. */
  callMs: number;
  passed: boolean;
}

const loaded = await loadSuite(values.suite);
const path = `${loaded.folder}/${loaded.suite.agent ?? 'agent.json'}`;
const file = await loadAgentFile(path);
const agent: EvalAgent = { ...file, name: path, agentId: null };
const { signal } = new AbortController();
const widths = values.concurrency.split(',').map(Number);
const rounds = new Map<string, Round[]>();

console.log(`${machine()}\n`);
for (let round = 0; round < Number(values.rounds); round++) {
  for (const mode of MODES) {
    for (const width of widths) {
      const key = `${mode} ${String(width)}`;
      rounds.set(key, [...(rounds.get(key) ?? []), await play(mode, width)]);
    }
  }
}
const rows = [...rounds].map(([key, list]) => {
  const [mode = '', width = ''] = key.split(' ');
  const middle = (value: (round: Round) => number): number => quantile(list.map(value), 0.5);
  return [
    mode,
    width,
    String(list[0]?.calls ?? 0),
    middle(({ calls, tookMs }) => (calls / tookMs) * 60_000).toFixed(0),
    middle(({ callMs, tookMs }) => callMs / tookMs).toFixed(1),
    middle(({ cpuMs, calls }) => cpuMs / calls).toFixed(0),
    list.every(({ passed }) => passed) ? 'all' : 'not all',
  ];
});
console.log(
  markdownTable([
    ['mode', 'side by side', 'calls', 'calls a minute', 'times real time', 'processor ms a call', 'pass'],
    ...rows,
  ]),
);
console.log(`\n${machine()}`);

async function play(mode: EvalMode, concurrency: number): Promise<Round> {
  const data = { ...loaded, agents: [agent], flags: {}, allow: [], keep: null, env: process.env };
  const from = process.cpuUsage();
  const runner = new ThreadedCaseRunner(concurrency, data, signal);
  try {
    const result = await runSuite({
      ...loaded,
      agent,
      modes: [mode],
      only: values.only,
      concurrency,
      runner,
      startUnixMs: 0,
      signal,
    });
    const runs = result.cases.flatMap((one) => one.runs);
    const { user, system } = process.cpuUsage(from);
    return {
      calls: runs.length,
      tookMs: result.tookMs,
      cpuMs: (user + system) / 1000,
      callMs: runs.reduce((sum, { metrics }) => sum + metrics.durationMs, 0),
      passed: result.passed,
    };
  } finally {
    await runner.close();
  }
}
