import { fadeOut, Fader } from '../../audio/dsp/fade.js';
import { frameSamples, msToSamples, samplesToMs } from '../../audio/frame.js';
import type { PlayoutPosition } from '../../conversation/events.js';
import { ParleyError } from '../../base/errors.js';
import type { TtsWord } from '../../providers/tts/tts.js';
import type { Transport } from '../../transports/transport.js';
import type { PlayoutStats } from '../record/session-report.js';

/** How much of an utterance's text a listener has heard, from the times of its words. */
export class HeardText {
  #text: string;
  readonly #ends: { chars: number; endMs: number }[] = [];
  #searchFrom = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** More of the text: of a voice that makes up its words while it speaks. */
  addText(text: string): void {
    this.#text += text;
  }

  /** Adds words in the order of speaking; times count from the utterance's first sample. */
  addWords(words: readonly TtsWord[]): void {
    for (const word of words) {
      const at = this.#text.indexOf(word.text, this.#searchFrom);
      if (at < 0) continue; // a word the voice made up has no place in the text
      this.#searchFrom = at + word.text.length;
      this.#ends.push({ chars: this.#searchFrom, endMs: word.endMs });
    }
  }

  /**
   * Characters whose audio is over after `playedMs`. Without word times it is estimated from the share of the audio
   * that has been played, rounded down to a whole word, or a character where words have no spaces.
   * @param totalMs length of the whole audio, null while it is not known
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

/** Usual speaking rate: 15 characters a second. */
const MS_PER_CHAR = 67;
/** … and seven where a character is a syllable or so, and words have no spaces between them. */
const MS_PER_SYLLABLE = 143;
const SPACELESS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

/** Length of the fade at a hold, a drop and a resumption. */
const FADE_MS = 5;

export interface PlayoutEvents {
  /** An utterance's first sample is in the frame that is being pulled. */
  onStarted(utteranceId: number): void;
  /** Its last sample is in the frame that is being pulled, or it had none. */
  onFinished(utteranceId: number): void;
  /** In the middle of it there is nothing to play (`isDry`), or there is again. */
  onSupply(utteranceId: number, isDry: boolean): void;
  /** There is more to play than before: where nothing was, `playable` may be true now. */
  onPlayable(): void;
}

/**
 * What is given to the line, pulled frame by frame: utterances one after another, joined to the sample.
 * It can be held and goes on from the very sample, and it knows at any time how much of the text has been heard.
 */
export class Playout {
  readonly sampleRateHz: number;
  readonly #line: Pick<Transport, 'unheardMs' | 'leadMs'>;
  readonly #events: PlayoutEvents;
  readonly #queue: Track[] = [];
  /** Utterances that may be played. */
  readonly #prepared = new Map<number, Track>();
  readonly #frameSamples: number;
  readonly #fadeSamples: number;
  readonly #fader = new Fader(1);
  /** Frames that were pulled before their time, oldest first. */
  readonly #ahead: AheadFrame[] = [];
  /** The one of them that is being filled. */
  #filling: AheadFrame | null = null;
  /** The utterance that is being heard. */
  #hearing: Track | null = null;
  readonly stats: PlayoutStats = { underruns: 0, speechMs: 0, skippedFrames: 0 };
  #held = false;
  #starved = false;
  /** The utterance that has run dry, as far as was told. */
  #dry: number | null = null;
  /** The few samples after a cut that are faded out, in the frame after it. */
  #tail: Int16Array | null = null;
  /** Silence still to come before the next utterance. */
  #pauseSamples = 0;

