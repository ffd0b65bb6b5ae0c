import type { ConversationEvent, PlayoutPosition } from '../conversation/events.js';

export interface StageVoiceOptions {
  /** Length of speech per character. Default 60 ms. */
  msPerChar?: number;
  /** From the request to the first audio. Default 80 ms. */
  latencyMs?: number;
  /** Latency and length of single utterances, in milliseconds; null = the defaults above. */
  timing?: (text: string) => { latencyMs: number; lastsMs: number } | null;
}

/**
 * A fault of an utterance: `late` delays its audio, `empty` has no audio, `fails` reports an error and `stalls` stops
 * without one, both after `afterMs` of playback.
 */
export type VoiceFault = { type: 'none' | 'empty' } | { type: 'late' | 'fails' | 'stalls'; afterMs: number };

/** Observes playback. */
export interface VoiceWatcher {
  /** Audio of an utterance plays from `fromMs` to `toMs`. */
  onPlayed(utteranceId: number, fromMs: number, toMs: number): void;
}

interface Track {
  utteranceId: number;
  text: string;
  readyMs: number;
  totalMs: number;
  playedMs: number;
  /** Silence after it. */
  pauseMs: number;
  started: boolean;
  /** `utterance.starved` was sent. */
  starved: boolean;
  fault: VoiceFault | null;
}

export const TICK_MS = 20;

/** Voice and playout of a scenario: speaks utterances one after another, in ticks of 20 ms. */
export class StageVoice {
  readonly #options: { msPerChar: number; latencyMs: number } & StageVoiceOptions;
  readonly #dispatch: (event: ConversationEvent) => void;
  readonly #watcher: VoiceWatcher;
  readonly #faults: VoiceFault[] = [];
  #tracks: Track[] = [];
  readonly #prepared = new Map<number, Track>();
  #held = false;
  #lastTickMs = -TICK_MS;
  #pausedUntilMs = 0;

  constructor(options: StageVoiceOptions, dispatch: (event: ConversationEvent) => void, watcher: VoiceWatcher) {
    this.#options = { msPerChar: 60, latencyMs: 80, ...options };
    this.#dispatch = dispatch;
    this.#watcher = watcher;
  }

  /** The next `count` utterances have no fault. */
  speaks({ count = 1 } = {}): this {
    return this.#add(count, { type: 'none' });
  }

  /** The audio of the next `count` utterances starts `afterMs` after the request. */
  isLate({ count = 1, afterMs }: { count?: number; afterMs: number }): this {
    return this.#add(count, { type: 'late', afterMs });
  }

  /** The next `count` utterances fail after `afterMs` of playback. */
  fails({ count = 1, afterMs = 0 } = {}): this {
    return this.#add(count, { type: 'fails', afterMs });
  }

  /** The next `count` utterances stop delivering audio after `afterMs` of playback, without an error. */
  stalls({ count = 1, afterMs = 0 } = {}): this {
    return this.#add(count, { type: 'stalls', afterMs });
  }

  /** The next `count` utterances have no audio. */
  givesNoAudio({ count = 1 } = {}): this {
    return this.#add(count, { type: 'empty' });
  }

  /** Whether an utterance is queued or playing. */
  get busy(): boolean {
    return this.#tracks.length > 0;
  }

  get held(): boolean {
    return this.#held;
  }

