import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { nowUnixMs } from '../../base/real-clock.js';
import type { EvalAgent } from '../../eval/agent.js';
import { evalPrices } from '../../daemon/call-log/eval-prices.js';
import { htmlReport } from '../../eval/report/html-report.js';
import { junitReport } from '../../eval/report/junit-report.js';
import { textReport } from '../../eval/report/text-report.js';
import { runSuite } from '../../eval/run-suite.js';
import { loadSuite, type LoadedSuite } from '../../eval/suite/load-suite.js';
import { type EvalMode, suiteJsonSchema } from '../../eval/suite/suite-schema.js';
import {
  type CommandIo,
  defineCommand,
  type FlagOptions,
  type Flags,
  UsageError,
  numberOf,
} from '../shared/command.js';
import { atDesk, openDemoDesk, usesDemoDesk } from '../shared/demo-desk.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import { SETTING_FLAGS } from '../shared/engine-settings.js';
import { openOutput } from '../shared/output-file.js';
import { ProgressBar } from '../shared/progress.js';
import { findAgent } from './find-agent.js';
import { caseFromLog } from './from-log.js';
import { generate } from './generate.js';
import { ThreadedCaseRunner } from './threads.js';

const OUT = join('.parley', 'eval');
const OPTIONS = {
  agent: { type: 'string' },
  against: { type: 'string' },
  mode: { type: 'string' },
  runs: { type: 'string' },
  only: { type: 'string', multiple: true, default: [] },
  concurrency: { type: 'string' },
  junit: { type: 'string' },
  html: { type: 'string' },
  json: { type: 'boolean', default: false },
  keep: { type: 'string', default: 'failed' },
  out: { type: 'string' },
  audio: { type: 'boolean', default: false },
  model: { type: 'string' },
  cases: { type: 'string' },
  allow: { type: 'string', multiple: true, default: [] },
  ...SETTING_FLAGS,
} satisfies FlagOptions;

type EvalFlags = Flags<typeof OPTIONS>['values'];