  /** @throws ParleyError AUDIO_RATE_UNSUPPORTED where 20 ms are no whole number of samples */
  constructor(line: Pick<Transport, 'outputRateHz' | 'unheardMs' | 'leadMs'>, events: PlayoutEvents) {
    const { outputRateHz: sampleRateHz } = line;
    this.sampleRateHz = sampleRateHz;
    this.#line = line;
    this.#events = events;
    this.#frameSamples = frameSamples(sampleRateHz);
    if (!Number.isInteger(this.#frameSamples)) throw new ParleyError('AUDIO_RATE_UNSUPPORTED', { sampleRateHz });
    this.#fadeSamples = msToSamples(FADE_MS, sampleRateHz);
  }

  /** Something is queued or being played. */
  get busy(): boolean {
    return this.#queue.length > 0 || this.#ahead.some(({ marks }) => marks.length > 0);
  }

  /** Frames that were pulled before their time and have not been heard. */
  get aheadFrames(): number {
    return this.#ahead.length;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Nothing is to come until `onPlayable`. */
  get rests(): boolean {
    return this.#queue.length === 0 && this.#tail === null && this.#pauseSamples === 0;
  }

  /** A whole frame of audio, or an utterance's last part of one, can be pulled now. */
  get playable(): boolean {
    const track = this.#queue[0];
    if (track === undefined || this.#held || this.#tail !== null || this.#pauseSamples > 0) return false;
    return track.buffered >= this.#frameSamples || (track.complete && track.buffered > 0);
  }

  /**
   * A whole frame can be pulled before its time: nothing that comes later can change it. More than a frame must be there,
   * so that the voice does not seem to run dry each time it has been caught up with.
   */
  get readyAhead(): boolean {
    if (this.#held || this.#tail !== null) return false;
    const track = this.#queue[0];
    const pause = track?.started === true ? 0 : this.#pauseSamples;
    if (pause >= this.#frameSamples) return true;
    if (track === undefined) return false;
    return track.buffered > this.#frameSamples - pause || (track.complete && track.buffered > 0);
  }

  /** Gathers an utterance's audio for an `add` that may follow. `pauseMs`: silence after it. */
  prepare(utteranceId: number, text: string, pauseMs: number): void {
    this.#prepared.set(utteranceId, this.#track(utteranceId, text, pauseMs));
  }

  /**
   * Puts an utterance at the end of the queue; its audio may come later. `pauseMs`: silence after it.
   * @returns whether it was prepared: then its audio is there, or on its way
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

  /** More of an utterance's text has become known. */
  addText(utteranceId: number, text: string): void {
    this.#find(utteranceId)?.heard.addText(text);
  }

  /** How much of an utterance that is queued or under way has been heard, in milliseconds; null = it is neither. */
  playedMs(utteranceId: number): number | null {
    const isIt = (track: Track | null): boolean => track?.utteranceId === utteranceId;
    const given = [this.#hearing, ...this.#ahead.flatMap(({ parts }) => parts.map(({ track }) => track))];
    const track = this.#queue.find(isIt) ?? given.find(isIt) ?? null;
    return track === null ? null : this.#heardMs(track);
  }

  /** All of an utterance's audio has been given. */
  complete(utteranceId: number): void {
    const track = this.#find(utteranceId);
    if (track === undefined) return;
    track.complete = true;
    this.#events.onPlayable();
  }

  /** Leaves so much silence behind an utterance in place of the usual. */
  pauseAfter(utteranceId: number, pauseMs: number): void {
    const track = this.#find(utteranceId);
    if (track !== undefined) track.pauseSamples = msToSamples(pauseMs, this.sampleRateHz);
  }

  /** Takes one utterance out, queued or prepared; what follows it moves up. */
  cancel(utteranceId: number): void {
    this.#prepared.delete(utteranceId);
    const index = this.#queue.findIndex((track) => track.utteranceId === utteranceId);
    if (index === 0 && !this.#held) this.#cut();
    if (this.#hearing?.utteranceId === utteranceId) this.#hearing = null;
    if (index < 0) return;
    this.#queue.splice(index, 1);
    this.#events.onPlayable();
  }

  /** Falls silent from the next frame on. */
  hold(): void {
    if (this.#held) return;
    this.#held = true;
    if (!this.#clientStops) this.#cut();
  }

  /** Goes on from the sample at which it was held. */
  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#dry = null; // to be told anew
    // Where the fade of the hold has not gone out yet, nothing was interrupted.
    if (this.#tail !== null) this.#tail = null;
    else if (this.#queue[0]?.started === true && this.#ahead.length === 0) this.#fadeInNext();
    this.#events.onPlayable();
  }

  /** Drops all that has not been played, and all that was prepared. */
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

  /** How far the utterance under way has been heard. */
  position(): PlayoutPosition {
    const track = this.#hearing;
    if (track === null) return { utteranceId: null, heardChars: 0 };
    return { utteranceId: track.utteranceId, heardChars: this.#heardChars(track) };
  }

  /**
   * The next 20 ms before their time, null = silence. What begins and ends in them is told when they are heard.
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

  /** The oldest frame that was pulled before its time is heard from now on. False = held: nothing is heard. */
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
   * @param skipped frames that the line did without since the last one; none of the audio is lost by it
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
        if (this.#queue[0] !== track) continue; // the listener dropped it
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

  /** The voice is late: what there is fades out, and what comes will fade in. */
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

  /** Tells what happens in the frame that is being pulled: now, or when it is heard. */
  #tell(mark: () => void): void {
    if (this.#filling === null) mark();
    else this.#filling.marks.push(mark);
  }

  /** Whether the client falls silent by itself at `pause` and `clear`: then no fade is sent to it. */
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

  /** What has been played of it, but for what is still on its way to the listener. */
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

/** A frame that was pulled before its time. */
interface AheadFrame {
  readonly parts: { readonly track: Track; readonly samples: number }[];
  /** What begins and ends in it, to be told when it is heard. */
  readonly marks: (() => void)[];
}

/** One utterance's audio: blocks as they came, and how far they have been played. */
class Track {
  readonly heard: HeardText;
  complete = false;
  started = false;
  played = 0;
  /** Of these, in frames that were pulled before their time. */
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

  /** Moves as many samples as there are into `out`; returns how many. */
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

  /** A copy of up to `count` samples that come next. */
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
