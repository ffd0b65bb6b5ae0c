/**
 * How far from the labels the detectors put the beginning and the end of speech, and how long until they know.
 *
 *   npm run build && node bench/run.mjs vad-quality
 *
 * Measures `fixtures/audio`, and the recordings with .lab or .rttm labels below the folder that PARLEY_AUDIO_DIR names.
 * `--threshold=0.7` measures at another threshold than 0.5.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HEARING_RATE_HZ, samplesToMs } from '../dist/audio/frame.js';
import { resample } from '../dist/audio/resample.js';
import { decodeWav } from '../dist/audio/wav.js';
import { vadProvider } from '../dist/providers/vad/registry.js';
import { SpeechDetector } from '../dist/providers/vad/speech-detector.js';
import { readLabels, type Labels } from '../dist/testing/labels.js';

interface Stretch {
  startMs: number;
  endMs: number;
}
interface Heard extends Stretch {
  startKnownMs: number;
  endKnownMs: number;
}
interface Recording {
  readonly group: string;
  readonly wav: string;
  readonly labels: Labels;
}

/** Labelled pauses shorter than this are part of the speech: no detector could report them. */
const MERGE_MS = 250;
/** How far from any label a detection must lie to count as false. */
const FALSE_MS = 200;

class Tally {
  stretches = 0;
  missed = 0;
  merged = 0;
  split = 0;
  false = 0;
  silenceMs = 0;
  readonly startErrorMs: number[] = [];
  readonly startKnownMs: number[] = [];
  readonly endErrorMs: number[] = [];
  readonly endKnownMs: number[] = [];

  add(labelled: readonly Stretch[], heard: readonly Heard[], durationMs: number): void {
    this.silenceMs += durationMs - labelled.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
    this.false += heard.filter((detection) => !labelled.some((label) => touches(detection, label, FALSE_MS))).length;
    for (const [index, label] of labelled.entries()) {
      this.stretches++;
      const own = heard.filter((detection) => touches(detection, label, 0));
      const [first, last] = [own[0], own.at(-1)];
      if (first === undefined || last === undefined) {
        this.missed++;
        continue;
      }
      this.split += own.length - 1;
      const before = labelled[index - 1];
      const after = labelled[index + 1];
      if (before !== undefined && touches(first, before, 0)) this.merged++;
      else {
        this.startErrorMs.push(first.startMs - label.startMs);
        this.startKnownMs.push(first.startKnownMs - label.startMs);
      }
      if (after !== undefined && touches(last, after, 0)) continue;
      this.endErrorMs.push(last.endMs - label.endMs);
      this.endKnownMs.push(last.endKnownMs - label.endMs);
    }
  }

  row(): Record<string, string | number> {
    return {
      stretches: this.stretches,
      missed: this.missed,
      merged: this.merged,
      split: this.split,
      'false/min silence': Number((this.false / (this.silenceMs / 60_000)).toFixed(1)),
      'start error': spread(this.startErrorMs),
      'start known': spread(this.startKnownMs),
      'end error': spread(this.endErrorMs),
      'end known': spread(this.endKnownMs),
    };
  }
}

const threshold = Number(process.argv.find((argument) => argument.startsWith('--threshold='))?.split('=')[1] ?? 0.5);
const fixtures = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
const own = process.env['PARLEY_AUDIO_DIR'];
const recordings = [...find(fixtures, 'fixtures'), ...(own === undefined ? [] : find(own, 'own'))];
if (recordings.length === 0)
  throw new Error('there are no labelled recordings: make the fixtures, or set PARLEY_AUDIO_DIR');

const table: Record<string, ReturnType<Tally['row']>> = {};
const groups = [...new Set(recordings.map(({ group }) => group))].sort();
for (const name of ['silero', 'webrtc']) {
  const all = new Tally();
  for (const group of groups) {
    const tally = new Tally();
    for (const recording of recordings) if (recording.group === group) measure(name, recording, [tally, all]);
    table[`${group}, ${name}`] = tally.row();
  }
  table[`all, ${name}`] = all.row();
}
console.log(`threshold ${threshold}; ms, as median (5th percentile to 95th)`);
console.table(table);

function measure(name: string, { wav, labels }: Recording, tallies: readonly Tally[]): void {
  const { samples, sampleRateHz } = decodeWav(readFileSync(wav));
  const audio = resample(samples, sampleRateHz, HEARING_RATE_HZ);
  const detector = vadProvider(name).createDetector();
  const heard: Heard[] = [];
  const ms = (sample: number): number => samplesToMs(sample, HEARING_RATE_HZ);
  const speech = new SpeechDetector(
    detector.windowSamples,
    {
      onSpeechStart: (start, at) =>
        heard.push({ startMs: ms(start), startKnownMs: ms(at), endMs: Infinity, endKnownMs: Infinity }),
      onSpeechEnd: (end, at) => Object.assign(heard.at(-1)!, { endMs: ms(end), endKnownMs: ms(at) }),
    },
    { threshold },
  );
  detector.process(audio, speech.onWindow);
  // A second of silence, so that speech up to the last sample ends too.
  detector.process(new Int16Array(HEARING_RATE_HZ), speech.onWindow);
  detector.close();
  for (const tally of tallies) tally.add(merge(labels.speech), heard, ms(audio.length));
}

/** Stretches of all speakers together, without the pauses that are too short. */
function merge(speech: readonly Stretch[]): Stretch[] {
  const merged: Stretch[] = [];
  for (const { startMs, endMs } of speech) {
    const last = merged.at(-1);
    if (last !== undefined && startMs - last.endMs < MERGE_MS) last.endMs = Math.max(last.endMs, endMs);
    else merged.push({ startMs, endMs });
  }
  return merged;
}

function touches(a: Stretch, b: Stretch, slackMs: number): boolean {
  return a.startMs < b.endMs + slackMs && a.endMs > b.startMs - slackMs;
}

/** Every .wav below `folder` that has labels, grouped by the first folder on its way. */
function find(folder: string, root: string): Recording[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const found: Recording[] = [];
  for (const wav of files.filter((file) => extname(file) === '.wav').sort()) {
    const labels = labelsOf(wav, files);
    const [group = ''] = relative(folder, wav).split('/');
    if (labels !== null) found.push({ group: `${root}/${group}`, wav, labels });
  }
  return found;
}

/** Its own label file, or its part of one .rttm for several recordings in the same folder. */
function labelsOf(wav: string, files: readonly string[]): Labels | null {
  const stem = wav.slice(0, -extname(wav).length);
  const ownFile = ['.json', '.lab', '.rttm'].map((extension) => stem + extension).find((file) => existsSync(file));
  if (ownFile !== undefined) return readLabels(ownFile);
  for (const file of files.filter((name) => extname(name) === '.rttm' && dirname(name) === dirname(wav))) {
    try {
      return readLabels(file, { recording: basename(stem) });
    } catch {
      // That file covers other recordings.
    }
  }
  return null;
}

function spread(values: number[]): string {
  if (values.length === 0) return '-';
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => String(Math.round(sorted[Math.floor(share * (sorted.length - 1))]!));
  return `${at(0.5)} (${at(0.05)} to ${at(0.95)})`;
}
