/**
 * A decoder's adaptation to voice and line: the running cepstral mean, which is subtracted from every frame. It belongs
 * to a session and not to the decoder: each turn loads it into the leased decoder, so that sessions do not affect one
 * another.
 */
export interface SpeakerMean {
  /** The subtracted mean; constant within a turn of less than 8 s. */
  readonly mean: Float32Array;
  /** Sum and number of the frames for the next mean. */
  readonly sum: Float32Array;
  readonly frames: number;
}

/** Weight of an old mean in frames (of 10 ms), and the number of frames after which it decays: cmn_live.c. */
const WINDOW = 500;
const FADE_AFTER = 800;

/** The mean for the next turn, computed as the decoder does at the end of an utterance (`cmn_live_update`). */
export function afterTurn({ mean, sum, frames }: SpeakerMean): SpeakerMean {
  if (frames <= 0) return { mean, sum, frames };
  const next = sum.map((value) => value / frames);
  if (frames <= FADE_AFTER) return { mean: next, sum, frames };
  return { mean: next, sum: sum.map((value) => value * Math.fround(WINDOW / frames)), frames: WINDOW };
}
