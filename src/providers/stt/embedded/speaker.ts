/**
 * What a decoder knows of the voice and line that it listens to: the running mean of the spectrum (cepstra), which is
 * taken off every frame. It belongs to a session, not to the decoder: it is put into whichever decoder the session's
 * next turn is given, so that nobody is heard through another user's mean.
 */
export interface SpeakerMean {
  /** What is taken off; stands still within a turn of less than 8 s. */
  readonly mean: Float32Array;
  /** Sum of the frames that the next mean is made of, and their number. */
  readonly sum: Float32Array;
  readonly frames: number;
}

/** Frames (of 10 ms) that an old mean counts as, and number of frames after which it is made to fade: cmn_live.c. */
const WINDOW = 500;
const FADE_AFTER = 800;

/** The mean for the next turn: the decoder does the same at the end of an utterance (`cmn_live_update`). */
export function afterTurn({ mean, sum, frames }: SpeakerMean): SpeakerMean {
  if (frames <= 0) return { mean, sum, frames };
  const next = sum.map((value) => value / frames);
  if (frames <= FADE_AFTER) return { mean: next, sum, frames };
  return { mean: next, sum: sum.map((value) => value * Math.fround(WINDOW / frames)), frames: WINDOW };
}
