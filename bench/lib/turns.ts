import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../dist/audio/frame.js';
import { resample } from '../../dist/audio/resample.js';
import { decodeWav } from '../../dist/audio/wav.js';
import { vadProvider } from '../../dist/providers/vad/registry.js';
import { SpeechDetector } from '../../dist/providers/vad/speech-detector.js';
import { readFixtureLabels, readLabels, type Labels } from '../../dist/testing/labels.js';

/** A turn of a labelled recording, with what a VAD and a recogniser would tell of it and when. Times in ms. */
export interface Turn {
  name: string;
  group: string;
  language: string;
  /** Labelled silences inside the turn. */
  pauses: Stretch[];
  /** Where it is over, by its label. */
  endMs: number;
  edges: Edge[];
  words: (Stretch & { word: string })[];
}

export interface Stretch {
  startMs: number;
  endMs: number;
}

/** Speech began or ended at `edgeMs`; known at `atMs`. */
export interface Edge {
  type: 'started' | 'stopped';
  atMs: number;
  edgeMs: number;
}

/** Shorter silences belong to the speech. */
const MIN_PAUSE_MS = 150;
/** Silence put after each recording, so that every end can be waited for. */
const SILENCE_MS = 4000;

/** The turns of all labelled recordings below a folder that have words, or a text from which to place them. */
export async function labelledTurns(folder: string, root: string): Promise<Turn[]> {
  if (!existsSync(folder)) return [];
  const vad = vadProvider('silero');
  await vad.warmUp();
  const wavs = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) === '.wav')
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return wavs.flatMap((wav) => {
    const stem = wav.slice(0, -'.wav'.length);
    const name = relative(folder, stem);
    const group = `${root}/${name.split('/')[0] ?? ''}`;
    const labelled = labelsOf(stem);
    if (labelled === null) return [];
    const edges = hear(wav, vad.createDetector());
    return split(labelled.labels, edges).map((turn) => ({ ...turn, name, group, language: labelled.language }));
  });
}

function labelsOf(stem: string): { labels: Labels; language: string } | null {
  if (existsSync(`${stem}.json`)) {
    const labels = readFixtureLabels(`${stem}.json`);
    if (labels.text === '' || labels.events !== undefined) return null;
    const language = /(?:^|\/)(de|es|fr|it|nl)$/u.exec(stem)?.[1] ?? 'en';
    return { labels: { ...labels, words: labels.words ?? placed(labels.text, labels.speech) }, language };
  }
  const file = `${stem}.lab`;
  if (!existsSync(file)) return null;
  const labels = readLabels(file);
  return labels.words === undefined ? null : { labels, language: 'en' };
}

/** Words of a text over the speech it is spoken in, each as long as it has letters. */
function placed(text: string, speech: readonly Stretch[]): (Stretch & { word: string })[] {
  const words = text.match(/[\p{L}\p{M}\p{N}'’-]+/gu) ?? [];
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const totalMs = speech.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  let spokenMs = 0;
  const at = (ms: number): number => {
    let rest = ms;
    for (const { startMs, endMs } of speech) {
      if (rest <= endMs - startMs + 1e-6) return startMs + rest;
      rest -= endMs - startMs;
    }
    return speech.at(-1)?.endMs ?? 0;
  };
  return words.map((word) => {
    const startMs = at(spokenMs + 1);
    spokenMs += (totalMs * word.length) / letters;
    return { word: word.toLowerCase(), startMs, endMs: at(spokenMs) };
  });
}

function hear(wav: string, detector: ReturnType<ReturnType<typeof vadProvider>['createDetector']>): Edge[] {
  const { samples, sampleRateHz } = decodeWav(readFileSync(wav));
  const heard = resample(samples, sampleRateHz, HEARING_RATE_HZ);
  const audio = new Int16Array(heard.length + msToSamples(SILENCE_MS, HEARING_RATE_HZ));
  audio.set(heard);
  const edges: Edge[] = [];
  const ms = (sample: number): number => samplesToMs(sample, HEARING_RATE_HZ);
  const speech = new SpeechDetector(detector.windowSamples, {
    onSpeechStart: (edge, at) => edges.push({ type: 'started', atMs: ms(at), edgeMs: ms(edge) }),
    onSpeechEnd: (edge, at) => edges.push({ type: 'stopped', atMs: ms(at), edgeMs: ms(edge) }),
  });
  detector.process(audio, speech.onWindow);
  detector.close();
  return edges;
}

/** Cuts a recording at the pauses that end a turn. */
function split(labels: Labels, edges: readonly Edge[]): Pick<Turn, 'pauses' | 'endMs' | 'edges' | 'words'>[] {
  const pauses = labels.pauses ?? gaps(labels.speech);
  const words = labels.words ?? [];
  const last = labels.speech.at(-1)?.endMs ?? 0;
  const ends = pauses.filter(({ kind }) => kind === 'end-of-turn').map(({ startMs }) => startMs);
  if (ends.length === 0) ends.push(last);
  let fromMs = 0;
  return ends.map((endMs, at) => {
    const next = labels.speech.find(({ startMs }) => startMs > endMs)?.startMs;
    const untilMs = at === ends.length - 1 || next === undefined ? Infinity : next - 100;
    const within = ({ startMs }: Stretch): boolean => startMs >= fromMs && startMs < endMs;
    const turn = {
      endMs,
      pauses: pauses.filter((pause) => within(pause) && pause.endMs - pause.startMs >= MIN_PAUSE_MS),
      words: words.filter(within),
      edges: edges.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs),
    };
    fromMs = untilMs;
    return turn;
  });
}

function gaps(speech: readonly Stretch[]): NonNullable<Labels['pauses']> {
  return speech.slice(1).map((stretch, at) => {
    return { startMs: speech[at]?.endMs ?? 0, endMs: stretch.startMs, kind: 'inside-turn' as const };
  });
}
