import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeWav, encodeWav, type WavAudio } from '../../audio/files/wav.js';
import { ParleyError } from '../../base/errors.js';
import { cutSpeech } from '../../eval/from-call.js';
import type { EvalCase, EvalSuite } from '../../eval/suite/suite-schema.js';

/** A stretch of a call's recording, in milliseconds: `call:SESSION_ID#1200-3400`. */
const TURN = /^call:([\w.~%!*'()-]+)#(\d{1,9})-(\d{1,9})$/;

/** The name of a stretch of a call's recording, for `play`. */
export function turnName(sessionId: string, fromMs: number, toMs: number): string {
  return `call:${encodeURIComponent(sessionId)}#${String(Math.max(0, Math.round(fromMs)))}-${String(Math.round(toMs))}`;
}

export function isTurnName(name: string): boolean {
  return parsed(name) !== null;
}

/** Null = it names no stretch of a recording. */
function parsed(name: string): { sessionId: string; fromMs: number; toMs: number } | null {
  const found = TURN.exec(name);
  if (found === null) return null;
  const [fromMs, toMs] = [Number(found[2]), Number(found[3])];
  try {
    return fromMs < toMs ? { sessionId: decodeURIComponent(found[1] ?? ''), fromMs, toMs } : null;
  } catch {
    return null; // a percent sign without an escape
  }
}

/**
 * Writes the recorded turns that a suite plays into a folder.
 * @param recordingOf a call's recording; null or a rejection with NOT_FOUND = it is gone
 * @returns the suite with the names of files. A turn whose recording is gone keeps its name: only its case fails
 */
export async function withRecordedTurns(
  suite: EvalSuite,
  folder: string,
  recordingOf: (sessionId: string) => Promise<Buffer | null>,
): Promise<EvalSuite> {
  const recordings = new Map<string, WavAudio | null>();
  const files = new Map<string, string>();
  for (const name of namesIn(suite)) {
    const turn = parsed(name);
    if (turn === null) continue;
    const { sessionId, fromMs, toMs } = turn;
    let audio = recordings.get(sessionId);
    if (audio === undefined) recordings.set(sessionId, (audio = await read(sessionId, recordingOf)));
    if (audio === null) continue;
    const file = `turn-${String(files.size + 1)}.wav`;
    await writeFile(join(folder, file), encodeWav(cutSpeech(audio, fromMs, toMs), audio.sampleRateHz));
    files.set(name, file);
  }
  if (files.size === 0) return suite;
  const named = <T extends { caller?: EvalCase['caller'] }>(part: T): T => {
    const { caller } = part;
    if (caller === undefined || !('script' in caller)) return part;
    const script = caller.script.map((step) =>
      'play' in step ? { play: files.get(step.play) ?? step.play, text: step.text } : step,
    );
    return { ...part, caller: { script } };
  };
  const changed: EvalSuite = { ...suite, cases: suite.cases.map(named) };
  if (suite.defaults !== undefined) changed.defaults = named(suite.defaults);
  return changed;
}

function namesIn({ cases, defaults = {} }: EvalSuite): Set<string> {
  const played = [defaults, ...cases].flatMap(({ caller }) =>
    caller !== undefined && 'script' in caller
      ? caller.script.flatMap((step) => ('play' in step ? [step.play] : []))
      : [],
  );
  return new Set(played);
}

/** The user's channel; null = the recording is gone. */
async function read(
  sessionId: string,
  recordingOf: (sessionId: string) => Promise<Buffer | null>,
): Promise<WavAudio | null> {
  try {
    const recording = await recordingOf(sessionId);
    return recording === null ? null : decodeWav(recording, { channel: 0 });
  } catch (error) {
    if (error instanceof ParleyError && !error.retryable) return null;
    throw error;
  }
}
