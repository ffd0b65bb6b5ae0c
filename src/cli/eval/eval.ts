import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { loadAgentFile } from '../agent/agent-file.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { EvalAgent } from '../eval/agent.js';
import { textReport } from '../eval/report/text-report.js';
import { runSuite } from '../eval/run-suite.js';
import { loadSuite, type LoadedSuite } from '../eval/suite/load-suite.js';
import type { EvalMode } from '../eval/suite/suite-schema.js';
import { embeddingRoute } from '../settings/models.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';
import { engineSettings, SETTING_FLAGS } from './shared/engine-settings.js';
import { ProgressBar } from './shared/progress.js';
import { numberOf } from './shared/values.js';

const OPTIONS = {
  agent: { type: 'string' },
  against: { type: 'string' },
  mode: { type: 'string' },
  runs: { type: 'string' },
  only: { type: 'string', multiple: true, default: [] },
  concurrency: { type: 'string' },
  json: { type: 'boolean', default: false },
  keep: { type: 'string', default: 'failed' },
  out: { type: 'string', default: join('.parley', 'eval') },
  ...SETTING_FLAGS,
} satisfies FlagOptions;

export const evalCommand = defineCommand({
  help: `
Usage: parley eval SUITE [flags]

Runs a test suite against an agent: simulated callers hold whole calls with it, and each case checks what happened.

Flags:
  --agent FILE          agent file. Default: the suite's
  --mode MODE           text or voice (default: both)
  --config FILE         settings file (JSON), as for parley serve
  --llm-model ID        default language model, for agents that name none
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [path, ...others] = positionals;
    if (path === undefined || others.length > 0) throw new UsageError('expected one suite file');
    const loaded = await loadSuite(path);
    const { engine, settings } = await engineSettings(io, { config: values.config, 'llm-model': values['llm-model'] });
    const agent = await agentOf(values.agent, loaded);
    const bar = new ProgressBar(io.stderr, loaded.suite.name);
    const result = await runSuite({
      ...loaded,
      agent,
      against: values.against === undefined ? null : await agentFile(values.against),
      modes: modesOf(values.mode),
      runs: values.runs === undefined ? undefined : numberOf('--runs', values.runs, 1, 1000),
      only: values.only,
      concurrency:
        values.concurrency === undefined
          ? availableParallelism()
          : numberOf('--concurrency', values.concurrency, 1, 64),
      engine,
      embedding: embeddingRoute(settings),
      keep: values.keep === 'none' ? null : { folder: values.out, which: values.keep === 'all' ? 'all' : 'failed' },
      onRun: (_run, _one, { done, total }) => bar.update(done / total),
      startUnixMs: nowUnixMs(),
      signal: io.signal,
    });
    bar.clear();
    io.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `${textReport(result)}\n`);
    return result.passed ? 0 : 1;
  },
});

function modesOf(mode: string | undefined): readonly EvalMode[] | undefined {
  if (mode === undefined) return undefined;
  if (mode !== 'text' && mode !== 'voice') throw new UsageError('--mode must be text or voice');
  return [mode];
}

async function agentOf(named: string | undefined, { suite, folder }: LoadedSuite): Promise<EvalAgent> {
  if (named !== undefined) return agentFile(named);
  if (suite.agent === undefined) throw new UsageError('the suite names no agent: give one with --agent');
  return agentFile(join(folder, suite.agent));
}

async function agentFile(path: string): Promise<EvalAgent> {
  const { config, script, extensions } = await loadAgentFile(path);
  return { name: path, config, script, extensions, agentId: null };
}
