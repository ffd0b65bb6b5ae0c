import { fadeOut, Fader } from '../../audio/dsp/fade.js';
import { frameSamples, msToSamples, samplesToMs } from '../../audio/frame.js';
import type { PlayoutPosition } from '../../conversation/events.js';
import { ParleyError } from '../../base/errors.js';
import type { TtsWord } from '../../providers/tts/tts.js';
import type { Transport } from '../../transports/transport.js';
import type { PlayoutStats } from '../record/session-report.js';

/** How much of an utterance's text was heard, computed from word times. */
export class HeardText {
  #text: string;
  readonly #ends: { chars: number; endMs: number }[] = [];
  #searchFrom = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** More text, for a voice that creates its words while it speaks. */
  addText(text: string): void {
    this.#text += text;
  }

  /** Adds words in spoken order; times count from the utterance's first sample. */
  addWords(words: readonly TtsWord[]): void {
    for (const word of words) {
      const at = this.#text.indexOf(word.text, this.#searchFrom);
      if (at < 0) continue; // a word that is not in the text
      this.#searchFrom = at + word.text.length;
      this.#ends.push({ chars: this.#searchFrom, endMs: word.endMs });
    }
  }

  /**
   * Number of characters whose audio has ended after `playedMs`. Without word times it is estimated from the played
   * share of the audio, rounded down to a complete word, or a character in languages without spaces.
   * @param totalMs length of the whole audio, null if unknown
   */
  charsAt(playedMs: number, totalMs: number | null): number {
    if (totalMs !== null && playedMs >= totalMs) return this.#text.length;
    if (this.#ends.length > 0) {
      let chars = 0;
      for (const end of this.#ends) if (end.endMs <= playedMs) chars = Math.max(chars, end.chars);
      return chars;
    }
    const msPerChar = SPACELESS.test(this.#text) ? MS_PER_SYLLABLE : MS_PER_CHAR;
    const share = playedMs / (totalMs ?? this.#text.length * msPerChar);
    let end = Math.floor(this.#text.length * Math.min(1, share));
    while (end > 0 && this.#text[end] !== ' ' && !SPACELESS.test(this.#text[end - 1] ?? '')) end--;
    return end;
  }
}

/** Usual speech rate: 15 characters a second. */
const MS_PER_CHAR = 67;
/** … and seven in languages without spaces, where a character is about a syllable. */
const MS_PER_SYLLABLE = 143;
const SPACELESS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

/** Length of the fade at a hold, a drop and a resumption. */
const FADE_MS = 5;

export interface PlayoutEvents {
  /** The frame that is being pulled has the utterance's first sample. */
  onStarted(utteranceId: number): void;
  /** The frame that is being pulled has its last sample, or it had no audio. */
  onFinished(utteranceId: number): void;
  /** In the middle of the utterance the audio has run out (`isDry`), or is available again. */
  onSupply(utteranceId: number, isDry: boolean): void;
  /** There is more audio than before: `playable` may be true now. */
  onPlayable(): void;
}

/**
 * The audio for the line, pulled frame by frame: utterances joined without a gap. It can be held and resumed at the
 * same sample, and knows at any time how much of the text was heard.
 */
export class Playout {
  readonly sampleRateHz: number;
  readonly #line: Pick<Transport, 'unheardMs' | 'leadMs'>;
  readonly #events: PlayoutEvents;
  readonly #queue: Track[] = [];
  /** Prepared utterances, which may be played. */
  readonly #prepared = new Map<number, Track>();
  readonly #frameSamples: number;
  readonly #fadeSamples: number;
  readonly #fader = new Fader(1);
  /** Frames pulled ahead of time, oldest first. */
  readonly #ahead: AheadFrame[] = [];
  /** The frame among them that is being filled. */
  #filling: AheadFrame | null = null;
  /** The utterance that is being heard. */
  #hearing: Track | null = null;
  readonly stats: PlayoutStats = { underruns: 0, speechMs: 0, skippedFrames: 0 };
  #held = false;
  #starved = false;
  /** The utterance whose audio has run out, as last reported. */
  #dry: number | null = null;
  /** Samples after a cut that are faded out in the next frame. */
  #tail: Int16Array | null = null;
  /** Remaining silence before the next utterance. */
  #pauseSamples = 0;

  /** @throws ParleyError AUDIO_RATE_UNSUPPORTED if 20 ms are not a whole number of samples */
  constructor(line: Pick<Transport, 'outputRateHz' | 'unheardMs' | 'leadMs'>, events: PlayoutEvents) {
    const { outputRateHz: sampleRateHz } = line;
    this.sampleRateHz = sampleRateHz;
    this.#line = line;
    this.#events = events;
    this.#frameSamples = frameSamples(sampleRateHz);
    if (!Number.isInteger(this.#frameSamples)) throw new ParleyError('AUDIO_RATE_UNSUPPORTED', { sampleRateHz });
    this.#fadeSamples = msToSamples(FADE_MS, sampleRateHz);
  }

  /** An utterance is queued or playing. */
  get busy(): boolean {
    return this.#queue.length > 0 || this.#ahead.some(({ marks }) => marks.length > 0);
  }

  /** Frames pulled ahead of time that were not heard yet. */
  get aheadFrames(): number {
    return this.#ahead.length;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Nothing to play until `onPlayable`. */
  get rests(): boolean {
    return this.#queue.length === 0 && this.#tail === null && this.#pauseSamples === 0;
  }

  /** A complete frame of audio, or the last part of an utterance, can be pulled now. */
  get playable(): boolean {
    const track = this.#queue[0];
    if (track === undefined || this.#held || this.#tail !== null || this.#pauseSamples > 0) return false;
    return track.buffered >= this.#frameSamples || (track.complete && track.buffered > 0);
  }

  /**
   * A complete frame can be pulled ahead of time, because nothing later can change it. More than one frame must exist,
   * so that the voice does not seem to run out each time playout has caught up.
   */
  get readyAhead(): boolean {
    if (this.#held || this.#tail !== null) return false;
    const track = this.#queue[0];
    const pause = track?.started === true ? 0 : this.#pauseSamples;
    if (pause >= this.#frameSamples) return true;
    if (track === undefined) return false;
    return track.buffered > this.#frameSamples - pause || (track.complete && track.buffered > 0);
  }

  /** Collects an utterance's audio for a possible `add`. `pauseMs`: silence after it. */
  prepare(utteranceId: number, text: string, pauseMs: number): void {
    this.#prepared.set(utteranceId, this.#track(utteranceId, text, pauseMs));
  }

  /**
   * Appends an utterance to the queue; its audio may come later. `pauseMs`: silence after it.
   * @returns whether it was prepared: then its audio has arrived or is on its way
   */
  add(utteranceId: number, text: string, pauseMs: number): boolean {
    const prepared = this.#prepared.get(utteranceId);
    this.#prepared.delete(utteranceId);
    this.#queue.push(prepared ?? this.#track(utteranceId, text, pauseMs));
    this.#events.onPlayable();
    return prepared !== undefined;
  }

  /** Audio of an utterance, at the playout's rate. Unknown (dropped) utterances are ignored. */
  append(utteranceId: number, samples: Int16Array, words: readonly TtsWord[] = []): void {
    const track = this.#find(utteranceId);
    if (track === undefined) return;
    track.heard.addWords(words);
    track.append(samples);
    this.#events.onPlayable();
  }

  /** More text of an utterance. */
  addText(utteranceId: number, text: string): void {
    this.#find(utteranceId)?.heard.addText(text);
  }

  /** Heard audio of a queued or playing utterance, in milliseconds; null = it is neither. */
  playedMs(utteranceId: number): number | null {
    const isIt = (track: Track | null): boolean => track?.utteranceId === utteranceId;
    const given = [this.#hearing, ...this.#ahead.flatMap(({ parts }) => parts.map(({ track }) => track))];
    const track = this.#queue.find(isIt) ?? given.find(isIt) ?? null;
    return track === null ? null : this.#heardMs(track);
  }

  /** All audio of an utterance has arrived. */
  complete(utteranceId: number): void {
    const track = this.#find(utteranceId);
    if (track === undefined) return;
    track.complete = true;
    this.#events.onPlayable();
  }

  /** Sets the silence after an utterance. */
  pauseAfter(utteranceId: number, pauseMs: number): void {
    const track = this.#find(utteranceId);
    if (track !== undefined) track.pauseSamples = msToSamples(pauseMs, this.sampleRateHz);
  }

  /** Removes a queued or prepared utterance; later ones move up. */
  cancel(utteranceId: number): void {
    this.#prepared.delete(utteranceId);
    const index = this.#queue.findIndex((track) => track.utteranceId === utteranceId);
    if (index === 0 && !this.#held) this.#cut();
    if (this.#hearing?.utteranceId === utteranceId) this.#hearing = null;
    if (index < 0) return;
    this.#queue.splice(index, 1);
    this.#events.onPlayable();
  }

  /** Silence from the next frame on. */
  hold(): void {
    if (this.#held) return;
    this.#held = true;
    if (!this.#clientStops) this.#cut();
  }

  /** Continues at the sample at which it was held. */
  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#dry = null; // to be reported again
    // If the fade of the hold was not sent yet, nothing was interrupted.
    if (this.#tail !== null) this.#tail = null;
    else if (this.#queue[0]?.started === true && this.#ahead.length === 0) this.#fadeInNext();
    this.#events.onPlayable();
  }

  /** Drops everything that was not played, and everything that was prepared. */
  drop(): void {
    this.#prepared.clear();
    if (!this.#held && !this.#clientStops) this.#cut();
    this.#held = false;
    this.#hearing = null;
    for (const { marks, parts } of this.#ahead.splice(0)) {
      marks.length = 0;
      for (const { samples } of parts) this.stats.speechMs -= samplesToMs(samples, this.sampleRateHz);
    }
    this.#starved = false;
    this.#queue.length = 0;
    this.#pauseSamples = 0;
    this.#fader.fadeTo(1, 0);
  }

  /** How far the playing utterance was heard. */
  position(): PlayoutPosition {
    const track = this.#hearing;
    if (track === null) return { utteranceId: null, heardChars: 0 };
    return { utteranceId: track.utteranceId, heardChars: this.#heardChars(track) };
  }

  /**
   * The next 20 ms ahead of time, null = silence. Their starts and ends of utterances are reported when they are heard.
   * Only while `readyAhead`.
   */
  pullAhead(): Int16Array | null {
    const frame: AheadFrame = { parts: [], marks: [] };
    this.#ahead.push(frame);
    this.#filling = frame;
    try {
      return this.pull();
    } finally {
      this.#filling = null;
    }
  }

  /** The oldest frame pulled ahead of time is heard from now on. False = held: nothing is heard. */
  hear(): boolean {
    const frame = this.#ahead[0];
    if (this.#held || frame === undefined) return false;
    for (const { track, samples } of frame.parts) track.unheard -= samples;
    for (let mark = frame.marks.shift(); mark !== undefined; mark = frame.marks.shift()) mark();
    if (this.#ahead[0] === frame) this.#ahead.shift();
    return true;
  }

  /**
   * The next 20 ms, null = silence.
   * @param skipped frames that the line skipped since the last one; no audio is lost
   */
  pull(skipped = 0): Int16Array | null {
    this.stats.skippedFrames += skipped;
    const tail = this.#tail;
    if (tail !== null) {
      this.#tail = null;
      const frame = new Int16Array(this.#frameSamples);
      frame.set(tail);
      return frame;
    }
    if (this.#held || this.#queue.length === 0) {
      this.#pauseSamples = Math.max(0, this.#pauseSamples - this.#frameSamples);
      return null;
    }
    return this.#fill();
  }

  #fill(): Int16Array | null {
    const frame = new Int16Array(this.#frameSamples);
    let filled = 0;
    let voiced = 0;
    let dry: number | null = null;
    for (let track = this.#queue[0]; track !== undefined && filled < frame.length; track = this.#queue[0]) {
      if (!track.started && this.#pauseSamples > 0) {
        const silence = Math.min(this.#pauseSamples, frame.length - filled);
        this.#pauseSamples -= silence;
        filled += silence;
        continue;
      }
      if (!track.started && track.buffered > 0) {
        const started = track;
        track.started = true;
        this.#tell(() => {
          this.#hearing = started;
          this.#events.onStarted(started.utteranceId);
        });
        if (this.#queue[0] !== track) continue; // a listener has dropped it
      }
      const took = track.read(frame.subarray(filled));
      filled += took;
      voiced += took;
      if (this.#filling !== null) {
        track.unheard += took;
        this.#filling.parts.push({ track, samples: took });
      }
      if (track.buffered > 0) break; // the frame is full
      if (!track.complete) {
        if (track.started) {
          this.#starve(frame.subarray(0, filled));
          dry = track.utteranceId;
        }
        break;
      }
      const finished = track;
      this.#queue.shift();
      if (track.started) this.#pauseSamples = track.pauseSamples;
      if (this.#dry === track.utteranceId) this.#dry = null;
      this.#tell(() => {
        if (this.#hearing === finished) this.#hearing = null;
        this.#events.onFinished(finished.utteranceId);
      });
    }
    this.#tellSupply(dry);
    if (voiced === 0) return null;
    this.#fader.apply(frame);
    if (this.#starved) this.#fadeInNext();
    this.stats.speechMs += samplesToMs(voiced, this.sampleRateHz);
    return frame;
  }

  #fadeInNext(): void {
    this.#starved = false;
    this.#fader.fadeTo(0, 0);
    this.#fader.fadeTo(1, this.#fadeSamples);
  }

  /** The voice is late: fades out the existing audio; what follows fades in. */
  #starve(spoken: Int16Array): void {
    this.stats.underruns++;
    if (spoken.length === 0) return;
    fadeOut(spoken, this.#fadeSamples);
    this.#starved = true;
  }

  #tellSupply(dry: number | null): void {
    const before = this.#dry;
    if (before === dry) return;
    this.#dry = dry;
    if (before !== null) this.#tell(() => this.#events.onSupply(before, false));
    if (dry !== null) this.#tell(() => this.#events.onSupply(dry, true));
  }

  /** Reports a start or end in the current frame: now, or when the frame is heard. */
  #tell(mark: () => void): void {
    if (this.#filling === null) mark();
    else this.#filling.marks.push(mark);
  }

  /** Whether the client itself fades out at `pause` and `clear`: then no fade is sent. */
  get #clientStops(): boolean {
    return this.#line.leadMs !== undefined;
  }

  /** Keeps a few faded samples for the next frame, without moving the position. */
  #cut(): void {
    const track = this.#queue[0];
    if (track === undefined || track.played === 0) return;
    const tail = track.peek(this.#fadeSamples);
    if (tail.length === 0) return;
    this.#fader.fadeTo(0, tail.length);
    this.#fader.apply(tail);
    this.#fader.fadeTo(1, 0);
    this.#tail = tail;
  }

  /** The played audio without what is still on its way to the listener. */
  #heardMs(track: Track): number {
    const given = track.played - track.unheard;
    return Math.max(0, samplesToMs(given, this.sampleRateHz) - (this.#line.unheardMs?.() ?? 0));
  }

  #heardChars(track: Track): number {
    const playedMs = this.#heardMs(track);
    const totalMs = track.complete ? samplesToMs(track.played + track.buffered, this.sampleRateHz) : null;
    return track.heard.charsAt(playedMs, totalMs);
  }

  #find(utteranceId: number): Track | undefined {
    return this.#queue.find((track) => track.utteranceId === utteranceId) ?? this.#prepared.get(utteranceId);
  }

  #track(utteranceId: number, text: string, pauseMs: number): Track {
    return new Track(utteranceId, text, msToSamples(pauseMs, this.sampleRateHz));
  }
}

/** A frame pulled ahead of time. */
interface AheadFrame {
  readonly parts: { readonly track: Track; readonly samples: number }[];
  /** Starts and ends of utterances in it, reported when it is heard. */
  readonly marks: (() => void)[];
}

/** The audio of one utterance: blocks as they arrived, and the played part. */
class Track {
  readonly heard: HeardText;
  complete = false;
  started = false;
  played = 0;
  /** Samples in frames pulled ahead of time. */
  unheard = 0;
  buffered = 0;
  readonly #blocks: Int16Array[] = [];
  #offset = 0;

  constructor(
    readonly utteranceId: number,
    text: string,
    public pauseSamples: number,
  ) {
    this.heard = new HeardText(text);
  }

  append(samples: Int16Array): void {
    if (samples.length === 0) return;
    this.#blocks.push(samples);
    this.buffered += samples.length;
  }

  /** Moves as many samples as available into `out`; returns their number. */
  read(out: Int16Array): number {
    let filled = 0;
    while (filled < out.length) {
      const block = this.#blocks[0];
      if (block === undefined) break;
      const count = Math.min(out.length - filled, block.length - this.#offset);
      out.set(block.subarray(this.#offset, this.#offset + count), filled);
      filled += count;
      this.#offset += count;
      if (this.#offset === block.length) {
        this.#blocks.shift();
        this.#offset = 0;
      }
    }
    this.played += filled;
    this.buffered -= filled;
    return filled;
  }

  /** A copy of up to `count` next samples. */
  peek(count: number): Int16Array {
    const out = new Int16Array(Math.min(count, this.buffered));
    let filled = 0;
    let offset = this.#offset;
    for (const block of this.#blocks) {
      if (filled === out.length) break;
      const part = block.subarray(offset, offset + out.length - filled);
      out.set(part, filled);
      filled += part.length;
      offset = 0;
    }
    return out;
  }
}