export const evalCommand = defineCommand({
  help: `
Usage: parley eval SUITE [flags]
       parley eval from-call CALL_ID [--audio] [--out FILE]
       parley eval generate --agent AGENT [--model ID] [--cases N] [--out FILE]
       parley eval schema

Runs a test suite against an agent: simulated callers hold whole calls with it, by text and by voice, and every case
checks what happened. Exit code 1 if a case fails. docs/evals.md describes suites.

Actions:
  from-call  Make a suite of one case from a call of the call log: the user's turns, the tools' results, what happened.
             CALL_ID is a session id, its beginning, or a call id.
  generate   Let a language model propose a suite from the agent's prompt and tools. Proposals that are not valid are
             named and left out. Read every case before you rely on it.
  schema     Print the JSON Schema of suites. An editor completes and checks a file whose \`$schema\` names it.

Flags:
  --agent AGENT         agent file, or ID[@VERSION] of an agent in the data folder (default: the suite's agent file)
  --against AGENT       run a second agent over the same cases and seeds, and say what differs
  --mode MODE           text: the caller types; voice: both speak (default: both)
  --runs N              run each case N times, with seeds of their own (default: the case's own, else 1)
  --only NAME           only cases with this name or tag (repeatable)
  --concurrency N       calls side by side (default: one for each core)
  --junit FILE          write the result as JUnit XML
  --html FILE           write the result as a page
  --json                print the result as JSON
  --keep WHICH          event logs and recordings of which runs to keep: failed (default), all or none
  --out PATH            folder for what is kept (default: ${OUT}); of from-call and generate: the file to write (default: standard output)
  --model ID            generate: the model that proposes (default: the default language model)
  --cases N             generate: how many cases (default: 10)
  --audio               from-call: the caller plays the recorded turns, cut out into WAV files beside the file of --out
  --allow URL           private address that the agent may call (repeatable)
  --config FILE         settings file (JSON), as for parley serve
  --llm-model ID        default language model, for agents that name none
  --plugin FILE         functions, providers and more of your own (repeatable)
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [first, second, ...others] = positionals;
    const isAction = first === 'from-call' || first === 'generate' || first === 'schema';
    if (first === undefined || others.length > 0 || (second !== undefined && first !== 'from-call')) {
      throw new UsageError('expected one suite file');
    }
    if (!isAction) return run(first, values, io);
    if (first === 'generate') return proposed(values, io);
    if (first === 'schema') {
      io.stdout.write(`${JSON.stringify(suiteJsonSchema(), null, 2)}\n`);
      return 0;
    }
    if (second === undefined)
      throw new UsageError('the call to make a case from is missing; `parley calls list` lists them');
    const text = await caseFromLog(
      second,
      { out: values.out ?? null, audio: values.audio, settings: settingsOf(values) },
      io,
    );
    await write(values.out, text, io);
    return 0;
  },
});

async function proposed(values: EvalFlags, io: CommandIo): Promise<number> {
  if (values.agent === undefined) throw new UsageError('name the agent with --agent');
  const cases = values.cases === undefined ? undefined : numberOf('--cases', values.cases, 1, 200);
  const settings = settingsOf(values);
  const agent = await findAgent(values.agent, settings, io);
  return generate(agent, { model: values.model ?? null, cases, out: values.out ?? null, settings }, io);
}

async function run(path: string, values: EvalFlags, io: CommandIo): Promise<number> {
  const loaded = await loadSuite(path);
  const runs = values.runs === undefined ? undefined : numberOf('--runs', values.runs, 1, 1000);
  const modes = modesOf(values.mode);
  const concurrency =
    values.concurrency === undefined ? availableParallelism() : numberOf('--concurrency', values.concurrency, 1, 64);
  const keep = keepOf(values);
  const junit = values.junit === undefined ? null : await openOutput(values.junit);
  const html = values.html === undefined ? null : await openOutput(values.html);
  const flags = settingsOf(values);
  const { settings } = await loadSettings({ env: io.env, flags });
  const agent = await agentOf(values.agent, loaded, flags, io);
  const against = values.against === undefined ? null : await findAgent(values.against, flags, io);
  const agents = against === null ? [agent] : [agent, against];
  const desk = agents.some(({ config }) => usesDemoDesk(config)) ? await openDemoDesk() : null;
  const seated = agents.map((one): EvalAgent => ({ ...one, config: atDesk(one.config, desk) }));
  const allow = [...values.allow, ...(desk === null ? [] : [desk.url])];
  const threads = Math.min(concurrency, availableParallelism());
  const runner = new ThreadedCaseRunner(
    threads,
    { ...loaded, agents: seated, flags, allow, keep, env: { ...io.env } },
    io.signal,
  );
  const bar = new ProgressBar(io.stderr, loaded.suite.name);
  try {
    const result = await runSuite({
      ...loaded,
      agent,
      against,
      modes,
      runs,
      only: values.only,
      concurrency,
      runner,
      onRun: (_run, _one, { done, total }) => bar.update(done / total),
      prices: evalPrices(settings.prices, () => 1),
      startUnixMs: nowUnixMs(),
      signal: io.signal,
    });
    bar.clear();
    io.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `${textReport(result)}\n`);
    await junit?.write(new TextEncoder().encode(junitReport(result)));
    await html?.write(new TextEncoder().encode(htmlReport(result)));
    return result.passed ? 0 : 1;
  } finally {
    bar.clear();
    await Promise.all([runner.close(), desk?.close(), junit?.close(), html?.close()]);
  }
}

function settingsOf(values: EvalFlags): SettingFlags {
  return { config: values.config, 'llm-model': values['llm-model'], plugins: values.plugin };
}

function modesOf(mode: string | undefined): readonly EvalMode[] | undefined {
  if (mode === undefined) return undefined;
  if (mode !== 'text' && mode !== 'voice') throw new UsageError('--mode must be text or voice');
  return [mode];
}

function keepOf({ keep, out }: EvalFlags): { folder: string; which: 'failed' | 'all' } | null {
  if (keep === 'none') return null;
  if (keep !== 'failed' && keep !== 'all') throw new UsageError('--keep must be failed, all or none');
  return { folder: out ?? OUT, which: keep };
}

async function agentOf(
  named: string | undefined,
  { suite, folder }: LoadedSuite,
  flags: SettingFlags,
  io: CommandIo,
): Promise<EvalAgent> {
  if (named !== undefined) return findAgent(named, flags, io);
  if (suite.agent === undefined) throw new UsageError('the suite names no agent: give one with --agent');
  return findAgent(join(folder, suite.agent), flags, io);
}

async function write(path: string | undefined, text: string, io: CommandIo): Promise<void> {
  if (path === undefined) {
    io.stdout.write(text);
    return;
  }
  const output = await openOutput(path);
  await output.write(new TextEncoder().encode(text));
  await output.close();
  io.stderr.write(`${path}: made; edit what it expects, then: parley eval ${path} --agent FILE\n`);
}
