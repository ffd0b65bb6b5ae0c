import type { SimulatedCaller, CallerAudio, CallerMove } from './caller.js';

/** How long the line stays open after the recording, in ms. */
const AFTER_MS = 6_000;

/** The caller's side of a whole recorded call, played from the start of the call whatever the agent does. */
export class RecordingCaller implements SimulatedCaller {
  readonly reactionMs = 0;
  readonly patienceMs = 0;
  readonly speaksAtOnce = true;
  readonly #audio: CallerAudio;
  readonly #text: string;

  /** @param text what is said in it; empty = not known */
  constructor(audio: CallerAudio, text: string) {
    this.#audio = audio;
    this.#text = text;
  }

  next(): readonly CallerMove[] {
    return [{ play: this.#audio, text: this.#text }, { waitMs: AFTER_MS }, { hangUp: true }];
  }
}
