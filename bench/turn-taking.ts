/**
 * How soon the end of a turn is known, against how often a pause inside one is taken for it.
 *
 *   npm run build && node bench/run.mjs turn-taking [--stt=labels] [--final-ms=200] [--half=tuned] [--verbose]
 *
 * Plays the turns of `fixtures/audio`, and of the recordings with .lab or .rttm labels below the folder that
 * PARLEY_AUDIO_DIR names, to a session's ears. `--stt=labels` takes the labelled words as what a recogniser gives: an
 * interim transcript 150 ms after each word, the final one `--final-ms` after the end of speech, without punctuation.
 * `--stt=embedded` has the embedded recogniser listen, as for the demo agent. The conversation core decides. Its curve is
 * over the scale of `minSilenceMs` and, up to 1, `maxSilenceMs`; the baseline, over the same speech edges, closes a turn after a fixed silence and knows no words.
 * `--half` measures one half of the sentences only, `--verbose` lists the turns (of the tuned half, unless asked).
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { vadProvider } from '../dist/providers/vad/registry.js';
import {
  atCut,
  core,
  delayOf,
  isCut,
  measure,
  plainSilence,
  silenceAsFast,
  type HeardTurn,
  type Point,
} from './lib/detectors.js';
import { embeddedEars, labelledEars, pausesOf } from './lib/ears.js';
import { markdownTable } from './lib/numbers.js';
import { labelledRecordings, turnsIn } from './lib/turns.js';
import { hearWith, VadTally } from './lib/vad-errors.js';

const { values } = parseArgs({
  options: {
    stt: { type: 'string', default: 'labels' },
    'final-ms': { type: 'string', default: '200' },
    half: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const BESIDE_HEAD = 'baseline at the same mean';
const VADS = ['silero', 'webrtc'];
const SCALES = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3];
const SILENCES_MS = [
  100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900, 950, 1000, 1100, 1200, 1300,
  1400, 1500, 1600, 1800, 2000, 2200, 2400,
];

const fixtures = labelledRecordings(fileURLToPath(new URL('../fixtures/audio', import.meta.url)), 'fixtures');
const folder = process.env['PARLEY_AUDIO_DIR'];
const own = folder === undefined ? [] : labelledRecordings(folder, 'own');
const ownTurns = await heardBy(turnsIn(own));
const all = (await heardBy(turnsIn(fixtures))).filter(
  ({ turn }) => values.half === undefined || turn.half === values.half,
);

compare('fixtures', all);
if (values.half === undefined) {
  for (const half of ['tuned', 'held out'])
    report(
      half,
      all.filter(({ turn }) => turn.half === half),
    );
}
const groups = [...new Set(all.map(({ turn }) => turn.group))].sort();
console.log('\nthe default, by recordings');
console.log(
  markdownTable([
    ['recordings', 'turns', 'pauses', 'false cut-offs', 'delay p50', 'mean', 'p90'],
    ...groups.map((group) => {
      const of = all.filter(({ turn }) => turn.group === group);
      const { cut, p50, mean, p90 } = measure(group, of, core());
      const inside = pausesIn(of);
      return [group, String(of.length), String(inside), inside === 0 ? '–' : percent(cut), p50, mean, p90];
    }),
  ]),
);
if (ownTurns.length > 0) compare('own recordings', ownTurns);
await showVads();
if (values.verbose) list(all.filter(({ turn }) => turn.half === (values.half ?? 'tuned')));

/** The curve of the core beside that of plain silence. */
function compare(name: string, of: readonly HeardTurn[]): void {
  const baseline = SILENCES_MS.map((ms) => measure(String(ms), of, plainSilence(ms)));
  const scored = SCALES.map((scale) => measure(String(scale), of, core(scale)));
  const row = ({ name: at, cut, p50, mean, p90 }: Point): (string | number)[] => [at, percent(cut), p50, mean, p90];
  console.log(`\n${name}: ${String(of.length)} turns with ${String(pausesIn(of))} labelled pauses inside\n`);
  const heads = ['false cut-offs', 'delay p50', 'mean', 'p90'];
  console.log(
    markdownTable([
      ['scale', ...heads, BESIDE_HEAD, 'baseline p50 at as many', 'mean', 'p90', 'p50 less by', 'mean', 'p90'],
      ...scored.map((point) => [
        ...row(point),
        percent(silenceAsFast(of, point.mean).cut),
        ...beside(point, atCut(baseline, point.cut)),
      ]),
    ]),
  );
  console.log(`\nplain silence, ms\n${markdownTable([['silence', ...heads], ...baseline.map(row)])}`);
}

