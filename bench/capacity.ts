/**
 * How many sessions fit: processor time a session by what its user does, by detector, by the way to the caller and by
 * threads, with ever more sessions until frames are late; and how late they and the event loop are, and the memory.
 *
 *   npm run build && node bench/run.mjs capacity [--ways=rtp] [--vads=silero] [--conducts=idle] [--threads=0]
 *     [--sessions=1,10,50,100,200,400,800] [--engines=doubles] [--seconds=6] [--minutes=0] [--all]
 *     [--until-late=false] [--profile=DIR]
 *
 * Without options it changes one thing at a time, from 50 idle sessions with Silero over RTP: under five minutes. With
 * some, all combinations of what is named, the rest as in the line above; `--all` is the whole table, and it says how
 * long that takes. Ways: memory, talk, rtp (PCMU), rtp-cn (its silence as comfort noise), webrtc. Detectors: silero, silero-wasm, silero-gated, webrtc. Conducts: idle,
 * listening, talking (see lib/caller-sound.ts). Engines: doubles for recogniser, model and voice that cost next to
 * nothing, or embedded.
 *
 * The sessions have a process of their own, their callers another one, new ones for each case. Of the sessions' process
 * everything counts but what it does before its sessions have run for WARM_MS. A case's series ends with the first
 * number of sessions of whose frames more than 0.1 % are late by more than 5 ms, and more than the machine makes late by
 * itself: behind each case a loop of plain arithmetic keeps a thread as busy, at the same pace (lib/busy-loop.ts).
 * `waited` says how long the thread was ready and had no processor. (Where frames were never given less was done, and
 * the processor time is too little.) With --minutes the sessions run on, and what they keep is measured behind a full collection each minute (bench/memory does an hour of virtual time
 * in a minute or two). --profile writes what `node --cpu-prof` sees of the sessions' process.
 *
 * Writes bench/results/capacity.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { parseArgs } from 'node:util';
import { nativeStatus } from '../dist/base/native.js';
import {
  type CapacityCase,
  type CapacityResult,
  CONDUCTS,
  ENGINES,
  isTooMany,
  type Series,
  seriesOf,
  usualSeries,
  VADS,
  WAYS,
} from './lib/capacity-case.js';
import { busyLoop, type LoopCase, type LoopMethods, type LoopSeen } from './lib/busy-loop.js';
import { type CallerMethods, CapacityCallers } from './lib/capacity-callers.js';
import { CapacityHost, type HostMethods, SessionThread } from './lib/capacity-host.js';
import { machine } from './lib/machine.js';
import { markdownTable } from './lib/numbers.js';
import { type Remote, remoteProcess, serve } from './lib/remote.js';

/** Until code is compiled, the greeting over, and garbage made at its usual pace. */
const WARM_MS = 6_000;
/** Starting processes and sessions, and the loop's. */
const START_MS = 4_000;

