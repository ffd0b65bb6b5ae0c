/**
 * Whether people who have never called before get a table at the demo restaurant: simulated callers, made anew from a
 * seed, book in their own words. Each arm is the same callers on another line: with perfect words, clean, over the
 * telephone (G.711 at 8 kHz), and with pink noise 15 dB below their speech; and, where it is installed, with the second
 * recogniser behind the embedded one.
 *
 *   npm run build && node bench/run.mjs newcomer [--n=20] [--seed=1] [--group=held-out|tuning]
 *     [--arms=perfect,clean,telephone,noise] [--recognisers=embedded,second] [--callers=0,3] [--list] [--json=FILE]
 *
 * The groups have no voice, name or seed in common, and half of the phrasings occur only in the held-out one: settings
 * are chosen with `tuning`, and reported with `held-out`.
 * Time is virtual, so the same seeds give the same calls.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { loadAgentFile } from '../dist/agent/agent-file.js';
import { HEARING_RATE_HZ } from '../dist/audio/frame.js';
import { Random, seedOf } from '../dist/base/random.js';
import { RealClock } from '../dist/base/real-clock.js';
import { VirtualClock } from '../dist/base/virtual-clock.js';
import { Engine } from '../dist/engine/engine.js';
import { CallerVoices } from '../dist/eval/call/caller-voices.js';
import { type HeldCall, holdCall } from '../dist/eval/call/hold-call.js';
import { lineCodecs, VoiceLine } from '../dist/eval/call/voice-line.js';
import { wilson } from '../dist/eval/statistics.js';
import type { LineConditions } from '../dist/eval/suite/suite-schema.js';
import { MockTools } from '../dist/eval/tools/mock-tools.js';
import { findPocketSphinx } from '../dist/providers/stt/embedded/pocketsphinx.js';
import { EmbeddedStt } from '../dist/providers/stt/embedded/provider.js';
import type { SttProvider } from '../dist/providers/stt/stt.js';
import { machine } from './lib/machine.js';
import { markdownTable } from './lib/numbers.js';
import { processorS } from './lib/processor-time.js';
import { type Group, type Wish, wishOf } from './lib/newcomer-phrases.js';
import { Newcomer, PerfectEars } from './lib/newcomer.js';
import { type Speaker, SPEAKERS, spoken } from './lib/newcomer-voices.js';

const AGENT = fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url));
const START_UNIX_MS = Date.UTC(2026, 5, 15, 12);
const MAX_DURATION_MS = 400_000;
/** Lanes of calls side by side: the recogniser decodes in a thread of its own. */
const LANES = 2;

const ARMS: Readonly<Record<string, LineConditions>> = {
  perfect: { codec: 'pcm' },
  clean: { codec: 'pcm' },
  telephone: { codec: 'mulaw' },
  noise: { codec: 'pcm', noise: { snr_db: 15, kind: 'pink' } },
};

