/**
 * How soon the end of a turn is known, against how often a pause inside one is taken for it.
 *
 *   npm run build && node bench/run.mjs turn-taking [--final-ms=200] [--verbose]
 *
 * Plays the turns of `fixtures/audio`, and of the recordings with .lab word labels (or labels in our JSON) below the
 * folder that PARLEY_AUDIO_DIR names, through Silero. The labelled words are what a recogniser gives: an interim
 * transcript 150 ms after each word, the final one `--final-ms` after the end of speech, without punctuation. The
 * conversation core decides. Its curve is over the scale of `minSilenceMs` and `maxSilenceMs`; the baseline, in the same
 * run over the same speech edges, closes a turn after a fixed silence and knows no words.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DEFAULT_CONVERSATION } from '../dist/conversation/config.js';
import { Conversation } from '../dist/conversation/conversation.js';
import type { ConversationEvent } from '../dist/conversation/events.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { labelledTurns, type Turn } from './lib/turns.js';

const { values } = parseArgs({
  options: {
    'final-ms': { type: 'string', default: '200' },
    min: { type: 'string', default: String(DEFAULT_CONVERSATION.endpointing.minSilenceMs) },
    max: { type: 'string', default: String(DEFAULT_CONVERSATION.endpointing.maxSilenceMs) },
    verbose: { type: 'boolean', default: false },
  },
});
const FINAL_MS = Number(values['final-ms']);
const INTERIM_MS = 150;
const SCALES = [0.25, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2];
const SILENCES = [
  100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 900, 1000, 1100, 1200, 1300, 1500, 1800,
];

/** When a detector took the turn for over, in order; the last one at or after its true end. */
type Detector = (turn: Turn) => number[];

interface Point {
  name: string;
  /** Of the labelled pauses inside turns, those in which the turn was closed; 0..1. */
  cut: number;
  p50: number;
  mean: number;
  p90: number;
}

const own = process.env['PARLEY_AUDIO_DIR'];
const turns = [
  ...(await labelledTurns(fileURLToPath(new URL('../fixtures/audio', import.meta.url)), 'fixtures')),
  ...(own === undefined ? [] : await labelledTurns(own, 'own')),
];
const pauses = turns.reduce((sum, turn) => sum + turn.pauses.length, 0);
console.log(
  `${String(turns.length)} turns with ${String(pauses)} labelled pauses inside; final transcripts after ${String(FINAL_MS)} ms\n`,
);

const baseline = SILENCES.map((silenceMs) => measure(String(silenceMs), turns, plainSilence(silenceMs)));
const scored = SCALES.map((scale) => measure(String(scale), turns, core(scale)));
const row = ({ name, cut, p50, mean, p90 }: Point): (string | number)[] => [name, percent(cut), p50, mean, p90];
console.log(
  markdownTable([
    ['scale', 'false cut-offs', 'delay p50', 'mean', 'p90', 'baseline p50 at as many', 'mean', 'p50 less by', 'mean'],
    ...scored.map((point) => {
      const equal = atCut(baseline, point.cut);
      const less = (own: number, other: number): string => percent(1 - own / other);
      return [...row(point), equal.p50, equal.mean, less(point.p50, equal.p50), less(point.mean, equal.mean)];
    }),
  ]),
);
console.log(
  `\nplain silence, ms\n${markdownTable([['silence', 'false cut-offs', 'delay p50', 'mean', 'p90'], ...baseline.map(row)])}`,
);
const groups = [...new Set(turns.map(({ group }) => group))].sort();
console.log(
  `\nscale 1 by recordings\n${markdownTable([
    ['recordings', 'turns', 'pauses', 'false cut-offs', 'delay p50', 'mean', 'p90'],
    ...groups.map((group) => {
      const of = turns.filter((turn) => turn.group === group);
      const { cut, p50, mean, p90 } = measure(group, of, core(1));
      const inside = of.reduce((sum, turn) => sum + turn.pauses.length, 0);
      return [group, String(of.length), String(inside), inside === 0 ? '–' : percent(cut), p50, mean, p90];
    }),
  ])}`,
);
if (values.verbose) {
  for (const turn of turns) {
    const closes = core(1)(turn);
    const delay = (closes.find((ms) => ms >= turn.endMs) ?? Number.NaN) - turn.endMs;
    console.log(`${turn.name}: over after ${delay.toFixed(0)} ms`);
    for (const pause of turn.pauses.filter((candidate) => isCut(candidate, closes))) {
      const said = turn.words.filter(({ endMs }) => endMs < pause.startMs + 50).map(({ word }) => word);
      console.log(`  cut off in ${(pause.endMs - pause.startMs).toFixed(0)} ms after "${said.join(' ')}"`);
    }
  }
}

