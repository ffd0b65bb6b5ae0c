/**
 * How long answers take over recordings, and what each mechanism is worth.
 *
 *   npm run build && node bench/run.mjs latency [--rounds=10] [--real] [--out=bench/results]
 *
 * Every turn of `fixtures/audio` in English is played to a session of its own, and the bookings with all their turns,
 * in virtual time: exact, and the same on every machine.
 *
 * 1. `engine alone`: recogniser, model and voice are doubles that take no time.
 * 2. `published`: doubles with latencies that were published, drawn from a seed; then the same with one mechanism less,
 *    or another way in its place: no answers begun early, a fixed wait of 500, 800 and 1200 ms after speech.
 * 3. `with a tool`: as 2, a tool is called before every answer; with a filler after 700 ms, and without.
 * 4. With `--real`: the embedded engines, the bookings in real time.
 *
 * Writes results.json and results.html, one page with waterfalls and distributions, beside the table.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runLatency } from '../dist/benchmark/latency-run.js';
import { INSTANT, type ProviderTimes, PUBLISHED } from '../dist/benchmark/provider-set.js';
import { readRecordings } from '../dist/benchmark/recording.js';
import { summarise } from '../dist/benchmark/latency-summary.js';
import { kindRows, type NamedRun, reportRows, stageRows, textTable } from '../dist/benchmark/report.js';
import { reportPage } from '../dist/benchmark/report-page.js';
import { atDesk, openDemoDesk } from '../dist/cli/demo-desk.js';
import { VirtualClock } from '../dist/clock/virtual.js';
import type { AgentConfig } from '../dist/config/agent.js';
import { loadAgentFile } from '../dist/config/agent-file.js';
import type { EngineOptions } from '../dist/engine/options.js';
import { machine } from './lib/machine.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    real: { type: 'boolean', default: false },
    out: { type: 'string', default: fileURLToPath(new URL('results', import.meta.url)) },
  },
});
const fixtures = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
const foreign = /\/(?:de|es|fr|it|nl|pt)(?:-|$)/u;
const single = await readRecordings(fixtures, (name) => /^(?:turns|pauses|clean)\//u.test(name) && !foreign.test(name));
const bookings = await readRecordings(fixtures, (name) => /^booking\/.*\/(?:track|lively)$/u.test(name));
const { signal } = new AbortController();
const CALLER: AgentConfig = { prompt: 'You help callers.', flow: { user_start_first: true } };
const GREETER: AgentConfig = { prompt: 'You take bookings.', first_message: 'Good evening, The Crooked Fork.' };
const LOOK_UP = { name: 'look_up', description: 'Looks something up.' };
const runs: NamedRun[] = [];

await virtual('engine alone', 'all three doubles take no time', INSTANT);
await virtual('published', 'doubles with published latencies', PUBLISHED);
await virtual('nothing begun early', 'as published, without speculation', PUBLISHED, { speculation: false });
for (const ms of [500, 800, 1200]) {
  await virtual(
    `fixed wait, ${String(ms)} ms`,
    'as published, without speculation; no word changes the wait',
    PUBLISHED,
    {
      speculation: false,
      endpointing: { minSilenceMs: ms, maxSilenceMs: ms },
    },
  );
}
const withTool: AgentConfig = { tools: [LOOK_UP] };
await virtual('with a tool', 'as published, a tool before every answer', PUBLISHED, {}, withTool, LOOK_UP.name);
const filler: AgentConfig = {
  ...withTool,
  flow: { auto_fill_responses: { response_gap_threshold: 700, messages: ['One moment.'] } },
};
await virtual('with a tool, filler', 'a filler after 700 ms', PUBLISHED, {}, filler, LOOK_UP.name);
if (values.real) await embedded();

const report = { title: 'parley: response time', time: new Date().toISOString(), machine: machine(), runs };
mkdirSync(values.out, { recursive: true });
writeFileSync(join(values.out, 'results.json'), `${JSON.stringify(report, null, 1)}\n`);
writeFileSync(join(values.out, 'results.html'), reportPage(report));
console.log(`${textTable(reportRows(runs))}\n${textTable(kindRows(runs))}\n${textTable(stageRows(runs))}`);
console.log(`${machine()}\nresults.json and results.html are in ${values.out}`);
process.exit(0);

/** The single turns, where the user speaks first, and the bookings, where the agent greets. */
async function virtual(
  name: string,
  about: string,
  times: ProviderTimes,
  engine: EngineOptions = {},
  more: AgentConfig = {},
  tool?: string,
): Promise<void> {
  const parts = [];
  for (const [recordings, agent] of [[single, CALLER] as const, [bookings, GREETER] as const]) {
    parts.push(
      await runLatency({
        ...{ recordings, times, signal, rounds: Number(values.rounds) },
        ...(tool !== undefined && { tool }),
        agent: { ...agent, ...more, flow: { ...agent.flow, ...more.flow } },
        engine: { ...engine, clock: new VirtualClock() },
      }),
    );
  }
  const turns = parts.flatMap((part) => part.turns);
  const faults = Object.assign({}, ...parts.map((part) => part.faults)) as Record<string, number>;
  runs.push({ name, about: `${about}; virtual time`, turns, faults, summary: summarise(turns) });
  console.error(`${name}: ${String(turns.length)} turns`);
}

async function embedded(): Promise<void> {
  const desk = await openDemoDesk();
  const file = await loadAgentFile(fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url)));
  const run = await runLatency({
    ...{ recordings: bookings, signal, agent: atDesk(file.config, desk), script: file.script },
    engine: { allowUrls: [desk.url] },
  });
  await desk.close();
  runs.push({
    ...run,
    name: 'embedded, real time',
    about: 'Silero, the embedded recogniser, the scripted model, flite',
  });
}
