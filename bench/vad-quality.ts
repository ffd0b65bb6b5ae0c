/**
 * How far from the labels the detectors put the beginning and the end of speech, and how long until they know.
 *
 *   npm run build && node bench/run.mjs vad-quality
 *
 * Measures `fixtures/audio`, and the recordings with .lab or .rttm labels below the folder that PARLEY_AUDIO_DIR names.
 * `--threshold=0.7` measures at another threshold than 0.5.
 */
import { fileURLToPath } from 'node:url';
import { vadProvider } from '../dist/providers/vad/registry.js';
import { labelledRecordings } from './lib/turns.js';
import { hearWith, VadTally } from './lib/vad-errors.js';

const threshold = Number(process.argv.find((argument) => argument.startsWith('--threshold='))?.split('=')[1] ?? 0.5);
const fixtures = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
const own = process.env['PARLEY_AUDIO_DIR'];
const recordings = [
  ...labelledRecordings(fixtures, 'fixtures'),
  ...(own === undefined ? [] : labelledRecordings(own, 'own')),
];
if (recordings.length === 0) {
  throw new Error('there are no labelled recordings: make the fixtures, or set PARLEY_AUDIO_DIR');
}

const table: Record<string, ReturnType<VadTally['row']>> = {};
const groups = [...new Set(recordings.map(({ group }) => group))].sort();
for (const name of ['silero', 'silero-gated', 'webrtc']) {
  await vadProvider(name).warmUp();
  const all = new VadTally();
  for (const group of groups) {
    const tally = new VadTally();
    for (const recording of recordings) {
      if (recording.group === group) hearWith(name, recording, threshold, [tally, all]);
    }
    table[`${group}, ${name}`] = tally.row();
  }
  table[`all, ${name}`] = all.row();
}
console.log(`threshold ${String(threshold)}; ms, as median (5th percentile to 95th)`);
console.table(table);
