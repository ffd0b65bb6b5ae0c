import { HEARING_RATE_HZ, msToSamples } from '../../../audio/frame.js';

/** The last stretch of a session's audio, kept so that speech can be decoded from a little before it was noticed. */
export class AudioHistory {
  readonly #ring: Int16Array;
  #end = 0;
  #length = 0;

  constructor(capacitySamples: number) {
    this.#ring = new Int16Array(capacitySamples);
  }

  /** Position of the oldest sample that is kept. */
  get start(): number {
    return this.#end - this.#length;
  }

  /** Position after the newest sample. */
  get end(): number {
    return this.#end;
  }

  /** Adds audio that starts at `startSample`. A jump in the count empties the history first. */
  write(samples: Int16Array, startSample: number): void {
    if (startSample !== this.#end) {
      this.#length = 0;
      this.#end = startSample;
    }
    const capacity = this.#ring.length;
    this.#end += samples.length;
    const kept = samples.length > capacity ? samples.subarray(samples.length - capacity) : samples;
    const at = (this.#end - kept.length) % capacity;
    const first = Math.min(kept.length, capacity - at);
    this.#ring.set(kept.subarray(0, first), at);
    this.#ring.set(kept.subarray(first), 0);
    this.#length = Math.min(capacity, this.#length + kept.length);
  }

  /** A copy of the audio from `fromSample` (or the oldest that is kept) to the newest. */
  readFrom(fromSample: number): Int16Array {
    const from = Math.min(this.#end, Math.max(fromSample, this.start));
    const copy = new Int16Array(this.#end - from);
    const at = from % this.#ring.length;
    const first = Math.min(copy.length, this.#ring.length - at);
    copy.set(this.#ring.subarray(at, at + first), 0);
    copy.set(this.#ring.subarray(0, copy.length - first), first);
    return copy;
  }
}

/** Audio is decoded in pieces of this length, counted from the turn's start. */
export const CHUNK_SAMPLES = msToSamples(100, HEARING_RATE_HZ);
/** How much audio before the VAD's onset is decoded: soft beginnings, and what the VAD noticed late. */
const PRE_ROLL_SAMPLES = msToSamples(350, HEARING_RATE_HZ);
/** Longest pause inside a turn that is decoded in full; of a longer one only the pre-roll is. */
const HISTORY_SAMPLES = msToSamples(1200, HEARING_RATE_HZ);
/** Quiet that the decoder needs after the last word to be sure of it. */
const TAIL_SAMPLES = msToSamples(150, HEARING_RATE_HZ);
/** Longest turn that is decoded. Beyond it (a television, a held line) the transcript stands still. */
const MAX_TURN_SAMPLES = msToSamples(120_000, HEARING_RATE_HZ);

/**
 * Decides which audio of a session is decoded: the speech the VAD marks, a little before it, and the pauses inside a
 * turn, in chunks. Nothing outside speech, so an idle session costs nothing. Counts samples only.
 */
export class TurnAudio {
  readonly #history = new AudioHistory(HISTORY_SAMPLES);
  #pending = new Int16Array(CHUNK_SAMPLES);
  #pendingSamples = 0;
  #speaking = false;
  /** Position after the last sample that was taken for the turn. */
  #takenTo = 0;
  #turnSamples = 0;
  /** Where in the session the turn's audio lies: from `turn` on, at `session`. */
  #places: { turn: number; session: number }[] = [];

  /** A turn has begun that has not been ended. */
  get inTurn(): boolean {
    return this.#places.length > 0;
  }

  get speaking(): boolean {
    return this.#speaking;
  }

  /** Takes audio in; returns the chunks that are full now. */
  push(samples: Int16Array, startSample: number): Int16Array[] {
    const jumped = startSample !== this.#history.end;
    this.#history.write(samples, startSample);
    if (!this.#speaking) return [];
    if (jumped) this.#places.push({ turn: this.#turnSamples, session: startSample });
    this.#takenTo = startSample + samples.length;
    return this.#take(samples);
  }

  /** Speech began at `sample`. Returns the chunks that are full now. */
  speechStarted(sample: number): Int16Array[] {
    if (this.#speaking) return [];
    this.#speaking = true;
    const resumes = this.inTurn && this.#takenTo >= this.#history.start;
    // Never from before the end of what was taken: that was the turn before, and would be heard again in this one.
    const from = resumes ? this.#takenTo : Math.max(sample - PRE_ROLL_SAMPLES, this.#takenTo, this.#history.start);
    const audio = this.#history.readFrom(from);
    this.#places.push({ turn: this.#turnSamples, session: this.#history.end - audio.length });
    this.#takenTo = this.#history.end;
    return this.#take(audio);
  }

  /** Speech ended at `sample`. Returns what is left of the turn's audio so far, padded with quiet where it is short. */
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

  /** The turn is over. Speech that still runs belongs to the next one. */
  endTurn(): void {
    this.#pendingSamples = 0;
    this.#turnSamples = 0;
    this.#places = this.#speaking ? [{ turn: 0, session: this.#takenTo }] : [];
  }

  /** Maps positions in the audio of the turn that is running to the session's; the map outlives the turn. */
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
