import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LatencyRunOptions, runLatency } from '../benchmark/latency-run.js';
import { isLine, type LineName, LINES } from '../benchmark/lines.js';
import { type BenchmarkReport, machine, reportText } from '../benchmark/report.js';
import { INSTANT, PUBLISHED } from '../benchmark/provider-set.js';
import { readRecordings } from '../benchmark/recording.js';
import { reportPage } from '../benchmark/report-page.js';
import { RealClock } from '../base/real-clock.js';
import { VirtualClock } from '../base/virtual-clock.js';
import { loadAgentFile } from '../agent/agent-file.js';
import { defineCommand, type FlagOptions, type Flags, UsageError, numberOf } from './shared/command.js';
import { atDesk, openDemoDesk, usesDemoDesk } from './shared/demo-desk.js';
import { engineSettings } from './shared/engine-settings.js';
import { ProgressBar } from './shared/progress.js';

/** Doubles that replace the agent's providers. */
const DOUBLES = {
  instant: { times: INSTANT, about: 'doubles without latency for recogniser, model and voice: the engine alone' },
  published: { times: PUBLISHED, about: 'doubles with published latencies for recogniser, model and voice' },
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
Usage: parley bench --fixtures DIR --config FILE [flags]

Plays a folder of recordings to an agent and measures each response time, from the end of the user's speech to the first
frame of the answer, by stage. docs/benchmarks.md defines every figure.

Flags:
  --fixtures DIR        .wav files of a user, each with labels beside it (.json, .lab, .rttm). Without labels the VAD
                        finds the turns, split at silences of 1.5 s
  --config FILE         agent file: {name, config, script?, extensions?}
  --providers SET       own: the agent's providers (default); instant or published: doubles that recognise what the
                        labels say, without latency or with published latencies
  --speed SPEED         real: in real time (default), with any provider; max: in virtual time, with doubles and
                        embedded providers only
  --transport NAME      file (default), socket (the talk socket), rtp (G.711 over UDP) or webrtc. All but file need
                        --speed real; both ends of the line are on this machine
  --rounds N            play each recording N times (default 1)
  --seed N              seed of the doubles' latencies (default 1)
  --only TEXT           play only recordings whose names contain TEXT
  --out DIR             write results.json and results.html into DIR
  --json                print the results as JSON
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
        times: options.providers === 'own' ? undefined : DOUBLES[options.providers].times,
        engine: {
          ...engine,
          clock: options.virtual ? new VirtualClock() : new RealClock(),
          allowUrls: [...engine.allowUrls, ...(desk === null ? [] : [desk.url])],
        },
        rounds: options.rounds,
        seed: options.seed,
        line: options.line,
        signal: io.signal,
        onProgress: (share) => progress.update(share),
      });
      progress.clear();
      const heard = recordings.some(({ labels }) => labels === 'vad') ? ' The VAD found some of the turns.' : '';
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
  if (speed !== 'real' && speed !== 'max') throw new UsageError('--speed must be real or max');
  if (providers !== 'own' && providers !== 'instant' && providers !== 'published') {
    throw new UsageError('--providers must be own, instant or published');
  }
  if (!isLine(line)) throw new UsageError(`--transport must be one of ${LINES.join(', ')}`);
  if (line !== 'file' && speed === 'max') throw new UsageError(`--transport ${line} needs --speed real`);
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