const { values } = parseArgs({
  options: {
    ways: { type: 'string' },
    vads: { type: 'string' },
    conducts: { type: 'string' },
    threads: { type: 'string' },
    sessions: { type: 'string' },
    engines: { type: 'string' },
    seconds: { type: 'string', default: '6' },
    minutes: { type: 'string', default: '0' },
    all: { type: 'boolean', default: false },
    'until-late': { type: 'string', default: 'true' },
    profile: { type: 'string' },
    host: { type: 'string' },
    callers: { type: 'string' },
    'session-thread': { type: 'string' },
    loop: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const series = chosen();
  const seconds = Number(values.seconds);
  const cases = series.reduce((sum, one) => sum + one.length, 0);
  const most = (cases * (START_MS + WARM_MS + 2 * seconds * 1000)) / 60_000 + cases * Number(values.minutes);
  console.log(`${machine()}\nnative addon: ${nativeStatus().reason}`);
  console.log(`${String(cases)} cases of ${values.seconds} s, ${most.toFixed(0)} minutes at most\n`);
  const results: CapacityResult[] = [];
  const rows: (string | number)[][] = [];
  for (const one of series) {
    for (const each of one) {
      const result = await measured(each, seconds).catch((error: unknown) => {
        console.log(`${JSON.stringify(each)} could not be measured: ${String(error)}`);
        return null;
      });
      if (result === null) break;
      results.push(result);
      rows.push(rowOf(result));
      console.log(
        rowOf(result)
          .map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell))
          .join('  '),
      );
      if (isTooMany(result) && values['until-late'] === 'true') break;
    }
  }
  console.log(`\n${markdownTable([HEADER, ...rows])}\n\n${machine()}`);
  const folder = new URL('results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const report = { machine: machine(), native: nativeStatus().reason, at: new Date().toISOString(), seconds, results };
  writeFileSync(new URL('capacity.json', folder), `${JSON.stringify(report, null, 1)}\n`);
  console.log('capacity.json is in bench/results');
}

function chosen(): Series[] {
  const { ways, vads, conducts, threads, sessions, engines, all } = values;
  if (!all && [ways, vads, conducts, threads, sessions, engines].every((value) => value === undefined)) {
    return usualSeries();
  }
  const named = <T extends string>(text: string | undefined, known: readonly T[], usual: T): readonly T[] => {
    if (text === undefined) return all ? known : [usual];
    const unknown = text.split(',').find((name) => !known.includes(name as T));
    if (unknown !== undefined) throw new Error(`${unknown} is none of ${known.join(', ')}`);
    return text.split(',') as T[];
  };
  const [engine = 'doubles'] = named(engines, ENGINES, 'doubles');
  return seriesOf({
    ways: named(ways, WAYS, 'rtp'),
    vads: named(vads, VADS, 'silero'),
    conducts: named(conducts, CONDUCTS, 'idle'),
    engines: engines === undefined ? 'doubles' : engine,
    threads: (threads ?? (all ? '0,1,2' : '0')).split(',').map(Number),
    sessions: (sessions ?? '1,10,50,100,200,400,800').split(',').map(Number),
  });
}

async function measured(of: CapacityCase, seconds: number): Promise<CapacityResult> {
  const flags = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const host = remoteProcess<HostMethods>([`--host=${JSON.stringify(of)}`], flags);
  const callers = remoteProcess<CallerMethods>([`--callers=${JSON.stringify(of)}`]);
  try {
    const before = await host.ask('prepare', null);
    const answers = await callers.ask('connect', await host.ask('open', await callers.ask('offer', null)));
    await host.ask('begin', answers);
    await new Promise((resolve) => setTimeout(resolve, WARM_MS));
    const [cpuMs, loadAverage] = [await callers.ask('cpuMs', null), loadavg()[0] ?? 0];
    const [seen, cpuAfterMs] = await Promise.all([host.ask('measure', seconds * 1000), cpuAfter(callers, seconds)]);
    const { lateness, ...rest } = seen;
    const growth: { keptBytes: number; rssBytes: number }[] = [];
    for (let minute = 0; minute < Number(values.minutes); minute++) {
      const { keptBytes, rssBytes } = await host.ask('measure', 60_000);
      growth.push({ keptBytes, rssBytes });
    }
    host.end();
    callers.end();
    const loop = await looped({ listeners: of.sessions, busyMs: rest.threadMs, ms: seconds * 1000 });
    return {
      ...of,
      ...rest,
      loadAverage,
      growth,
      loop,
      lateness: {
        frames: lateness.reduce((sum, { frames }) => sum + frames, 0),
        late: lateness.reduce((sum, { late }) => sum + late, 0),
        skipped: lateness.reduce((sum, { skipped }) => sum + skipped, 0),
        p50: Math.max(...lateness.map(({ p50 }) => p50)),
        p99: Math.max(...lateness.map(({ p99 }) => p99)),
        max: Math.max(...lateness.map(({ max }) => max)),
      },
      rssBeforeBytes: before.rssBytes,
      keptBeforeBytes: before.keptBytes,
      callersMs: of.way === 'memory' ? null : (cpuAfterMs - cpuMs) / seconds,
    };
  } finally {
    host.end();
    callers.end();
  }
}

/** What is late where nothing but arithmetic is done. */
async function looped(of: LoopCase): Promise<LoopSeen> {
  const loop = remoteProcess<LoopMethods>(['--loop']);
  try {
    return await loop.ask('measure', of);
  } finally {
    loop.end();
  }
}

async function cpuAfter(callers: Remote<CallerMethods>, seconds: number): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return callers.ask('cpuMs', null);
}

