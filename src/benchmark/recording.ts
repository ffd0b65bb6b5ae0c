import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { FRAME_MS, HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { resample } from '../audio/dsp/resample.js';
import { decodeWav } from '../audio/files/wav.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { vadProvider } from '../providers/vad/registry.js';
import { SpeechDetector } from '../providers/vad/speech-detector.js';
import { type Labels, readLabels } from '../testing/labels/labels.js';
import { turnsOf } from '../testing/labels/turns.js';

/** A person's side of a conversation, with what is known of when they speak. Times in ms from the first sample. */
export interface LabelledRecording {
  /** Its path below the folder, without extension. */
  name: string;
  /** Mono, 16 kHz. */
  samples: Int16Array;
  turns: readonly RecordedTurn[];
  /** Null where the labels have none. */
  words: readonly RecordedWord[] | null;
  /** Who says where turns end: somebody's labels, or the VAD, which is never sooner than the truth by design. */
  labels: 'file' | 'vad';
}

export interface RecordedTurn {
  startMs: number;
  endMs: number;
  /** Null where the labels do not say. */
  text: string | null;
}

export interface RecordedWord {
  word: string;
  startMs: number;
  endMs: number;
}

/** Silence that ends a turn of a recording without labels. */
const TURN_GAP_MS = 1500;

/**
 * The recordings below a folder, in the order of their names: each `.wav` with its labels beside it (`.json` of our own
 * form, `.lab`, `.rttm`), or else with turns that the VAD finds in it, split by silences of 1.5 s. Recordings in which
 * nobody speaks are left out.
 * @throws ParleyError FIXTURES_INVALID naming the file, also where there is none at all
 */
export async function readRecordings(
  folder: string,
  pick: (name: string) => boolean = () => true,
): Promise<LabelledRecording[]> {
  const files = wavFiles(folder).filter((file) => pick(nameOf(folder, file)));
  const recordings: LabelledRecording[] = [];
  for (const file of files) {
    try {
      const recording = await readRecording(file, nameOf(folder, file));
      if (recording.turns.length > 0) recordings.push(recording);
    } catch (error) {
      throw new ParleyError('FIXTURES_INVALID', { path: file, reason: reasonOf(error) }, { cause: error });
    }
  }
  if (recordings.length === 0) {
    throw new ParleyError('FIXTURES_INVALID', { path: folder, reason: 'no recording (.wav) in which somebody speaks' });
  }
  return recordings;
}

function wavFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => extname(path).toLowerCase() === '.wav')
      .sort()
      .map((path) => join(folder, path));
  } catch (error) {
    throw new ParleyError('FIXTURES_INVALID', { path: folder, reason: reasonOf(error) }, { cause: error });
  }
}

function nameOf(folder: string, file: string): string {
  return relative(folder, file).slice(0, -extname(file).length);
}

async function readRecording(file: string, name: string): Promise<LabelledRecording> {
  const wav = decodeWav(readFileSync(file));
  const samples = resample(wav.samples, wav.sampleRateHz, HEARING_RATE_HZ);
  const labels = labelsBeside(file);
  if (labels === null) return { name, samples, turns: await turnsHeard(samples), words: null, labels: 'vad' };
  return { name, samples, turns: turnsLabelled(labels), words: labels.words ?? null, labels: 'file' };
}

/** Turns that are named, or what else the labels tell of them. */
function turnsLabelled(labels: Labels): RecordedTurn[] {
  const { turns, words } = labels;
  if (turns !== undefined) return turns.map(({ startMs, endMs, text }) => ({ startMs, endMs, text }));
  return turnsByLabels(labels).map(({ startMs, endMs }) => {
    const within = words?.filter((word) => word.startMs >= startMs - FRAME_MS && word.startMs < endMs);
    return { startMs, endMs, text: within?.map(({ word }) => word).join(' ') ?? null };
  });
}

async function turnsHeard(samples: Int16Array): Promise<RecordedTurn[]> {
  const provider = vadProvider();
  await provider.warmUp();
  const vad = provider.createDetector();
  const speech: { startMs: number; endMs: number }[] = [];
  const detector = new SpeechDetector(vad.windowSamples, {
    onSpeechStart: (sample) => void speech.push({ startMs: toMs(sample), endMs: toMs(samples.length) }),
    onSpeechEnd: (sample) => Object.assign(speech.at(-1) ?? {}, { endMs: toMs(sample) }),
  });
  vad.process(samples, detector.onWindow);
  // A second of silence, so that speech up to the last sample ends too.
  vad.process(new Int16Array(HEARING_RATE_HZ), detector.onWindow);
  vad.close();
  const turns: RecordedTurn[] = [];
  for (const { startMs, endMs } of speech) {
    const turn = turns.at(-1);
    if (turn !== undefined && startMs - turn.endMs < TURN_GAP_MS) turn.endMs = endMs;
    else turns.push({ startMs, endMs, text: null });
  }
  return turns;
}

function toMs(samples: number): number {
  return samplesToMs(samples, HEARING_RATE_HZ);
}

interface Stretch {
  startMs: number;
  endMs: number;
}

/** A turn by its labels. Times in ms from the recording's first sample. */
export interface TurnByLabels extends Stretch {
  /** Silences inside it that are labelled; null where the labels do not mark short ones. */
  pauses: Stretch[] | null;
  /** Speech of others alone while it lasts. */
  others: Stretch[];
}

/**
 * The labels beside a recording: `.json` of our own form, `.lab`, `.rttm`, which may cover all recordings of its folder;
 * null where there are none.
 * @throws ParleyError LABELS_INVALID
 */
export function labelsBeside(wav: string): Labels | null {
  const stem = wav.slice(0, -extname(wav).length);
  const own = ['.json', '.lab', '.rttm'].map((extension) => stem + extension).find((path) => existsSync(path));
  if (own !== undefined) return readLabels(own);
  for (const path of readdirSync(dirname(wav)).filter((entry) => extname(entry) === '.rttm')) {
    try {
      return readLabels(join(dirname(wav), path), { recording: basename(stem) });
    } catch {
      // That file covers other recordings.
    }
  }
  return null;
}

/** Our own labels name the pauses that end a turn; those of others are found by the rules of `turnsOf`. */
export function turnsByLabels({ speech, pauses }: Labels): TurnByLabels[] {
  if (pauses === undefined) {
    return turnsOf(speech).map((turn) => ({
      startMs: turn.startMs,
      endMs: turn.endMs,
      pauses: null,
      others: turn.speech.slice(1).flatMap(({ startMs }, at) => {
        const gap = { startMs: turn.speech[at]?.endMs ?? 0, endMs: startMs };
        const isSilent = turn.pauses.some((pause) => pause.startMs === gap.startMs);
        return isSilent ? [] : [gap];
      }),
    }));
  }
  const ends = pauses.filter(({ kind }) => kind === 'end-of-turn').map(({ startMs }) => startMs);
  let fromMs = 0;
  return (ends.length > 0 ? ends : speech.slice(-1).map((last) => last.endMs)).flatMap((endMs) => {
    const first = speech.find(({ startMs }) => startMs >= fromMs && startMs < endMs);
    fromMs = endMs;
    if (first === undefined) return [];
    const inside = pauses.filter(({ startMs }) => startMs >= first.startMs && startMs < endMs);
    return [{ startMs: first.startMs, endMs, pauses: inside, others: [] }];
  });
}
