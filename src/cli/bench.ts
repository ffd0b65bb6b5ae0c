import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runLatency } from '../benchmark/latency-run.js';
import { LINES } from '../benchmark/lines.js';
import { type BenchmarkReport, machine, reportText } from '../benchmark/report.js';
import { INSTANT, PUBLISHED } from '../benchmark/provider-set.js';
import { readRecordings } from '../benchmark/recording.js';
import { reportPage } from '../benchmark/report-page.js';
import { RealClock } from '../base/real-clock.js';
import { VirtualClock } from '../base/virtual-clock.js';
import { loadAgentFile } from '../agent/agent-file.js';
import { defineCommand, UsageError } from './shared/command.js';
import { atDesk, openDemoDesk, usesDemoDesk } from './shared/demo-desk.js';
import { engineSettings } from './shared/engine-settings.js';
import { ENGINE, settingsOf } from './shared/flags.js';
import { ProgressBar } from './shared/progress.js';

/** Doubles that replace the agent's providers. */
const DOUBLES = {
  instant: { times: INSTANT, about: 'doubles without latency for recogniser, model and voice: the engine alone' },
  published: { times: PUBLISHED, about: 'doubles with published latencies for recogniser, model and voice' },
};

export const bench = defineCommand({
  about: `
    Plays a folder of recordings to an agent and measures each response time, from the end of the user's speech to the
    first frame of the answer, by stage. docs/benchmarks.md defines every figure.`,
  flags: {
    fixtures: {
      value: 'DIR',
      required: true,
      help: 'recordings of a user (WAV; MP3, Ogg, FLAC and M4A need ffmpeg), each with labels beside it (.json, .lab, .rttm). Without labels the VAD finds the turns, split at silences of 1.5 s',
    },
    agent: { value: 'FILE', help: 'agent file: {name, config, script?, extensions?}', stream: 'in' },
    ...ENGINE,
    config: {
      value: 'FILE',
      help: 'settings file (JSON), as for parley serve; without --agent, the agent file, as in earlier releases',
      stream: 'in',
    },
    providers: {
      choices: ['own', 'instant', 'published'],
      default: 'own',
      help: "own: the agent's providers; instant or published: doubles that recognise what the labels say, without latency or with published latencies",
    },
    speed: {
      choices: ['real', 'max'],
      default: 'real',
      help: 'real: in real time, with any provider; max: in virtual time, with doubles and embedded providers only',
    },
    transport: {
      choices: LINES,
      default: 'file',
      help: 'the line: a file, the talk socket, G.711 over UDP, or WebRTC. All but file need --speed real; both ends are on this machine',
    },
    rounds: { value: 'N', integer: [1, 10_000], default: 1, help: 'play each recording N times' },
    seed: { value: 'N', integer: [0, 2 ** 31], default: 1, help: "seed of the doubles' latencies" },
    only: { value: 'TEXT', default: '', help: 'play only recordings whose names contain TEXT' },
    out: { value: 'DIR', help: 'write results.json and results.html into DIR' },
    json: { help: 'print the results as JSON' },
  },
  examples: [
    [
      'parley bench --fixtures recordings --agent agent.json --providers published --speed max',
      'compares settings in seconds',
    ],
  ],
  async run({ values }, io) {
    const { only, providers, transport: line, speed, out } = values;
    const virtual = speed === 'max';
    if (line !== 'file' && virtual) throw new UsageError(`--transport ${line} needs --speed real`);
    const agentPath = values.agent ?? values.config;
    if (agentPath === undefined) throw new UsageError('--agent is missing');
    const config = values.agent === undefined ? undefined : values.config;
    const file = await loadAgentFile(agentPath);
    const recordings = await readRecordings(values.fixtures, (name) => name.includes(only));
    const { engine } = await engineSettings(io, settingsOf({ ...values, config }));
    const desk = usesDemoDesk(file.config) ? await openDemoDesk() : null;
    const progress = new ProgressBar(io.stderr, 'playing');
    try {
      const run = await runLatency({
        recordings,
        agent: atDesk(file.config, desk),
        script: providers === 'own' ? file.script : undefined,
        times: providers === 'own' ? undefined : DOUBLES[providers].times,
        engine: {
          ...engine,
          clock: virtual ? new VirtualClock() : new RealClock(),
          allowUrls: [...engine.allowUrls, ...(desk === null ? [] : [desk.url])],
        },
        rounds: values.rounds,
        seed: values.seed,
        line,
        signal: io.signal,
        onProgress: (share) => progress.update(share),
      });
      progress.clear();
      const heard = recordings.some(({ labels }) => labels === 'vad') ? ' The VAD found some of the turns.' : '';
      const about = providers === 'own' ? "the agent's own providers" : DOUBLES[providers].about;
      const report: BenchmarkReport = {
        title: `Response time of ${file.name}`,
        time: new Date().toISOString(),
        machine: machine(),
        runs: [
          {
            ...run,
            name: providers,
            about: `${about}, in ${virtual ? 'virtual' : 'real'} time, line: ${line}.${heard}`,
          },
        ],
      };
      if (out !== undefined) await write(out, report);
      io.stdout.write(values.json ? `${JSON.stringify(report)}\n` : text(report));
      return run.summary.answered === 0 ? 1 : 0;
    } finally {
      progress.clear();
      await desk?.close();
    }
  },
});

async function write(folder: string, report: BenchmarkReport): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'results.json'), `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(folder, 'results.html'), reportPage(report));
}

function text({ machine: on, runs }: BenchmarkReport): string {
  const faults = runs.flatMap(({ faults: found }) => Object.entries(found));
  return [reportText(runs), ...faults.map(([name, count]) => `fault: ${name} ×${String(count)}`), `${on}\n`].join('\n');
}