const HEADER = [
  'way',
  'VAD',
  'user',
  'threads',
  'sessions',
  'CPU ms/s a session',
  'sessions a core',
  'busiest thread, %',
  'frames late, %',
  'of a loop, %',
  'the loop busy, %',
  'never given, %',
  'behind the tick p50, ms',
  'p99',
  'max',
  'loop late p99, ms',
  'max',
  'RSS MB a session',
  'kept MB a session',
  'more a minute, kB',
  'answers',
  'callers, %',
  'waited for a processor, %',
  'load',
];

/** What a session keeps for each minute, in kB; the first minute is still that of caches that fill. */
function perMinute({ growth, sessions }: CapacityResult): number | string {
  const [first, last] = [growth[1], growth.at(-1)];
  if (first === undefined || last === undefined || growth.length < 3) return '–';
  return (last.keptBytes - first.keptBytes) / (growth.length - 2) / Math.max(1, sessions) / 1000;
}

function shareOf(share: number): string {
  return Number.isFinite(share) ? (100 * share).toFixed(2) : '–';
}

function rowOf(result: CapacityResult): (string | number)[] {
  const { way, vad, conduct, engines, threads, sessions, lateness, loop, processMs, callersMs } = result;
  const each = (all: number): number => all / Math.max(1, sessions);
  return [
    engines === 'doubles' ? way : `${way}, embedded`,
    vad,
    conduct,
    String(threads),
    String(sessions),
    each(processMs),
    String(Math.floor(1000 / each(processMs))),
    result.threadMs / 10,
    shareOf(lateness.late / lateness.frames),
    shareOf(loop.lateShare),
    loop.threadMs / 10,
    shareOf(lateness.skipped / lateness.frames),
    lateness.p50,
    lateness.p99,
    lateness.max,
    result.loopP99,
    result.loopMax,
    each(result.rssBytes - result.rssBeforeBytes) / 1e6,
    each(result.keptBytes - result.keptBeforeBytes) / 1e6,
    perMinute(result),
    String(result.answers),
    callersMs === null ? '–' : callersMs / 10,
    result.waitedMs / 10,
    result.loadAverage,
  ];
}

if (values.host !== undefined) {
  const host = new CapacityHost(JSON.parse(values.host) as CapacityCase);
  serve({
    prepare: () => host.prepare(),
    open: (offers: string[]) => host.open(offers),
    begin: (answers: string[]) => host.begin(answers),
    measure: (ms: number) => host.measure(ms),
  });
} else if (values['session-thread'] !== undefined && !isMainThread) {
  const thread = new SessionThread(JSON.parse(values['session-thread']) as CapacityCase);
  serve({
    prepare: () => thread.prepare(),
    open: (offers: string[]) => thread.open(offers),
    begin: (answers: string[]) => thread.begin(answers),
    measure: (ms: number) => thread.measure(ms),
  });
} else if (values.loop) {
  serve({ measure: busyLoop });
} else if (values.callers !== undefined) {
  const callers = new CapacityCallers(JSON.parse(values.callers) as CapacityCase);
  serve({
    offer: () => callers.offer(),
    connect: (reported: string[]) => callers.connect(reported),
    cpuMs: () => callers.cpuMs(),
  });
} else {
  await main();
  process.exit(0);
}
