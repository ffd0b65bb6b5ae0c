import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { FRAME_MS, HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { resample } from '../audio/dsp/resample.js';
import { decodeRecording } from '../audio/files/decode.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { vadProvider } from '../providers/vad/registry.js';
import { SpeechDetector } from '../providers/vad/speech-detector.js';
import { type Labels, readLabels } from '../testing/labels/labels.js';
import { turnsOf } from '../testing/labels/turns.js';

/** The user's side of a conversation, with labels. Times in ms from the first sample. */
export interface LabelledRecording {
  /** Its path below the folder, without extension. */
  name: string;
  /** Mono, 16 kHz. */
  samples: Int16Array;
  turns: readonly RecordedTurn[];
  /** Null = the labels have no words. */
  words: readonly RecordedWord[] | null;
  /** Source of the turns: a label file, or the VAD, which never reports an end too early. */
  labels: 'file' | 'vad';
}

export interface RecordedTurn {
  startMs: number;
  endMs: number;
  /** Null = unknown. */
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
 * Reads the recordings below a folder, sorted by name: each `.wav`, and other formats through ffmpeg, with
 * the labels beside it (`.json` in our format, `.lab`, `.rttm`), or without labels, with turns that the VAD finds, split
 * at silences of 1.5 s. Recordings without speech are left out.
 * @throws ParleyError FIXTURES_INVALID naming the file, or the folder if no recording is left
 */
export async function readRecordings(
  folder: string,
  pick: (name: string) => boolean = () => true,
): Promise<LabelledRecording[]> {
  const files = audioFiles(folder).filter((file) => pick(nameOf(folder, file)));
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
    throw new ParleyError('FIXTURES_INVALID', {
      path: folder,
      reason: 'it contains no recording (.wav) with speech; .mp3, .flac, .ogg, .opus and .m4a need ffmpeg',
    });
  }
  return recordings;
}

const EXTENSIONS = ['.wav', '.mp3', '.flac', '.ogg', '.opus', '.m4a'];

/** The recordings below a folder; of several formats of one, the first of `EXTENSIONS`. */
function audioFiles(folder: string): string[] {
  try {
    const found = new Map<string, string>();
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const extension of EXTENSIONS) {
      for (const path of paths.filter((one) => extname(one).toLowerCase() === extension)) {
        const stem = path.slice(0, -extension.length);
        if (!found.has(stem)) found.set(stem, path);
      }
    }
    return [...found.values()].sort().map((path) => join(folder, path));
  } catch (error) {
    throw new ParleyError('FIXTURES_INVALID', { path: folder, reason: reasonOf(error) }, { cause: error });
  }
}

function nameOf(folder: string, file: string): string {
  return relative(folder, file).slice(0, -extname(file).length);
}

async function readRecording(file: string, name: string): Promise<LabelledRecording> {
  const audio = await decodeRecording(readFileSync(file));
  const samples = resample(audio.samples, audio.sampleRateHz, HEARING_RATE_HZ);
  const labels = labelsBeside(file);
  if (labels === null) return { name, samples, turns: await turnsHeard(samples), words: null, labels: 'vad' };
  return { name, samples, turns: turnsLabelled(labels), words: labels.words ?? null, labels: 'file' };
}

/** The labelled turns, or turns derived from the other labels. */
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
  // A second of silence ends speech that lasts up to the last sample.
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

/** A turn derived from labels. Times in ms from the recording's first sample. */
export interface TurnByLabels extends Stretch {
  /** Labelled silences inside the turn; null = the labels do not mark short silences. */
  pauses: Stretch[] | null;
  /** Stretches in the turn in which only others speak. */
  others: Stretch[];
}

/**
 * Reads the labels beside a recording: `.json` in our format, `.lab`, or `.rttm`, which may cover the whole folder. Null =
 * no labels.
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
      // The file covers other recordings.
    }
  }
  return null;
}

/** Derives turns from labels: our own mark the pauses that end a turn; for others `turnsOf` finds them. */
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
