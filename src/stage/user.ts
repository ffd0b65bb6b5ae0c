import type { ConversationEvent } from '../conversation/events.js';

/** A stretch of time, in milliseconds since the line opened. */
export interface Stretch {
  from: number;
  to: number;
}

export interface SaysOptions extends Stretch {
  /** False = the VAD misses the speech, and only the recogniser hears it. Default true. */
  vad?: boolean;
  /** False = the last transcript stays interim. Default true. */
  final?: boolean;
  /** From the end of speech to the final transcript. Default 250. */
  finalMs?: number;
  /** False = no interim transcripts. Default true: one per word. */
  interim?: boolean;
  /** False = the recogniser does not trust these words. Default true. */
  understood?: boolean;
  /** The recogniser's segment number. Default: one more than the last. */
  segment?: number;
}

export interface GreetsOptions {
  from: number;
  /** Between sentences. Default 400. */
  pauseMs?: number;
  /** Default 60. */
  msPerChar?: number;
  /** Silence before the beep. Default: no beep. */
  beepAfterMs?: number;
}

/** Delays of the VAD's onset and offset, and of interim transcripts. */
const VAD_ON_MS = 60;
const VAD_OFF_MS = 90;
const INTERIM_MS = 150;
const FINAL_MS = 250;
/** From the end of a beep to its detection. */
const BEEP_OFF_MS = 80;

/** The user of a scenario. Events have the delays of real detectors. */
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

  /** Sound that the VAD takes for speech, without a transcript. */
  noise({ from, to }: Stretch): void {
    this.#send(from + VAD_ON_MS, { type: 'speech.started', startMs: from });
    this.#send(to + VAD_OFF_MS, { type: 'speech.stopped', endMs: to });
  }

  /** Sound that the VAD takes for speech and that never ends. */
  noiseWithoutEnd({ from }: { from: number }): void {
    this.#send(from + VAD_ON_MS, { type: 'speech.started', startMs: from });
  }

  /** An answering machine's greeting, with an optional beep. Returns the end time. */
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

  /** A mailbox beeps. Returns the end of the beep; its detection comes a little later. */
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