function measure(name: string, of: readonly Turn[], detector: Detector): Point {
  let inside = 0;
  let cut = 0;
  const delays: number[] = [];
  for (const turn of of) {
    const closes = detector(turn);
    inside += turn.pauses.length;
    cut += turn.pauses.filter((pause) => isCut(pause, closes)).length;
    const end = closes.find((atMs) => atMs >= turn.endMs - 50);
    if (end !== undefined) delays.push(end - turn.endMs);
  }
  const mean = delays.reduce((sum, ms) => sum + ms, 0) / delays.length;
  return { name, cut: inside === 0 ? 0 : cut / inside, p50: quantile(delays, 0.5), mean, p90: quantile(delays, 0.9) };
}

/** Closed in the pause, or before the VAD could know that it was over. */
function isCut(pause: { startMs: number; endMs: number }, closes: readonly number[]): boolean {
  return closes.some((atMs) => atMs > pause.startMs && atMs < pause.endMs + 100);
}

function plainSilence(silenceMs: number): Detector {
  return ({ edges }) =>
    edges.flatMap((edge, at) => {
      if (edge.type !== 'stopped') return [];
      const closeMs = Math.max(edge.atMs, edge.edgeMs + silenceMs);
      return closeMs < (edges[at + 1]?.atMs ?? Infinity) ? [closeMs] : [];
    });
}

function core(scale: number): Detector {
  const { endpointing } = DEFAULT_CONVERSATION;
  const config = {
    ...DEFAULT_CONVERSATION,
    opening: { ...DEFAULT_CONVERSATION.opening, userStarts: true, userStartTimeoutMs: 1e9 },
    speculation: { enabled: false },
    endpointing: { ...endpointing, minSilenceMs: Number(values.min) * scale, maxSilenceMs: Number(values.max) * scale },
  };
  return (turn) => {
    const conversation = new Conversation({ ...config, language: turn.language });
    const closes: number[] = [];
    const step = (event: ConversationEvent, atMs: number): void => {
      for (const effect of conversation.step(event, atMs)) if (effect.type === 'user.said') closes.push(atMs);
    };
    step({ type: 'line.opened' }, 0);
    const wait = (untilMs: number): void => {
      for (
        let due = conversation.nextDeadlineMs;
        due !== undefined && due < untilMs;
        due = conversation.nextDeadlineMs
      ) {
        step({ type: 'time' }, due);
      }
    };
    for (const { atMs, event } of heard(turn)) {
      wait(atMs);
      step(event, atMs);
    }
    wait(turn.endMs + 5000);
    return closes;
  };
}

/** What a session would tell the core of a turn, in order. */
function heard({ edges, words }: Turn): { atMs: number; event: ConversationEvent }[] {
  const events: { atMs: number; event: ConversationEvent }[] = [];
  let segment = -1;
  let said = 0;
  let startMs = 0;
  for (const { type, atMs, edgeMs } of edges) {
    if (type === 'started') {
      segment++;
      startMs = atMs;
      events.push({ atMs, event: { type: 'speech.started', startMs: edgeMs } });
      continue;
    }
    events.push({ atMs, event: { type: 'speech.stopped', endMs: edgeMs } });
    const spoken = words.slice(said).filter((word) => (word.startMs + word.endMs) / 2 < edgeMs);
    said += spoken.length;
    const tell = (at: number, count: number, isFinal: boolean): void => {
      const text = spoken
        .slice(0, count)
        .map(({ word }) => word)
        .join(' ');
      events.push({ atMs: at, event: { type: 'transcript', segment, text, isFinal, understood: true } });
    };
    const finalMs = Math.max(atMs, edgeMs + FINAL_MS);
    for (const [index, word] of spoken.entries()) {
      const interimMs = Math.max(startMs, word.endMs + INTERIM_MS);
      if (interimMs < finalMs) tell(interimMs, index + 1, false);
    }
    tell(finalMs, spoken.length, true);
  }
  return events.sort((a, b) => a.atMs - b.atMs);
}

/** Where the baseline's curve has as many false cut-offs, between its points. */
function atCut(curve: readonly Point[], cut: number): { p50: number; mean: number } {
  const after = curve.findIndex((point) => point.cut <= cut);
  const [low, high] = [curve[after - 1], curve[after]];
  if (high === undefined) return { p50: Number.NaN, mean: Number.NaN };
  if (low === undefined || low.cut === high.cut) return high;
  const share = (low.cut - cut) / (low.cut - high.cut);
  const between = (a: number, b: number): number => a + share * (b - a);
  return { p50: between(low.p50, high.p50), mean: between(low.mean, high.mean) };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
