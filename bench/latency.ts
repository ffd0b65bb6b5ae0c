/**
 * How long answers take over recordings, by stage, and what each mechanism is worth.
 *
 *   npm run build && node bench/run.mjs latency [--set=instant,published,fastest] [--rounds=10] [--no-ablations] [--runs=TEXT,…]
 *   npm run build && node bench/run.mjs latency --real [--set=instant,published,fastest,embedded]
 *     [--transport=file,socket,rtp,webrtc] [--lanes=4] [--beside=0]
 *
 * and for both [--only=TEXT,…] and [--runs=TEXT,…], recordings and runs whose name has one of these in it, [--out=bench/results] and [--name=latency] of its files.
 *
 * Turns of `fixtures/audio` in English are played to sessions of their own, and the bookings with all their turns. `--set`
 * says who listens, thinks and speaks:
 *
 * - `instant`: doubles that take no time: what is left is the engine, and the line;
 * - `published`: doubles with latencies that were published, drawn from a seed: a realistic call;
 * - `fastest`: the same with the fastest services whose latencies are published;
 * - `embedded`: the embedded recogniser, the restaurant's scripted model and flite. Bookings alone.
 *
 * Without `--real` in virtual time: exact, and the same on every machine; `published` then also with one mechanism less, or
 * another way in its place (nothing begun early; a fixed wait of 500, 800 and 1200 ms after speech; a tool before every
 * answer, with and without a filler). With `--real` at the recordings' own pace over each transport, the answer's first
 * frame as it comes to the far end; `--lanes` recordings at once (embedded: one), and `--beside` idle sessions that the same
 * thread serves.
 *
 * Writes JSON and one page with waterfalls and distributions beside the table.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  type LatencyRun,
  type LatencyRunOptions,
  runLatency,
  sumOfCosts,
  summarise,
} from '../dist/benchmark/latency-run.js';
import { isLine, type LineName, LINES } from '../dist/benchmark/lines.js';
import type { ToolUse } from '../dist/benchmark/doubles/recorded-stt.js';
import { FASTEST, INSTANT, type ProviderTimes, PUBLISHED } from '../dist/benchmark/provider-set.js';
import { readRecordings } from '../dist/benchmark/recording.js';
import { type NamedRun, reportText } from '../dist/benchmark/report.js';
import { reportPage } from '../dist/benchmark/report-page.js';
import { atDesk, openDemoDesk } from '../dist/cli/shared/demo-desk.js';
import { VirtualClock } from '../dist/base/virtual-clock.js';
import { NO_FAILOVER } from '../dist/settings/failover.js';
import type { AgentConfig } from '../dist/agent/agent.js';
import { loadAgentFile } from '../dist/agent/agent-file.js';
import { Engine } from '../dist/engine/engine.js';
import type { EngineOptions } from '../dist/engine/options.js';
import { Callers } from './lib/callers.js';
import { machine } from './lib/machine.js';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    set: { type: 'string' },
    transport: { type: 'string' },
    real: { type: 'boolean', default: false },
    ablations: { type: 'boolean', default: true },
    rounds: { type: 'string' },
    lanes: { type: 'string', default: '4' },
    beside: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
    runs: { type: 'string', default: '' },
    name: { type: 'string', default: 'latency' },
    out: { type: 'string', default: fileURLToPath(new URL('results', import.meta.url)) },
  },
});
const { real } = values;
const only = values.only.split(',');
const rounds = Number(values.rounds ?? (real ? 1 : 10));
const sets = (values.set ?? (real ? 'instant,published,embedded' : 'instant,published,fastest')).split(',');
const transports = (values.transport ?? (real ? LINES.join() : 'file')).split(',').map(known);
const beside = Number(values.beside);

const fixtures = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
const foreign = /\/(?:de|es|fr|it|nl|pt)(?:-|$)/u;
const isOwn = (name: string): boolean => /^(?:turns|pauses|clean)\//u.test(name) && !foreign.test(name);
const isBooking = (name: string): boolean => /^booking\/.*\/(?:track|lively)$/u.test(name);
const all = await readRecordings(
  fixtures,
  (name) => (isOwn(name) || isBooking(name)) && only.some((text) => name.includes(text)),
);
const single = all.filter(({ name }) => isOwn(name));
const bookings = all.filter(({ name }) => isBooking(name));
const { signal } = new AbortController();
const CALLER: AgentConfig = { prompt: 'You help callers.', flow: { user_start_first: true } };
const GREETER: AgentConfig = { prompt: 'You take bookings.', first_message: 'Good evening, The Crooked Fork.' };
const LOOK_UP = { name: 'look_up', description: 'Looks something up.' };
const ABOUT: Readonly<Record<string, string>> = {
  instant: 'all three doubles take no time',
  published: 'doubles with published latencies',
  fastest: 'doubles with the shortest published latencies',
  embedded: 'Silero, the embedded recogniser, the scripted model, flite',
};
const runs: NamedRun[] = [];

for (const line of transports) {
  const where = real ? `; ${line}, real time` : '; virtual time';
  for (const set of sets) {
    const about = `${ABOUT[set] ?? ''}${where}`;
    const name = real ? `${set}, ${line}` : set;
    if (set === 'embedded') await keep(name, about, () => embedded(line));
    else if (set === 'instant') await keep(name, about, () => withDoubles(INSTANT, line));
    else if (set === 'published') await keep(name, about, () => withDoubles(PUBLISHED, line));
    else if (set === 'fastest') await keep(name, about, () => withDoubles(FASTEST, line));
    else throw new Error(`--set: ${set} is none of instant, published, fastest, embedded`);
  }
}
if (!real && values.ablations && sets.includes('published')) await ablations();

const report = {
  title: `parley: response time in ${real ? 'real' : 'virtual'} time`,
  time: new Date().toISOString(),
  machine: machine(),
  runs,
};
mkdirSync(values.out, { recursive: true });
writeFileSync(join(values.out, `${values.name}.json`), `${JSON.stringify(report, null, 1)}\n`);
writeFileSync(join(values.out, `${values.name}.html`), reportPage(report));
console.log(reportText(runs));
console.log(`${machine()}\n${values.name}.json and ${values.name}.html are in ${values.out}`);
process.exit(0);

function known(name: string): LineName {
  if (!isLine(name) || (!real && name !== 'file')) {
    throw new Error(`--transport: one of ${LINES.join(', ')}, and in virtual time file alone`);
  }
  return name;
}

async function keep(name: string, about: string, run: () => Promise<LatencyRun>): Promise<void> {
  if (!values.runs.split(',').some((text) => name.includes(text))) return;
  const engine = beside > 0 ? new Engine() : null;
  const callers = engine === null ? null : new Callers(engine, 'idle', 'doubles');
  if (callers !== null) for (let n = 0; n < beside; n++) await callers.add(n / beside);
  const done = await run();
  await callers?.leave();
  await engine?.close();
  const near = beside > 0 ? `; ${String(beside)} idle sessions beside` : '';
  runs.push({ ...done, name, about: `${about}${near}` });
  console.error(`${name}: ${String(done.turns.length)} turns`);
}

/**
 * The single turns, where the user speaks first, and the bookings, where the agent greets; in real time side by side, and
 * a tool is called before every second answer of a booking.
 */
