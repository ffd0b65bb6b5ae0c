/**
 * What happens when somebody speaks while the agent does.
 *
 *   npm run build && node bench/run.mjs interruption
 *
 * An agent tells a story; three seconds into it a recording of `fixtures/audio` is played over it: interruptions,
 * acknowledgements, and noise in which nobody speaks. In virtual time, with a recogniser that knows the words and takes
 * as long as services do, and with the embedded one.
 *
 * - `stopped after`: from the first sample that came in, as labelled, to the last one that the agent sent.
 * - `taken`: the agent gave up what it was saying, as it should for an interruption only.
 * - `fell silent`: it paused, and went on.
 * - `at the right sample`: of those, how many went on at the sample after the last one that was sent.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HEARING_RATE_HZ } from '../dist/audio/frame.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { decodeWav } from '../dist/audio/files/wav.js';
import { readRecordings, type LabelledRecording } from '../dist/benchmark/recording.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { talkOver, type TalkedOver } from './lib/talked-over.js';

const fixtures = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
const groups: [name: string, recordings: LabelledRecording[]][] = [
  ['interruptions', await readRecordings(fixtures, (name) => name.startsWith('interruptions/'))],
  ['acknowledgements', await readRecordings(fixtures, (name) => name.startsWith('acknowledgements/'))],
  ['noise, nobody speaks', silent()],
];
const rows: (string | number)[][] = [];
for (const embedded of [false, true]) {
  for (const [name, recordings] of groups) {
    const all: TalkedOver[] = [];
    for (const recording of recordings) all.push(await talkOver(recording, embedded));
    rows.push(row(`${name}, ${embedded ? 'embedded recogniser' : 'words known'}`, all));
  }
}
const heads = [
  'recordings',
  'taken',
  'stopped after, ms p50',
  'p95',
  'fell silent',
  'for, ms p50',
  'at the right sample',
];
console.log(`${markdownTable([['', ...heads], ...rows])}\n\n${machine()}`);
process.exit(0);

function row(name: string, all: readonly TalkedOver[]): (string | number)[] {
  const stops = all.filter(({ taken }) => taken).flatMap(({ stopMs }) => stopMs ?? []);
  const held = all.flatMap(({ heldMs }) => heldMs ?? []);
  const exact = all.filter(({ offSamples }) => offSamples === 0).length;
  return [
    name,
    all.length,
    all.filter(({ taken }) => taken).length,
    ...(stops.length === 0 ? ['–', '–'] : [quantile(stops, 0.5), quantile(stops, 0.95)]),
    held.length,
    held.length === 0 ? '–' : quantile(held, 0.5),
    held.length === 0 ? '–' : `${String(exact)} of ${String(held.length)}`,
  ];
}

/** Recordings in which there is nothing to hear but noise. */
function silent(): LabelledRecording[] {
  const folder = join(fixtures, 'noise');
  const files = readdirSync(folder).filter((file) => file.endsWith('-alone.wav'));
  return files.map((file) => {
    const wav = decodeWav(readFileSync(join(folder, file)));
    const samples = resample(wav.samples, wav.sampleRateHz, HEARING_RATE_HZ);
    return { name: file, samples, turns: [], words: [], labels: 'file' };
  });
}
