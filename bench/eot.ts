/**
 * The end of a turn by the rules of eot-bench (lib/eot/rules.ts): false cut-offs at a mean latency of 300 and 600 ms, mean
 * latency at 5 and 10 % false cut-offs.
 *
 *   npm run build && node bench/run.mjs eot [--data=FILE|FOLDER] [--language=en] [--transcript-lag=500] [--n=COUNT]
 *
 * `--data` has rows of eot-bench's form, as Parquet or JSON lines (huggingface.co/datasets/livekit/eot-bench-data). Without
 * it, rows are made of the labelled turns of `fixtures/audio` and of PARLEY_AUDIO_DIR; `--make=FOLDER` writes them there
 * as rows.jsonl and rows.parquet, and ends. A word is known `--transcript-lag` ms after it was said, and the final
 * transcript as long after the speech; 500 is eot-bench's. `--predictions=FILE` writes the scores for the published harness.
 * `--turn-model=FILE` adds an ONNX turn model, alone and with the words (`--runtime=PACKAGE` runs it). Behind the budgets
 * comes how often a turn was over at each probability, calibrated by one half of the sentences and counted on the other.
 * `--n` takes the first rows only. The intervals hold 95 % of draws of as many turns, with replacement.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Random } from '../dist/base/random.js';
import { OnnxTurnModel } from '../dist/providers/turn/onnx.js';
import { core, delayOf, isCut, type HeardTurn } from './lib/detectors.js';
import { labelledEars, pausesOf } from './lib/ears.js';
import { rowOf, turnOf } from './lib/eot/made-rows.js';
import { type EotRow, readRows, writePredictions, writeRows } from './lib/eot/rows.js';
import {
  baselineOf,
  CUTOFF_BUDGETS,
  fewestCutoffs,
  interval,
  LATENCY_BUDGETS_MS,
  leastLatency,
  pointOf,
  type ScoredTurn,
  type Sweep,
  sweepOf,
} from './lib/eot/rules.js';
import { reliabilityOf, samplesAt } from './lib/eot/reliability.js';
import { scoredByCore, scoredByModel } from './lib/eot/scores.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { labelledRecordings, type Turn, turnsIn } from './lib/turns.js';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    make: { type: 'string' },
    language: { type: 'string' },
    'transcript-lag': { type: 'string', default: '500' },
    predictions: { type: 'string' },
    'turn-model': { type: 'string' },
    runtime: { type: 'string' },
    n: { type: 'string' },
  },
});
/** Where probabilities are held against what became of the silence: the words of most turns are there. */
const SCORE_POINT_MS = 500;
const SEED = 20_261_124;
/** What parley's own recognisers need for a word and for the end of speech. */
const OWN_LAG = { finalMs: 200, interimMs: 150 };

