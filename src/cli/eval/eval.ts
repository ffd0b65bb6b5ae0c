import { availableParallelism } from 'node:os';
import { join, basename, dirname, relative } from 'node:path';
import { nowUnixMs, RealClock } from '../../base/real-clock.js';
import type { EvalAgent } from '../../eval/agent.js';
import { evalPrices } from '../../daemon/call-log/eval-prices.js';
import { htmlReport } from '../../eval/report/html-report.js';
import { junitReport } from '../../eval/report/junit-report.js';
import { textReport } from '../../eval/report/text-report.js';
import { runSuite } from '../../eval/run-suite.js';
import { loadSuite, type LoadedSuite } from '../../eval/suite/load-suite.js';
import { suiteJsonSchema, type EvalMode, type EvalSuite } from '../../eval/suite/suite-schema.js';
import {
  type CommandIo,
  defineCommand,
  type FlagOptions,
  type Flags,
  UsageError,
  numberOf,
} from '../shared/command.js';
import { atDesk, openDemoDesk, usesDemoDesk } from '../shared/demo-desk.js';
import { loadSettings } from '../../settings/load-settings.js';
import { SETTING_FLAGS, engineSettings } from '../shared/engine-settings.js';
import { openOutput } from '../shared/output-file.js';
import { ProgressBar } from '../shared/progress.js';
import { ThreadedCaseRunner } from './threads.js';
import { existsSync } from 'node:fs';
import { loadAgentFile } from '../../agent/agent-file.js';
import { ParleyError } from '../../base/errors.js';
import { AgentStore } from '../../store/agents.js';
import { databaseFile, openDatabase } from '../../store/database.js';
import { openSecretBox } from '../../store/secret-box.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';
import { SqliteLiveTables } from '../../store/sqlite/sqlite-live-tables.js';
import { readFile, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { decodeWav, encodeWav, type WavAudio } from '../../audio/files/wav.js';
import { CallFiles } from '../../daemon/call-log/call-files.js';
import { caseFromCall, cutSpeech, type RecordedSpeech, stretchOf } from '../../eval/from-call.js';
import { readLog } from '../../replay/read-log.js';
import { CallStore, type StoredCall } from '../../store/calls.js';
import { Engine } from '../../engine/engine.js';
import { generateSuite } from '../../eval/generate.js';
import { SCRIPTED_MODEL } from '../../settings/models.js';

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

function settingsOf(values: EvalFlags): Readonly<Record<string, string | undefined>> {
  return { config: values.config, 'llm-model': values['llm-model'] };
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
  flags: Readonly<Record<string, string | undefined>>,
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

/**
 * An agent by the path of its file, or by `ID[@VERSION]` in the data folder.
 * @throws ParleyError CONFIG_INVALID for a broken file, NOT_FOUND
 */
export async function findAgent(
  named: string,
  flags: Readonly<Record<string, string | undefined>>,
  io: Pick<CommandIo, 'env'>,
): Promise<EvalAgent> {
  if (existsSync(named) || /[/\\]|\.json$/.test(named)) {
    const { config, script, extensions } = await loadAgentFile(named);
    return { name: named, config, script, extensions, agentId: null };
  }
  const [id = '', version] = named.split('@');
  const { settings } = await loadSettings({ env: io.env, flags });
  const notFound = new ParleyError('NOT_FOUND', { what: 'agent', id: named });
  if (!existsSync(databaseFile(settings.dataDir))) throw notFound;
  const database = openDatabase(settings.dataDir);
  try {
    const box = openSecretBox(database, settings);
    const store = await AgentStore.open(new SqliteDatabase(database), new SqliteLiveTables(database), box);
    const current = store.get(id);
    if (current === null) throw notFound;
    const number = version === undefined ? current.version : Number(version);
    const found =
      number === current.version
        ? current
        : (await store.versions(id, { limit: 1, before: number + 1 })).find((one) => one.version === number);
    if (found === undefined) throw notFound;
    const { config, script, extensions } = found;
    return { name: `${id}@${String(number)}`, config, script: script ?? undefined, extensions, agentId: id };
  } finally {
    database.close();
  }
}

interface FromLogOptions {
  /** The suite's path; null = standard output. */
  out: string | null;
  /** The caller plays the recorded turns. */
  audio: boolean;
  /** Values of setting flags. */
  settings: Readonly<Record<string, string | undefined>>;
}

/**
 * A suite of one case made from a call of the call log, as YAML.
 * @throws ParleyError NOT_FOUND; UsageError for `audio` without a file or a recording
 */
export async function caseFromLog(id: string, options: FromLogOptions, io: Pick<CommandIo, 'env'>): Promise<string> {
  const { settings } = await loadSettings({ env: io.env, flags: options.settings });
  const call = findCall(id, settings.dataDir);
  const files = new CallFiles(settings.dataDir);
  const trace = files.traceOf(call.sessionId);
  const log = existsSync(trace) ? readLog(await readFile(trace, 'utf8')).entries : [];
  const audio = options.audio ? await turnsOf(files.recordingOf(call), options.out) : null;
  const made = caseFromCall(call.item, log, audio === null ? undefined : (speech, index) => audio.cut(speech, index));
  await audio?.write();
  const suite: EvalSuite = { name: `From call ${call.sessionId}`, cases: [made] };
  return stringify(suite, { lineWidth: 120 });
}

function findCall(id: string, dataDir: string): StoredCall {
  const notFound = new ParleyError('NOT_FOUND', { what: 'call', id });
  if (!existsSync(databaseFile(dataDir))) throw notFound;
  const database = openDatabase(dataDir);
  try {
    const store = new CallStore(database, () => 0);
    const found = store.get(id) ?? store.byCallId(id) ?? store.beginningWith(id, 1)[0];
    if (found === undefined) throw notFound;
    return found;
  } finally {
    database.close();
  }
}

/** Cuts turns out of a recording, the user's channel, into files beside the suite. */
async function turnsOf(recording: string | null, out: string | null): Promise<RecordedTurns> {
  if (out === null) throw new UsageError('--audio needs --out FILE: the turns are written beside it');
  if (recording === null) throw new UsageError('the call has no recording; leave --audio out');
  return new RecordedTurns(decodeWav(await readFile(recording), { channel: 0 }), out);
}

class RecordedTurns {
  readonly #audio: WavAudio;
  readonly #out: string;
  readonly #files = new Map<string, Int16Array>();

  constructor(audio: WavAudio, out: string) {
    this.#audio = audio;
    this.#out = out;
  }

  /** @returns the path of the turn's file, relative to the suite */
  cut(speech: RecordedSpeech, index: number): string {
    const { fromMs, toMs } = stretchOf(speech);
    const name = `${basename(this.#out).replace(/\.\w+$/, '')}-turn-${String(index + 1)}.wav`;
    this.#files.set(name, cutSpeech(this.#audio, fromMs, toMs));
    return name;
  }

  async write(): Promise<void> {
    for (const [name, samples] of this.#files) {
      await writeFile(join(dirname(this.#out), name), encodeWav(samples, this.#audio.sampleRateHz));
    }
  }
}

export interface GenerateFlags {
  /** Null = the operator's default model. */
  model: string | null;
  /** How many cases to propose; undefined = the usual number. */
  cases: number | undefined;
  /** Path of the suite; null = standard output. */
  out: string | null;
  /** Values of setting flags, by name without dashes. */
  settings: Readonly<Record<string, string | undefined>>;
}

/**
 * `parley eval generate`: writes a suite that a language model proposes for an agent, and names the proposals that it
 * leaves out.
 * @throws ParleyError CONFIG_INVALID where there is no language model, FILE_NOT_WRITABLE, or as `generateSuite`
 */
export async function generate(
  agent: EvalAgent,
  { model: named, cases, out, settings: flags }: GenerateFlags,
  io: Pick<CommandIo, 'env' | 'signal' | 'stdout' | 'stderr'>,
): Promise<number> {
  const { engine: options, detection } = await engineSettings(io, flags);
  const model = named ?? detection.defaults.llmModel;
  if (model === SCRIPTED_MODEL) throw new ParleyError('CONFIG_INVALID', { reason: NO_MODEL });
  const file = out === null ? null : await openOutput(out);
  const engine = new Engine(options);
  const bar = new ProgressBar(io.stderr, `cases by ${model}`);
  try {
    const { suite, text, dropped } = await generateSuite({
      agent: { name: await titleOf(agent), config: agent.config },
      agentPath: pathFrom(out, agent),
      model,
      count: cases,
      models: { clock: new RealClock(), complete: (request) => engine.complete(request) },
      onProgress: (share) => bar.update(share),
      signal: io.signal,
    });
    bar.clear();
    if (file === null) io.stdout.write(text);
    else await file.write(new TextEncoder().encode(text));
    for (const { name, reason } of dropped) io.stderr.write(`left out ${JSON.stringify(name)}: ${reason}\n`);
    if (out !== null) io.stderr.write(`${out}: ${String(suite.cases.length)} cases; read them before you run them\n`);
    return 0;
  } finally {
    bar.clear();
    await Promise.all([engine.close(), file?.close()]);
  }
}

const NO_MODEL =
  'proposing cases needs a language model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, run Ollama, or name one with --model';

/** The agent's own name where it is a file, else its id. */
async function titleOf({ name, agentId }: EvalAgent): Promise<string> {
  return agentId ?? (await loadAgentFile(name)).name;
}

/** The agent's file as seen from the suite; null = the agent is not a file. */
function pathFrom(out: string | null, { name, agentId }: EvalAgent): string | null {
  if (agentId !== null) return null;
  return out === null ? name : relative(dirname(out), name).replaceAll('\\', '/');
}