  /** When the next 20 ms play; undefined = nothing to play. */
  get nextTickMs(): number | undefined {
    const track = this.#tracks[0];
    if (track === undefined || this.#held || (isStuck(track) && (track.starved || !track.started))) return undefined;
    const readyMs = track.started ? track.readyMs : Math.max(track.readyMs, this.#pausedUntilMs);
    return Math.max(this.#lastTickMs + TICK_MS, Math.ceil(readyMs / TICK_MS) * TICK_MS);
  }

  position(): PlayoutPosition {
    const track = this.#tracks[0];
    if (track?.started !== true) return { utteranceId: null, heardChars: 0 };
    return { utteranceId: track.utteranceId, heardChars: wholeWords(track) };
  }

  /** Prepares an utterance, which is spoken or cancelled later. */
  prepare(utteranceId: number, text: string, atMs: number): void {
    this.#prepared.set(utteranceId, this.#track(utteranceId, text, atMs));
  }

  speak(utteranceId: number, text: string, atMs: number): void {
    this.#tracks.push(this.#prepared.get(utteranceId) ?? this.#track(utteranceId, text, atMs));
    this.#prepared.delete(utteranceId);
    this.#lastTickMs = Math.max(this.#lastTickMs, Math.ceil(atMs / TICK_MS) * TICK_MS - TICK_MS);
  }

  /** Adds text to an utterance of a speech-to-speech model. */
  more(utteranceId: number, text: string): void {
    const track = this.#tracks.find((candidate) => candidate.utteranceId === utteranceId);
    if (track === undefined) return;
    track.text += text;
    track.totalMs += text.length * this.#options.msPerChar;
  }

  #track(utteranceId: number, text: string, atMs: number): Track {
    const { msPerChar, latencyMs } = this.#options;
    const fault = this.#faults.shift() ?? null;
    const timing = this.#options.timing?.(text) ?? { latencyMs, lastsMs: text.length * msPerChar };
    const totalMs = fault?.type === 'empty' ? 0 : timing.lastsMs;
    const readyMs = atMs + (fault?.type === 'late' ? fault.afterMs : timing.latencyMs);
    return { utteranceId, text, readyMs, totalMs, playedMs: 0, pauseMs: 0, started: false, starved: false, fault };
  }

  cancel(utteranceId: number): void {
    const prepared = this.#prepared.get(utteranceId);
    this.#prepared.delete(utteranceId);
    // A discarded utterance does not use up the script.
    if (prepared?.fault != null) this.#faults.unshift(prepared.fault);
    this.#tracks = this.#tracks.filter((track) => track.utteranceId !== utteranceId);
  }

  /** Adds silence after an utterance. */
  pause(utteranceId: number, pauseMs: number): void {
    const track = this.#tracks.find((candidate) => candidate.utteranceId === utteranceId);
    if (track !== undefined) track.pauseMs = pauseMs;
  }

  hold(): void {
    this.#held = true;
  }

  resume(atMs: number): void {
    this.#held = false;
    if (this.#tracks[0] !== undefined) this.#tracks[0].starved = false;
    this.#lastTickMs = Math.max(this.#lastTickMs, Math.ceil(atMs / TICK_MS) * TICK_MS - TICK_MS);
  }

  drop(): void {
    this.#held = false;
    this.#tracks = [];
    this.#pausedUntilMs = 0;
  }

  /**
   * Plays the next 20 ms, and further ones up to the next event.
   * @param untilMs the latest start of a further tick
   * @returns the start of the last tick
   */
  play(nowMs: number, untilMs: number): number {
    this.#lastTickMs = nowMs;
    const track = this.#tracks[0];
    if (track === undefined) return nowMs;
    if (track.fault?.type === 'fails' && track.playedMs >= track.fault.afterMs) {
      this.#dispatch({ type: 'utterance.failed', utteranceId: track.utteranceId, reason: 'scripted failure' });
      this.cancel(track.utteranceId);
      return nowMs;
    }
    if (isStuck(track)) {
      track.starved = true;
      this.#dispatch({ type: 'utterance.starved', utteranceId: track.utteranceId });
      return nowMs;
    }
    const starts = !track.started && track.totalMs > 0;
    if (starts) {
      track.started = true;
      this.#dispatch({ type: 'utterance.started', utteranceId: track.utteranceId });
      if (this.#tracks[0] !== track || this.#held) return nowMs; // the event ended or held the utterance
    }
    const ticks = starts ? 1 : Math.max(1, Math.min(quietTicks(track), Math.floor((untilMs - nowMs) / TICK_MS) + 1));
    const spokenMs = Math.min(TICK_MS * ticks, track.totalMs - track.playedMs);
    track.playedMs += spokenMs;
    this.#lastTickMs = nowMs + (ticks - 1) * TICK_MS;
    if (spokenMs > 0) this.#watcher.onPlayed(track.utteranceId, nowMs, nowMs + spokenMs);
    if (track.playedMs >= track.totalMs) {
      this.#tracks.shift();
      this.#pausedUntilMs = this.#lastTickMs + TICK_MS + track.pauseMs;
      this.#dispatch({ type: 'utterance.finished', utteranceId: track.utteranceId });
    }
    return this.#lastTickMs;
  }

  #add(count: number, fault: VoiceFault): this {
    for (let index = 0; index < count; index++) this.#faults.push(fault);
    return this;
  }
}

/** Ticks until the next one with an event. */
function quietTicks({ fault, playedMs, totalMs }: Track): number {
  const breaksOff = fault?.type === 'fails' || fault?.type === 'stalls';
  const eventMs = breaksOff ? Math.min(totalMs - TICK_MS, fault.afterMs) : totalMs - TICK_MS;
  return Math.ceil((eventMs - playedMs) / TICK_MS);
}

function isStuck(track: Track): boolean {
  return track.fault?.type === 'stalls' && track.playedMs >= track.fault.afterMs;
}

/** Characters up to the end of the last word that played completely. */
function wholeWords({ text, playedMs, totalMs }: Track): number {
  if (playedMs >= totalMs) return text.length;
  const chars = Math.floor((playedMs / totalMs) * text.length);
  return text[chars] === ' ' ? chars : Math.max(0, text.lastIndexOf(' ', chars));
}
