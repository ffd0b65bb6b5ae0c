import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { HEARING_RATE_HZ, msToSamples } from '../../dist/audio/frame.js';
import { resample } from '../../dist/audio/dsp/resample.js';
import { decodeWav } from '../../dist/audio/files/wav.js';
import { labelsBeside, turnsByLabels } from '../../dist/benchmark/recording.js';
import { type Labels, readFixtureLabels } from '../../dist/testing/labels/labels.js';

/** A labelled turn and its sound. Times in ms from the sound's first sample. */
export interface Turn {
  name: string;
  group: string;
  /** Which half it belongs to: rules may be fitted to one, and are judged by the other. */
  half: 'tuned' | 'held out';
  language: string;
  /** What the agent had said, empty = nothing that the turn answers. */
  after: string;
  /** 16 kHz, with silence behind it so that every end can be waited for. */
  audio: Int16Array;
  /** Labelled silences inside the turn; null where the labels do not mark short ones. */
  pauses: Stretch[] | null;
  /** Where it is over. */
  endMs: number;
  /** Null where the labels have none. */
  words: (Stretch & { word: string })[] | null;
}

export interface Stretch {
  startMs: number;
  endMs: number;
}

/** A recording with its labels. */
export interface Labelled {
  name: string;
  group: string;
  wav: string;
  labels: Labels;
  language: string;
  after: string;
  text: string;
}

/** Shorter silences belong to the speech. */
export const MIN_PAUSE_MS = 150;
/** Sound that is kept before a turn that is cut out of a recording. */
const LEAD_MS = 300;
const SILENCE_MS = 4000;
/** Chooses the halves: other numbers choose others. */
const SPLIT_SEED = 3;

/** The labelled recordings below a folder. */
export function labelledRecordings(folder: string, root: string): Labelled[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return files
    .filter((file) => extname(file) === '.wav')
    .sort()
    .flatMap((wav) => {
      const name = relative(folder, wav).slice(0, -'.wav'.length);
      const read = labelsOf(wav);
      return read === null ? [] : [{ name, group: `${root}/${name.split('/')[0] ?? ''}`, wav, ...read }];
    });
}

/** The turns of recordings, each on its own: what is said after it, or by others in its silences, is left out. */
export function turnsIn(recordings: readonly Labelled[]): Turn[] {
  return recordings.flatMap((recording) => {
    const { labels, name, group, language, after, text, wav } = recording;
    if (labels.events !== undefined || labels.speech.length === 0) return [];
    const { samples, sampleRateHz } = decodeWav(readFileSync(wav));
    const audio = resample(samples, sampleRateHz, HEARING_RATE_HZ);
    return turnsByLabels(labels).map(({ startMs, endMs, pauses, others }, at) => {
      // What comes behind it until somebody speaks again belongs to its sound.
      const untilMs = nextAfter(endMs, labels.speech);
      const fromMs = Math.max(0, startMs - LEAD_MS);
      const local = <T extends Stretch>(it: T): T => ({
        ...it,
        startMs: it.startMs - fromMs,
        endMs: it.endMs - fromMs,
      });
      const { words } = labels;
      return {
        name: at === 0 ? name : `${name} ${String(at + 1)}`,
        group,
        half: halfOf(text === '' ? name : text),
        language,
        after,
        audio: alone(audio, fromMs, untilMs, others),
        pauses: pauses?.filter((pause) => pause.endMs - pause.startMs >= MIN_PAUSE_MS).map(local) ?? null,
        endMs: endMs - fromMs,
        words: words?.filter((word) => word.startMs >= startMs - 50 && word.startMs < endMs).map(local) ?? null,
      };
    });
  });
}

/** By sentence, so that the same words in another voice or noise are in the same half (FNV-1a). */
export function halfOf(text: string): Turn['half'] {
  let hash = 2_166_136_261 ^ SPLIT_SEED;
  for (const letter of text.toLowerCase()) hash = Math.imul(hash ^ letter.charCodeAt(0), 16_777_619) >>> 0;
  return (hash >>> 15) % 2 === 0 ? 'tuned' : 'held out';
}

function labelsOf(wav: string): Pick<Labelled, 'labels' | 'language' | 'after' | 'text'> | null {
  const own = `${wav.slice(0, -extname(wav).length)}.json`;
  if (existsSync(own)) {
    const labels = readFixtureLabels(own);
    const language = /^(de|es|fr|it|nl|pt)(?:-|$)/u.exec(basename(own))?.[1] ?? 'en';
    return { labels, language, after: labels.after ?? '', text: labels.text };
  }
  const labels = labelsBeside(wav);
  return labels === null ? null : { labels, language: 'en', after: '', text: '' };
}

/** Where somebody begins to speak, or still speaks, behind the end of a turn. */
function nextAfter(endMs: number, speech: readonly Stretch[]): number {
  const marginMs = 20; // labels are not that exact, and a voice fades
  const later = speech.filter((stretch) => stretch.endMs > endMs).map(({ startMs }) => startMs);
  return Math.max(endMs + marginMs, Math.min(...later) - 100);
}

function alone(audio: Int16Array, fromMs: number, untilMs: number, others: readonly Stretch[]): Int16Array {
  const at = (ms: number): number => Math.min(audio.length, msToSamples(ms, HEARING_RATE_HZ));
  const own = audio.slice(at(fromMs), at(untilMs));
  for (const { startMs, endMs } of others) own.fill(0, at(startMs - fromMs), at(endMs - fromMs));
  const whole = new Int16Array(own.length + msToSamples(SILENCE_MS, HEARING_RATE_HZ));
  whole.set(own);
  return whole;
}
