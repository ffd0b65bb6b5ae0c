import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { type Labels, readLabels } from '../testing/labels.js';
import { turnsOf } from '../testing/turns.js';

interface Stretch {
  startMs: number;
  endMs: number;
}

/** A turn by its labels. Times in ms from the recording's first sample. */
export interface LabelledTurn extends Stretch {
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
export function turnsByLabels({ speech, pauses }: Labels): LabelledTurn[] {
  if (pauses === undefined) {
    return turnsOf(speech).map((turn) => ({
      ...{ startMs: turn.startMs, endMs: turn.endMs, pauses: null },
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