async function withDoubles(
  times: ProviderTimes,
  line: LineName = 'file',
  engine: EngineOptions = {},
  more: AgentConfig = {},
  tool?: ToolUse,
): Promise<LatencyRun> {
  const play = (recordings: typeof all, agent: AgentConfig, lanes: number, used = tool): Promise<LatencyRun> =>
    runLatency({
      recordings,
      times,
      line,
      lanes,
      ...common(engine),
      ...(used !== undefined && { tool: used }),
      agent: { ...agent, ...more, flow: { ...agent.flow, ...more.flow } },
    });
  const parts: LatencyRun[] = [];
  const lanes = Number(values.lanes);
  if (real) {
    const forBookings = Math.max(1, Math.min(bookings.length, Math.floor(lanes / 2)));
    const greeter = { ...GREETER, tools: [LOOK_UP] };
    parts.push(
      ...(await Promise.all([
        play(single, CALLER, Math.max(1, lanes - forBookings)),
        play(bookings, greeter, forBookings, { name: LOOK_UP.name, every: 2 }),
      ])),
    );
  } else {
    for (const [recordings, agent] of [[single, CALLER] as const, [bookings, GREETER] as const]) {
      if (recordings.length > 0) parts.push(await play(recordings, agent, 1));
    }
  }
  const turns = parts.flatMap((part) => part.turns);
  const faults = Object.assign({}, ...parts.map((part) => part.faults)) as Record<string, number>;
  return { turns, faults, summary: summarise(turns), cost: sumOfCosts(parts.map((part) => part.cost)) };
}

