import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LatencyRunOptions, runLatency } from '../benchmark/latency-run.js';
import { isLine, type LineName, LINES } from '../benchmark/lines/registry.js';
import { type BenchmarkReport, machine, reportText } from '../benchmark/report.js';
import { INSTANT, PUBLISHED } from '../benchmark/provider-set.js';
import { readRecordings } from '../benchmark/recording.js';
import { reportPage } from '../benchmark/report-page.js';
import { VirtualClock } from '../base/virtual-clock.js';
import { loadAgentFile } from '../agent/agent-file.js';
import { defineCommand, type FlagOptions, type Flags, UsageError } from './shared/command.js';
import { atDesk, openDemoDesk, usesDemoDesk } from './shared/demo-desk.js';
import { engineSettings } from './shared/engine-settings.js';
import { ProgressBar } from './shared/progress.js';
import { numberOf } from './shared/values.js';

/** Replacements for the agent's own providers. */
const DOUBLES = {
  instant: { times: INSTANT, about: 'recogniser, model and voice are doubles that take no time: the engine alone' },
  published: { times: PUBLISHED, about: 'recogniser, model and voice are doubles with latencies that were published' },
};

const OPTIONS = {
  fixtures: { type: 'string' },
  config: { type: 'string' },
  providers: { type: 'string', default: 'own' },
  speed: { type: 'string', default: 'real' },
  transport: { type: 'string', default: 'file' },
  rounds: { type: 'string', default: '1' },
  seed: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
  out: { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const bench = defineCommand({
  help: `
parley bench --fixtures DIR --config agent.json [options]

Plays the recordings of a folder to an agent and measures how long each answer takes, from the end of the user's speech
to the first frame of the answer, by stage. docs/benchmarks.md defines every figure.

  --fixtures DIR    .wav files of a user, each with labels beside it (.json, .lab, .rttm); without labels the turns are
                    those that the VAD finds, split by silences of 1.5 s
  --config FILE     the agent: {name, config, script?, extensions?}
  --providers SET   own (default): the agent's; instant or published: doubles that know what the labels say is spoken
  --speed real      in real time (default), with any provider
  --speed max       in virtual time: doubles and embedded providers only
  --transport LINE  file (default); in real time also socket (the talk socket), rtp (a call's G.711 over UDP) or webrtc:
                    the answer's first frame is waited for at the other end of it, on this machine
  --rounds N        play each recording N times; default 1
  --seed N          what the latencies of doubles are drawn from; default 1
  --only TEXT       recordings whose name has this in it
  --out DIR         write results.json and results.html there
  --json            print the results as JSON
`,
  options: OPTIONS,
  async run(flags, io) {
    const options = readOptions(flags);
    const file = await loadAgentFile(options.config);
    const { only } = options;
    const recordings = await readRecordings(options.fixtures, (name) => name.includes(only));
    const { engine } = await engineSettings(io);
    const desk = usesDemoDesk(file.config) ? await openDemoDesk() : null;
    const progress = new ProgressBar(io.stderr, 'playing');
    try {
      const run = await runLatency({
        recordings,
        agent: atDesk(file.config, desk),
        script: options.providers === 'own' ? file.script : undefined,
        ...(options.providers !== 'own' && { times: DOUBLES[options.providers].times }),
        engine: {
          ...engine,
          ...(options.virtual && { clock: new VirtualClock() }),
          allowUrls: [...engine.allowUrls, ...(desk === null ? [] : [desk.url])],
        },
        rounds: options.rounds,
        seed: options.seed,
        line: options.line,
        signal: io.signal,
        onProgress: (share) => progress.update(share),
      });
      progress.clear();
      const heard = recordings.some(({ labels }) => labels === 'vad') ? ' Some turns end where the VAD says.' : '';
      const about = options.providers === 'own' ? "the agent's own providers" : DOUBLES[options.providers].about;
      const report: BenchmarkReport = {
        title: `Response time of ${file.name}`,
        time: new Date().toISOString(),
        machine: machine(),
        runs: [
          {
            ...run,
            name: options.providers,
            about: `${about}, in ${options.virtual ? 'virtual' : 'real'} time, line: ${options.line}.${heard}`,
          },
        ],
      };
      if (options.out !== null) await write(options.out, report);
      io.stdout.write(options.json ? `${JSON.stringify(report)}\n` : text(report));
      return run.summary.answered === 0 ? 1 : 0;
    } finally {
      progress.clear();
      await desk?.close();
    }
  },
});

interface BenchOptions {
  fixtures: string;
  config: string;
  providers: 'own' | keyof typeof DOUBLES;
  virtual: boolean;
  line: LineName;
  rounds: NonNullable<LatencyRunOptions['rounds']>;
  seed: number;
  only: string;
  out: string | null;
  json: boolean;
}

function readOptions({ values }: Flags<typeof OPTIONS>): BenchOptions {
  const { fixtures, config, providers, speed, transport: line } = values;
  if (fixtures === undefined) throw new UsageError('--fixtures is missing');
  if (config === undefined) throw new UsageError('--config is missing');
  if (speed !== 'real' && speed !== 'max') throw new UsageError('--speed is real or max');
  if (providers !== 'own' && providers !== 'instant' && providers !== 'published') {
    throw new UsageError('--providers is own, instant or published');
  }
  if (!isLine(line)) throw new UsageError(`--transport is one of ${LINES.join(', ')}`);
  if (line !== 'file' && speed === 'max') throw new UsageError('--transport: only file does without real time');
  return {
    fixtures,
    config,
    providers,
    line,
    virtual: speed === 'max',
    only: values.only,
    json: values.json,
    rounds: numberOf('--rounds', values.rounds, 1, 10_000),
    seed: numberOf('--seed', values.seed, 0, 2 ** 31),
    out: values.out ?? null,
  };
}

async function write(folder: string, report: BenchmarkReport): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'results.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, 'results.html'), reportPage(report));
}

function text({ machine: on, runs }: BenchmarkReport): string {
  const faults = runs.flatMap(({ faults: found }) => Object.entries(found));
  return [reportText(runs), ...faults.map(([name, count]) => `fault: ${name} ×${String(count)}`), `${on}\n`].join('\n');
}