interface Budget {
  head: string;
  of: (sweep: Sweep, turns?: Uint32Array) => number | null;
  text: (value: number) => string;
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const BUDGETS: readonly Budget[] = [
  ...LATENCY_BUDGETS_MS.map((budget) => ({
    head: `cut-offs at ${String(budget)} ms`,
    of: (sweep: Sweep, turns?: Uint32Array) => fewestCutoffs(sweep, budget, turns)?.cutoffRate ?? null,
    text: percent,
  })),
  ...CUTOFF_BUDGETS.map((budget) => ({
    head: `latency at ${String(budget * 100)} %`,
    of: (sweep: Sweep, turns?: Uint32Array) => leastLatency(sweep, budget, turns)?.meanLatencyMs ?? null,
    text: ms,
  })),
];

if (values.make !== undefined) {
  const rows = await madeRows();
  mkdirSync(values.make, { recursive: true });
  for (const name of ['rows.jsonl', 'rows.parquet']) writeRows(join(values.make, name), rows);
  console.log(`${String(rows.length)} rows in ${values.make}`);
} else {
  await measure();
}

async function measure(): Promise<void> {
  const turns: Turn[] = [];
  for await (const row of rowsAsked()) {
    if (values.language !== undefined && row.language !== values.language) continue;
    if (values.n !== undefined && turns.length >= Number(values.n)) break;
    turns.push(await turnOf(row));
  }
  const heardWith = async (finalMs: number, interimMs: number, model: OnnxTurnModel | null): Promise<HeardTurn[]> => {
    const ears = await labelledEars(finalMs, interimMs, model);
    const heard: HeardTurn[] = [];
    for (const turn of turns) heard.push({ turn, reported: await ears(turn), pauses: turn.pauses ?? [] });
    return heard;
  };
  const lagMs = Number(values['transcript-lag']);
  const asPublished = await heardWith(lagMs, lagMs, null);
  const own = await heardWith(OWN_LAG.finalMs, OWN_LAG.interimMs, null);
  const scored = asPublished.map(scoredByCore);
  const scores: [string, ScoredTurn[]][] = [
    [`parley, words after ${String(lagMs)} ms`, scored],
    [`parley, words after ${String(OWN_LAG.finalMs)} ms`, own.map(scoredByCore)],
  ];
  const { 'turn-model': path, runtime } = values;
  if (path !== undefined) {
    const model = new OnnxTurnModel(runtime === undefined ? { path } : { path, runtime });
    const withModel = await heardWith(OWN_LAG.finalMs, OWN_LAG.interimMs, model);
    await model.close();
    scores.push([`parley with the model, words after ${String(OWN_LAG.finalMs)} ms`, withModel.map(scoredByCore)]);
    scores.push(['the model alone', withModel.map(scoredByModel)]);
  }
  const detectors: [string, Sweep][] = [
    ...scores.map(([name, of]) => [name, sweepOf(of)] as [string, Sweep]),
    ['silence alone', baselineOf(scored)],
  ];
  const holds = detectors[0]?.[1].holds.reduce((sum, count) => sum + count, 0) ?? 0;
  console.log(`${String(scored.length)} turns with ${String(holds)} pauses of 0.2 to 5 s\n`);
  showBudgets(detectors);
  showHeldOut(detectors, asPublished);
  showDefault(own);
  for (const [name, of] of scores) showReliability(name, of, asPublished);
  if (values.predictions !== undefined) writeScores(values.predictions, asPublished, scored);
}

/** The best of each budget, with its interval. */
function showBudgets(detectors: readonly [string, Sweep][]): void {
  const random = new Random(SEED);
  const cell = (sweep: Sweep, { of, text }: Budget): string => {
    const value = of(sweep);
    const around = interval(
      sweep,
      (turns) => of(sweep, turns),
      () => random.next(),
    );
    if (value === null) return '–';
    return around === null ? text(value) : `${text(value)} (${text(around[0])} to ${text(around[1])})`;
  };
  console.log(
    markdownTable([
      ['detector', ...BUDGETS.map(({ head }) => head)],
      ...detectors.map(([name, sweep]) => [name, ...BUDGETS.map((budget) => cell(sweep, budget))]),
    ]),
  );
}

/** The knobs set by one half of the sentences, measured on the other. */
function showHeldOut(detectors: readonly [string, Sweep][], heard: readonly HeardTurn[]): void {
  const half = (name: string): Uint32Array =>
    Uint32Array.from(heard.flatMap(({ turn }, at) => (turn.half === name ? [at] : [])));
  const [tuned, heldOut] = [half('tuned'), half('held out')];
  if (tuned.length === 0 || heldOut.length === 0) return;
  const cell = (sweep: Sweep, best: ReturnType<typeof fewestCutoffs>): string => {
    const point = best === null ? null : pointOf(sweep, best.policy, heldOut);
    return point === null ? '–' : `${percent(point.cutoffRate)}, ${ms(point.meanLatencyMs)}`;
  };
  console.log(
    `\nknobs set by ${String(tuned.length)} turns, measured on the ${String(heldOut.length)} of other sentences\n`,
  );
  console.log(
    markdownTable([
      ['detector', ...BUDGETS.map(({ head }) => `for ${head}`)],
      ...detectors.map(([name, sweep]) => [
        name,
        ...LATENCY_BUDGETS_MS.map((budget) => cell(sweep, fewestCutoffs(sweep, budget, tuned))),
        ...CUTOFF_BUDGETS.map((budget) => cell(sweep, leastLatency(sweep, budget, tuned))),
      ]),
    ]),
  );
}

/** The core as it is set by default, without knobs on top. */
function showDefault(heard: readonly HeardTurn[]): void {
  let [pauses, cuts] = [0, 0];
  const delays: number[] = [];
  for (const one of heard) {
    const closes = core()(one);
    const counted = one.pauses.filter(({ startMs, endMs }) => endMs - startMs >= 200 && endMs - startMs <= 5000);
    pauses += counted.length;
    cuts += counted.filter((pause) => isCut(pause, closes)).length;
    const delay = delayOf(one.turn, closes);
    if (delay !== null) delays.push(delay);
  }
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
  console.log(
    `\nthe default, words after ${String(OWN_LAG.finalMs)} ms: ${percent(cuts / pauses)} cut off, ` +
      `mean ${ms(mean)}, p50 ${ms(quantile(delays, 0.5))}, p90 ${ms(quantile(delays, 0.9))}`,
  );
}

/** How often turns were over at each probability. */
function showReliability(name: string, scored: readonly ScoredTurn[], heard: readonly HeardTurn[]): void {
  const half = (which: string) =>
    samplesAt(
      scored.filter((_, at) => heard[at]?.turn.half === which),
      SCORE_POINT_MS,
    );
  const found = reliabilityOf(half('tuned'), half('held out'));
  if (found === null) return;
  const { calibration, bins, brier, brierOfShare } = found;
  console.log(
    `\n${name}, silences of other sentences at ${ms(SCORE_POINT_MS)}: Brier score ${brier.toFixed(3)}, ` +
      `of one probability for all ${brierOfShare.toFixed(3)}; calibration ${JSON.stringify(calibration)}\n`,
  );
  console.log(
    markdownTable([
      ['probability', 'silences', 'mean probability', 'turn was over'],
      ...bins.map(({ from, to, silences, probability, over }) => [
        `${String(from)} to ${String(to)}`,
        String(silences),
        percent(probability),
        percent(over),
      ]),
    ]),
  );
}

function writeScores(path: string, heard: readonly HeardTurn[], scored: readonly ScoredTurn[]): void {
  const predictions = scored.flatMap(({ id, silences }, at) => {
    const { turn, pauses } = heard[at] as HeardTurn;
    const starts = [...pauses, { startMs: turn.endMs }];
    return silences.flatMap(({ label, index, scores }) => {
      const start = (starts[index]?.startMs ?? 0) / 1000;
      return scores.map(({ atMs, probability }) => {
        const timestamp = Number((start + atMs / 1000).toFixed(6));
        const own = { id, language: turn.language, span_index: index, timestamp, label };
        return Object.assign(own, { silence_dur: Number((atMs / 1000).toFixed(6)), p_eot: probability });
      });
    });
  });
  writePredictions(path, predictions);
}

async function* rowsAsked(): AsyncGenerator<EotRow> {
  if (values.data === undefined) yield* await madeRows();
  else yield* readRows(values.data);
}

async function madeRows(): Promise<EotRow[]> {
  const folder = process.env['PARLEY_AUDIO_DIR'];
  const recordings = [
    ...labelledRecordings(fileURLToPath(new URL('../fixtures/audio', import.meta.url)), 'fixtures'),
    ...(folder === undefined ? [] : labelledRecordings(folder, 'own')),
  ];
  const ears = await labelledEars(OWN_LAG.finalMs);
  const rows: EotRow[] = [];
  for (const turn of turnsIn(recordings)) {
    // Labels without short silences: those that Silero hears.
    const pauses = turn.pauses ?? pausesOf(turn, await ears(turn));
    rows.push(rowOf(turn, pauses));
  }
  return rows;
}