async function embedded(line: LineName): Promise<LatencyRun> {
  const desk = await openDemoDesk();
  const file = await loadAgentFile(fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url)));
  const run = await runLatency({
    recordings: bookings,
    line,
    agent: atDesk(file.config, desk),
    script: file.script,
    ...common({ allowUrls: [desk.url] }),
  });
  await desk.close();
  return run;
}

function common(engine: EngineOptions): Pick<LatencyRunOptions, 'rounds' | 'signal' | 'engine'> {
  return { rounds, signal, engine: { ...engine, ...(!real && { clock: new VirtualClock() }) } };
}

/** Engine options for second requests to a late model. */
function again(hedgePercentile: number): EngineOptions {
  return { failover: { ...NO_FAILOVER, hedgePercentile } };
}

/** As published, with one mechanism less or another in its place. */
async function ablations(): Promise<void> {
  const published = (engine: EngineOptions): Promise<LatencyRun> => withDoubles(PUBLISHED, 'file', engine);
  const early = 'as published, without speculation; virtual time';
  await keep('nothing begun early', early, () => published({ speculation: false }));
  const pauses = 'as published, answers are begun at pauses alone; virtual time';
  for (const percentile of [50, 75, 90]) {
    const about = `as published, a second request after the ${String(percentile)}th percentile; virtual time`;
    await keep(`asked again after p${String(percentile)}`, about, () => published(again(percentile)));
  }
  const patient = { ...again(50), endpointing: { minSilenceMs: 650 } };
  const slower = 'as published, a second request after the median, at least 650 ms of silence; virtual time';
  await keep('asked again, patient', slower, () => published(patient));
  const hasty = { endpointing: { minSilenceMs: 400, maxSilenceMs: 1000 } };
  const shortest = 'as fastest, 400 to 1000 ms of silence; virtual time';
  await keep('fastest, 400 to 1000 ms', shortest, () => withDoubles(FASTEST, 'file', hasty));
  const late = { ...PUBLISHED, interimMs: 300 };
  await keep('late interim words', 'as published, interim words 300 ms late; virtual time', () => withDoubles(late));
  const long = { prompt: 'You help callers. '.repeat(450) };
  const about = 'as published, a prompt of 2,000 tokens; virtual time';
  await keep('a long prompt', about, () => withDoubles(PUBLISHED, 'file', {}, long));
  await keep('begun at pauses alone', pauses, () => published({ earlySpeculation: { tokensPerTurn: 0 } }));
  for (const ms of [500, 800, 1200]) {
    const about = 'as published, without speculation; no word changes the wait; virtual time';
    const endpointing = { minSilenceMs: ms, maxSilenceMs: ms };
    await keep(`fixed wait, ${String(ms)} ms`, about, () => published({ speculation: false, endpointing }));
  }
  const tool = (agent: AgentConfig): Promise<LatencyRun> => withDoubles(PUBLISHED, 'file', {}, agent, LOOK_UP);
  const withTool: AgentConfig = { tools: [LOOK_UP] };
  await keep('with a tool', 'as published, a tool before every answer; virtual time', () => tool(withTool));
  const filler = { auto_fill_responses: { response_gap_threshold: 700, messages: ['One moment.'] } };
  const both = 'as published, a tool before every answer, a filler after 700 ms; virtual time';
  await keep('with a tool, filler', both, () => tool({ ...withTool, flow: filler }));
}
