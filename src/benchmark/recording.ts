import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { FRAME_MS, HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { resample } from '../audio/resample.js';
import { decodeWav } from '../audio/wav.js';
import { ParleyError, reasonOf } from '../errors.js';
import { vadProvider } from '../providers/vad/registry.js';
import { SpeechDetector } from '../providers/vad/speech-detector.js';
import type { Labels } from '../testing/labels.js';
import { labelsBeside, turnsByLabels } from './labelled-turns.js';

/** A person's side of a conversation, with what is known of when they speak. Times in ms from the first sample. */
export interface Recording {
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
): Promise<Recording[]> {
  const files = wavFiles(folder).filter((file) => pick(nameOf(folder, file)));
  const recordings: Recording[] = [];
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

async function readRecording(file: string, name: string): Promise<Recording> {
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