/** The default alone, beside plain silence that makes as many false cut-offs. */
function report(name: string, of: readonly HeardTurn[]): void {
  const point = measure(name, of, core());
  const baseline = SILENCES_MS.map((ms) => measure(String(ms), of, plainSilence(ms)));
  const [p50, mean, p90, ...less] = beside(point, atCut(baseline, point.cut)).map((it) =>
    typeof it === 'number' ? it.toFixed(0) : it,
  );
  console.log(
    `\n${name}: ${String(of.length)} turns, ${String(pausesIn(of))} pauses, ${percent(point.cut)} cut off, ` +
      `p50 ${point.p50.toFixed(0)}, mean ${point.mean.toFixed(0)}, p90 ${point.p90.toFixed(0)}; ` +
      `plain silence p50 ${String(p50)}, mean ${String(mean)}, p90 ${String(p90)}; less by ${less.join(', ')}`,
  );
}

function beside(point: Point, equal: Point | null): (string | number)[] {
  if (equal === null) return ['–', '–', '–', '–', '–', '–'];
  const less = (of: 'p50' | 'mean' | 'p90'): string => percent(1 - point[of] / equal[of]);
  return [equal.p50, equal.mean, equal.p90, less('p50'), less('mean'), less('p90')];
}

async function heardBy(turns: ReturnType<typeof turnsIn>): Promise<HeardTurn[]> {
  const embedded =
    values.stt === 'embedded'
      ? await embeddedEars(fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url)))
      : null;
  const ears = embedded?.ears ?? (await labelledEars(Number(values['final-ms'])));
  const heard: HeardTurn[] = [];
  for (const turn of turns) {
    if (embedded !== null && turn.language !== 'en') continue;
    const reported = await ears(turn);
    heard.push({ turn, reported, pauses: pausesOf(turn, reported) });
  }
  await embedded?.close();
  return heard;
}

/** What the baseline and the score stand on. */
async function showVads(): Promise<void> {
  for (const vad of VADS) await vadProvider(vad).warmUp();
  const rows = VADS.flatMap((vad) =>
    [fixtures, own].flatMap((recordings, at) => {
      if (recordings.length === 0) return [];
      const tally = new VadTally();
      for (const recording of recordings) hearWith(vad, recording, 0.5, [tally]);
      const row = tally.row();
      const name = `${at === 0 ? 'fixtures' : 'own'}, ${vad}`;
      return [[name, row['start error'], row['start known'], row['end error'], row['end known']].map((it) => it ?? '')];
    }),
  );
  const heads = ['VAD', 'onset error', 'onset known after', 'offset error', 'offset known after'];
  console.log(`\nms, median (5th percentile to 95th)\n${markdownTable([heads, ...rows])}`);
}

function list(of: readonly HeardTurn[]): void {
  for (const heard of of) {
    const { turn } = heard;
    const closes = core()(heard);
    console.log(`${turn.name}: over after ${delayOf(turn, closes)?.toFixed(0) ?? '–'} ms`);
    for (const pause of heard.pauses.filter((candidate) => isCut(candidate, closes))) {
      const said = (turn.words ?? []).filter(({ endMs }) => endMs < pause.startMs + 50).map(({ word }) => word);
      console.log(`  cut off in ${(pause.endMs - pause.startMs).toFixed(0)} ms after "${said.join(' ')}"`);
    }
  }
}

function pausesIn(of: readonly HeardTurn[]): number {
  return of.reduce((sum, { pauses }) => sum + pauses.length, 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
