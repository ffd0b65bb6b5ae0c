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
import { type CommandIo, defineCommand, type FlagSet, UsageError, type Values } from '../shared/command.js';
import { atDesk, openDemoDesk, usesDemoDesk } from '../shared/demo-desk.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import { ALLOW, ENGINE, SETTINGS, settingsOf } from '../shared/flags.js';
import { openOutput } from '../shared/output-file.js';
import { ProgressBar } from '../shared/progress.js';
import { evalAgent } from './find-agent.js';
import { caseFromLog } from './from-log.js';
import { generate } from './generate.js';
import { ThreadedCaseRunner } from './threads.js';

const OUT = join('.parley', 'eval');
const AGENT = { value: 'AGENT', help: 'agent file, or ID[@VERSION] of an agent in the data folder' } as const;

const FLAGS = {
  agent: { ...AGENT, help: `${AGENT.help} (default: the suite's agent file)`, stream: 'in' },
  against: {
    value: 'AGENT',
    help: 'run a second agent over the same cases and seeds, and say what differs',
    stream: 'in',
  },
  mode: { choices: ['text', 'voice'], help: 'text: the caller types; voice: both speak (default: both)' },
  runs: {
    value: 'N',
    integer: [1, 1000],
    help: "run each case N times, with seeds of their own (default: the case's own, else 1)",
  },
  only: { value: 'NAME', help: 'only cases with this name or tag', repeatable: true },
  concurrency: { value: 'N', integer: [1, 64], help: 'calls side by side (default: one for each core)' },
  junit: { value: 'FILE', help: 'write the result as JUnit XML', stream: 'out' },
  html: { value: 'FILE', help: 'write the result as a page', stream: 'out' },
  json: { help: 'print the result as JSON' },
  keep: {
    choices: ['failed', 'all', 'none'],
    default: 'failed',
    help: 'event logs and recordings of which runs to keep',
  },
  out: { value: 'DIR', default: OUT, help: 'folder for what is kept' },
  ...ALLOW,
  ...ENGINE,
} as const satisfies FlagSet;

type EvalFlags = Values<typeof FLAGS>;

const SUITE_OUT = { value: 'FILE', default: '-', help: 'the suite to write', stream: 'out' } as const;

export const evalCommand = defineCommand({
  about: `
    Runs a test suite against an agent: simulated callers hold whole calls with it, by text and by voice, and every case
    checks what happened. Exit code 1 if a case fails. docs/evals.md describes suites.`,
  args: [{ name: 'SUITE', help: 'the suite, YAML or JSON', stream: 'in' }],
  flags: FLAGS,
  examples: [
    ['parley eval suite.yaml --agent agent.json --mode text', 'runs the cases by text'],
    ['parley eval suite.yaml --agent baker@7 --against baker@8', 'compares two versions'],
  ],
  run: ({ values, positionals: [suite = ''] }, io) => run(suite, values, io),
  actions: {
    'from-call': defineCommand({
      about: `
        Make a suite of one case from a call of the call log: the user's turns, the tools' results, what happened.`,
      args: [{ name: 'CALL_ID', help: 'a session id, its beginning, or a call id; `parley calls list` lists them' }],
      flags: {
        audio: {
          help: 'the caller plays the recorded turns, cut out into WAV files beside the file of --out',
        },
        out: SUITE_OUT,
        ...SETTINGS,
      },
      async run({ values, positionals: [id = ''] }, io) {
        const { audio, out } = values;
        const text = await caseFromLog(id, { out: out === '-' ? null : out, audio, settings: settingsOf(values) }, io);
        const output = await openOutput(out, io);
        await output.write(new TextEncoder().encode(text));
        await output.close();
        if (out !== '-') io.stderr.write(`${out}: made; edit what it expects, then: parley eval ${out} --agent FILE\n`);
        return 0;
      },
    }),
    generate: defineCommand({
      about: `
        Let a language model propose a suite from the agent's prompt and tools. Proposals that are not valid are named and
        left out. Read every case before you rely on it.`,
      flags: {
        agent: { ...AGENT, required: true, stream: 'in' },
        model: { value: 'ID', help: 'the model that proposes (default: the default language model)' },
        cases: { value: 'N', integer: [1, 200], help: 'how many cases (default: 10)' },
        out: SUITE_OUT,
        ...ENGINE,
      },
      async run({ values }, io) {
        const { model = null, cases, out } = values;
        const settings = settingsOf(values);
        const agent = await evalAgent(values.agent, settings, io);
        return generate(agent, { model, cases, out, settings }, io);
      },
    }),
    schema: defineCommand({
      about: `
        Print the JSON Schema of suites. An editor completes and checks a file whose \`$schema\` names it.`,
      run: async (_given, io) => {
        io.stdout.write(`${JSON.stringify(suiteJsonSchema(), null, 2)}\n`);
        return 0;
      },
    }),
  },
});

async function run(path: string, values: EvalFlags, io: CommandIo): Promise<number> {
  const found = await loadSuite(path);
  // Paths in a suite from standard input are relative to the working folder.
  const loaded = path === io.input ? { ...found, folder: process.cwd() } : found;
  const { runs, mode, concurrency = availableParallelism() } = values;
  const modes: readonly EvalMode[] | undefined = mode === undefined ? undefined : [mode];
  const keep = values.keep === 'none' ? null : { folder: values.out, which: values.keep };
  const junit = values.junit === undefined ? null : await openOutput(values.junit, io);
  const html = values.html === undefined ? null : await openOutput(values.html, io);
  const flags = settingsOf(values);
  const { settings } = await loadSettings({ env: io.env, flags });
  const agent = await agentOf(values.agent, loaded, flags, io);
  const against = values.against === undefined ? null : await evalAgent(values.against, flags, io);
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

async function agentOf(
  named: string | undefined,
  { suite, folder }: LoadedSuite,
  flags: SettingFlags,
  io: CommandIo,
): Promise<EvalAgent> {
  if (named !== undefined) return evalAgent(named, flags, io);
  if (suite.agent === undefined) throw new UsageError('the suite names no agent: give one with --agent');
  return evalAgent(join(folder, suite.agent), flags, io);
}
