import type { ConversationEvent } from '../conversation/events.js';

/** A stretch of time, in milliseconds since the line was opened. */
export interface Stretch {
  from: number;
  to: number;
}

export interface SaysOptions extends Stretch {
  /** False = the VAD misses it, only the recogniser hears it. Default true. */
  vad?: boolean;
  /** False = the recogniser never gives a final transcript, only a last interim one. Default true. */
  final?: boolean;
  /** From the end of speech to the final transcript. Default 250. */
  finalMs?: number;
  /** False = no interim transcripts. Default true: one a word. */
  interim?: boolean;
  /** False = the recogniser does not trust these words. Default true. */
  understood?: boolean;
  /** The recogniser's number for this stretch. Default: one more than the last. */
  segment?: number;
}

export interface GreetsOptions {
  from: number;
  /** Between sentences. Default 400. */
  pauseMs?: number;
  /** Default 60. */
  msPerChar?: number;
  /** Silence before the beep. Default: none comes. */
  beepAfterMs?: number;
}

/** Delays of what listens: the VAD's onset and offset, and an interim transcript behind its word. */
const VAD_ON_MS = 60;
const VAD_OFF_MS = 90;
const INTERIM_MS = 150;
const FINAL_MS = 250;
/** From the end of a beep until it is certain that it was one. */
const BEEP_OFF_MS = 80;

/** The user of a scenario: what they do and when, and what is heard of it with the delays of real ears. */
export class StageUser {
  readonly #send: (atMs: number, event: ConversationEvent) => void;
  #nextSegment = 0;

  constructor(send: (atMs: number, event: ConversationEvent) => void) {
    this.#send = send;
  }

  says(words: string, options: SaysOptions): void {
    const { from, to, vad = true, final = true, finalMs = FINAL_MS, interim = true, understood = true } = options;
    const segment = options.segment ?? this.#nextSegment;
    this.#nextSegment = Math.max(this.#nextSegment, segment + 1);
    if (vad) this.noise({ from, to });
    const hear = (atMs: number, text: string, isFinal: boolean): void => {
      this.#send(atMs, { type: 'transcript', segment, text, isFinal, understood });
    };
    const spoken = words.split(' ');
    const interims = interim ? spoken.length - 1 : 0;
    for (let count = 1; count <= interims; count++) {
      const wordEndMs = Math.round(from + ((to - from) * count) / spoken.length);
      hear(wordEndMs + INTERIM_MS, spoken.slice(0, count).join(' '), false);
    }
    hear(to + finalMs, words, final);
  }

  /** Sound that the VAD takes for speech and the recogniser makes nothing of. */
  noise({ from, to }: Stretch): void {
    this.#send(from + VAD_ON_MS, { type: 'speech.started', startMs: from });
    this.#send(to + VAD_OFF_MS, { type: 'speech.stopped', endMs: to });
  }

  /** Sound that the VAD takes for speech from some time on, without end. */
  noiseWithoutEnd({ from }: { from: number }): void {
    this.#send(from + VAD_ON_MS, { type: 'speech.started', startMs: from });
  }

  /** A machine answers: sentence after sentence, then perhaps its beep. Returns when it has finished, beep included. */
  greets(sentences: readonly string[], { from, pauseMs = 400, msPerChar = 60, beepAfterMs }: GreetsOptions): number {
    let atMs = from;
    for (const [index, sentence] of sentences.entries()) {
      if (index > 0) atMs += pauseMs;
      const to = atMs + sentence.length * msPerChar;
      this.says(sentence, { from: atMs, to });
      atMs = to;
    }
    return beepAfterMs === undefined ? atMs : this.beeps({ at: atMs + beepAfterMs });
  }

  /** A mailbox beeps. Returns when that is over; it is heard a little later. */
  beeps({ at, lengthMs = 400 }: { at: number; lengthMs?: number }): number {
    const endMs = at + lengthMs;
    this.#send(endMs + BEEP_OFF_MS, { type: 'beep', endMs });
    return endMs;
  }

  types(text: string, { at }: { at: number }): void {
    this.#send(at, { type: 'text', text });
  }

  presses(digits: string, { at }: { at: number }): void {
    this.#send(at, { type: 'digits', digits });
  }

  /** `error`: the line broke. */
  hangsUp({ at, error = null }: { at: number; error?: string | null }): void {
    this.#send(at, { type: 'line.closed', error });
  }
}
