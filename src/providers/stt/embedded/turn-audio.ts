import { AudioHistory } from '../../../audio/audio-history.js';
import { HEARING_RATE_HZ, msToSamples } from '../../../audio/frame.js';

/** Audio is decoded in chunks of this length, counted from the start of the turn. */
export const CHUNK_SAMPLES = msToSamples(100, HEARING_RATE_HZ);
/** Audio before the VAD's onset that is decoded: covers soft beginnings and late detection. */
const PRE_ROLL_SAMPLES = msToSamples(350, HEARING_RATE_HZ);
/** Longest pause within a turn that is decoded in full; of a longer one only the pre-roll is. */
const HISTORY_SAMPLES = msToSamples(1200, HEARING_RATE_HZ);
/** Silence that the decoder needs after the last word. */
const TAIL_SAMPLES = msToSamples(150, HEARING_RATE_HZ);
/** Longest turn that is decoded. Beyond it (a television, a line on hold) the transcript does not change. */
const MAX_TURN_SAMPLES = msToSamples(120_000, HEARING_RATE_HZ);

/**
 * Selects the audio to decode: speech marked by the VAD, the pre-roll, and pauses within a turn, in chunks. Audio
 * outside speech is skipped, so an idle session costs nothing. Works on sample counts only.
 */
export class TurnAudio {
  readonly #history = new AudioHistory(HISTORY_SAMPLES);
  #pending = new Int16Array(CHUNK_SAMPLES);
  #pendingSamples = 0;
  #speaking = false;
  /** Position after the last sample of the turn. */
  #takenTo = 0;
  #turnSamples = 0;
  /** Maps the turn's audio to the session: from `turn` on, at `session`. */
  #places: { turn: number; session: number }[] = [];

  /** Whether a turn is open. */
  get inTurn(): boolean {
    return this.#places.length > 0;
  }

  get speaking(): boolean {
    return this.#speaking;
  }

  /** Adds audio; returns the chunks that are complete. */
  push(samples: Int16Array, startSample: number): Int16Array[] {
    const jumped = startSample !== this.#history.end;
    this.#history.write(samples, startSample);
    if (!this.#speaking) return [];
    if (jumped) this.#places.push({ turn: this.#turnSamples, session: startSample });
    this.#takenTo = startSample + samples.length;
    return this.#take(samples);
  }

  /** Speech began at `sample`. Returns the chunks that are complete. */
  speechStarted(sample: number): Int16Array[] {
    if (this.#speaking) return [];
    this.#speaking = true;
    const resumes = this.inTurn && this.#takenTo >= this.#history.start;
    // Never from before the end of the previous turn: it would be transcribed twice.
    const from = resumes ? this.#takenTo : Math.max(sample - PRE_ROLL_SAMPLES, this.#takenTo, this.#history.start);
    const audio = this.#history.readFrom(from);
    this.#places.push({ turn: this.#turnSamples, session: this.#history.end - audio.length });
    this.#takenTo = this.#history.end;
    return this.#take(audio);
  }

  /** Speech ended at `sample`. Returns the rest of the turn's audio so far, padded with silence if it is short. */
  speechStopped(sample: number): Int16Array {
    if (!this.#speaking) return new Int16Array(0);
    this.#speaking = false;
    const quiet = Math.max(0, this.#takenTo - sample);
    const padding = Math.max(0, TAIL_SAMPLES - quiet);
    const rest = new Int16Array(this.#pendingSamples + padding);
    rest.set(this.#pending.subarray(0, this.#pendingSamples));
    this.#pendingSamples = 0;
    this.#turnSamples += padding;
    return rest;
  }

  /** Ends the turn. Ongoing speech belongs to the next one. */
  endTurn(): void {
    this.#pendingSamples = 0;
    this.#turnSamples = 0;
    this.#places = this.#speaking ? [{ turn: 0, session: this.#takenTo }] : [];
  }

  /** Maps positions in the current turn's audio to the session's; the map outlives the turn. */
  places(): (turnSample: number) => number {
    const places = this.#places;
    return (turnSample) => {
      let place = places[0];
      for (const next of places) if (next.turn <= turnSample) place = next;
      return place === undefined ? turnSample : place.session + turnSample - place.turn;
    };
  }

  #take(samples: Int16Array): Int16Array[] {
    const chunks: Int16Array[] = [];
    let rest = samples.subarray(0, Math.max(0, MAX_TURN_SAMPLES - this.#turnSamples));
    this.#turnSamples += rest.length;
    while (rest.length > 0) {
      const part = rest.subarray(0, CHUNK_SAMPLES - this.#pendingSamples);
      this.#pending.set(part, this.#pendingSamples);
      this.#pendingSamples += part.length;
      rest = rest.subarray(part.length);
      if (this.#pendingSamples < CHUNK_SAMPLES) continue;
      chunks.push(this.#pending);
      this.#pending = new Int16Array(CHUNK_SAMPLES);
      this.#pendingSamples = 0;
    }
    return chunks;
  }
}