const { values } = parseArgs({
  options: {
    n: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    group: { type: 'string', default: 'held-out' },
    arms: { type: 'string', default: Object.keys(ARMS).join(',') },
    recognisers: { type: 'string', default: 'embedded,second' },
    callers: { type: 'string' },
    list: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});

/** The same callers on one line with one recogniser. */
interface Arm {
  line: string;
  recogniser: string;
}

interface Outcome {
  arm: Arm;
  caller: number;
  speaker: string;
  wish: Wish;
  result: 'right' | 'wrong' | 'none';
  booked: Readonly<Record<string, unknown>> | null;
  /** The agent said that it could not hear, or did not understand. */
  inaudible: number;
  notUnderstood: number;
  silences: number;
  turns: number;
  durationS: number;
  lines: HeldCall['lines']['lines'];
}

const group: Group = values.group === 'tuning' ? 'tuning' : 'held-out';
const runSeed = Number(values.seed) + (group === 'tuning' ? 1_000_000 : 0);
const { signal } = new AbortController();
const file = await loadAgentFile(AGENT);
const helper = new Engine({ clock: new RealClock() });
const voices = new CallerVoices(helper, signal);
const embedded = new EmbeddedStt();
await embedded.warmUp();
const files = findPocketSphinx();
const second = files === null ? null : new EmbeddedStt({ pocketSphinx: files });
const refusals = phrasesOf(file.script);

const callers =
  values.callers === undefined
    ? Array.from({ length: Number(values.n) }, (_, at) => at)
    : values.callers.split(',').map(Number);
const outcomes: Outcome[] = [];
const usedS = new Map<Arm, number>();
console.log(`${machine()}\n`);
if (second === null)
  console.log('The second recogniser is not installed: apt-get install pocketsphinx pocketsphinx-en-us\n');
const recognisers = values.recognisers.split(',').filter((name) => name !== 'second' || second !== null);
const arms = values.arms.split(',').flatMap((line): Arm[] => {
  return line === 'perfect' ? [{ line, recogniser: '' }] : recognisers.map((recogniser) => ({ line, recogniser }));
});
for (const arm of arms) {
  const from = processorS();
  const queue = [...callers];
  const lane = async (): Promise<void> => {
    for (let caller = queue.shift(); caller !== undefined; caller = queue.shift()) {
      const outcome = await call(arm, caller);
      outcomes.push(outcome);
      if (values.list) print(outcome);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  usedS.set(arm, processorS() - from);
}
console.log(`group ${group}, seed ${values.seed}, ${String(callers.length)} callers an arm\n`);
console.log(markdownTable([HEADER(), ...arms.map(row)]));
console.log(`\n${machine()}`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(outcomes, null, 1));
await embedded.close();
await second?.close();
await helper.close();

async function call(arm: Arm, caller: number): Promise<Outcome> {
  const seed = seedOf(runSeed, caller);
  const random = new Random(seed);
  const wish = wishOf(random, group, caller);
  const speaker = SPEAKERS[group][caller % SPEAKERS[group].length] as Speaker;
  const perfect = arm.line === 'perfect' ? new PerfectEars() : null;
  const stt: SttProvider = perfect ?? (arm.recogniser === 'second' && second !== null ? second : embedded);
  const newcomer = new Newcomer(wish, group, seed);
  const engine = new Engine({ clock: new VirtualClock(new RealClock()) });
  const conditions = ARMS[arm.line] ?? {};
  const codecs = await lineCodecs(conditions.codec);
  const mocks = new MockTools({ book_table: { result: { reference: 'R101' } } }, engine.clock, () => undefined);
  let booked: Outcome['booked'] = null;
  try {
    const held = await holdCall({
      engine,
      mode: 'voice',
      request: {
        agent: file.config,
        script: file.script,
        extensions: file.extensions,
        id: `newcomer-${String(seed)}`,
        startUnixMs: START_UNIX_MS,
        stt,
        interceptTool: async (tool, run) => {
          const result = await mocks.intercept(tool, run);
          if (tool.name === 'book_table' && result.ok) booked = tool.arguments;
          return result;
        },
      },
      caller: () => newcomer,
      openLine: (events) =>
        new VoiceLine({ ticker: engine.ticker, random, conditions, codecs, noise: null, records: false }, events),
      speak: async (move) => {
        const audio = await spoken(voices, speaker, move.say);
        perfect?.says(move.say, Math.round((audio.samples.length * HEARING_RATE_HZ) / audio.sampleRateHz));
        return audio;
      },
      transferOutcome: () => 'ok',
      maxDurationMs: MAX_DURATION_MS,
      signal,
    });
    if (held.error !== null) throw new Error(held.error);
    const { lines } = held.lines;
    const said = lines.flatMap((line) => (line.type === 'agent' ? [line.text] : []));
    return {
      arm,
      caller,
      speaker: `${speaker.voice.voice_id ?? ''} ${String(speaker.scale)}`,
      wish,
      result: booked === null ? 'none' : isRight(booked, wish) ? 'right' : 'wrong',
      booked,
      inaudible: said.filter((text) => refusals.inaudible.some((phrase) => text.includes(phrase))).length,
      notUnderstood: said.filter((text) => refusals.notUnderstood.some((phrase) => text.includes(phrase))).length,
      silences: newcomer.silences,
      turns: lines.filter(({ type }) => type === 'caller').length,
      durationS: held.report.durationMs / 1000,
      lines,
    };
  } finally {
    codecs.close();
    await engine.close();
  }
}

function isRight(booked: Readonly<Record<string, unknown>>, wish: Wish): boolean {
  const name = typeof booked['name'] === 'string' ? booked['name'].toLowerCase().split(/\W+/) : [];
  return (
    booked['party'] === wish.party.value &&
    booked['date'] === wish.day.value &&
    booked['time'] === wish.time.value &&
    name.includes(String(wish.name.value))
  );
}

/** What the agent says when it does not hear or understand. */
function phrasesOf(script: unknown): { inaudible: string[]; notUnderstood: string[] } {
  const { phrases = {} } = script as { phrases?: Record<string, string | string[]> };
  return {
    inaudible: [phrases['inaudible'] ?? []].flat(),
    notUnderstood: [phrases['notUnderstood'] ?? []].flat(),
  };
}

function HEADER(): string[] {
  return [
    'line',
    'recogniser',
    'booked right (95 % interval)',
    'without espeak',
    'wrong booking',
    'none',
    'things said',
    '"could not hear"',
    '"did not get that"',
    'silence after an answer',
    'processor s a call',
  ];
}

function row(arm: Arm): string[] {
  const mine = outcomes.filter((outcome) => outcome.arm === arm);
  const people = mine.filter(({ speaker }) => !speaker.startsWith('en-'));
  const count = (result: Outcome['result'], list = mine): number => list.filter((one) => one.result === result).length;
  const sum = (of: (outcome: Outcome) => number): string => String(mine.reduce((total, one) => total + of(one), 0));
  const { low, high } = wilson(count('right'), mine.length);
  return [
    arm.line,
    arm.recogniser,
    `${String(count('right'))} of ${String(mine.length)} (${(100 * low).toFixed(0)} to ${(100 * high).toFixed(0)} %)`,
    `${String(count('right', people))} of ${String(people.length)}`,
    String(count('wrong')),
    String(count('none')),
    sum(({ turns }) => turns),
    sum(({ inaudible }) => inaudible),
    sum(({ notUnderstood }) => notUnderstood),
    sum(({ silences }) => silences),
    ((usedS.get(arm) ?? 0) / mine.length).toFixed(1),
  ];
}

function print({ arm, caller, speaker, wish, result, booked, lines }: Outcome): void {
  const wanted = Object.values(wish).map(({ value }) => String(value));
  console.log(
    `--- ${arm.line} ${arm.recogniser} ${String(caller)} ${speaker}: ${wanted.join(', ')} -> ${result} ${JSON.stringify(booked)}`,
  );
  for (const line of lines) {
    if (line.type === 'agent') console.log(`  ${(line.startMs / 1000).toFixed(1)} A  ${line.text}`);
    if (line.type === 'caller') {
      console.log(`  ${(line.startMs / 1000).toFixed(1)}  C ${line.text}  [${line.understood ?? '-'}]`);
    }
  }
}
