import { FRAME_MS, frameSamples, samplesToMs } from '../../../audio/frame.js';
import type { Clock } from '../../../base/clock.js';
import { decodePayload, type MediaEncoding } from './encodings.js';

export interface ReceivedAudioOptions {
  clock: Clock;
  encoding: MediaEncoding;
  sampleRateHz: number;
  /** Its `droppedMs` and `missingMs` are increased here. */
  counts: { droppedMs: number; missingMs: number };
  /** Samples in order. */
  onSound: (samples: Int16Array) => void;
  onBad: (reason: string) => void;
}

/** Audio may be this far ahead of time; more is dropped. */
const MAX_AHEAD_MS = 3_000;
/** Longest audio in one message; real messages have at most 200 ms. */
const MAX_MESSAGE_MS = 1_000;
/** A gap on the carrier's clock is filled with up to this much silence. */
const MAX_GAP_MS = 1_000;
/** A larger jump is a restart or an error of the carrier's clock. */
const MOST_GAP_MS = 60_000;

/** The far end's audio over consecutive streams: not faster than real time, with silence for missing audio. */
export class ReceivedAudio {
  /** Number of audio messages. */
  received = 0;
  readonly #options: ReceivedAudioOptions;
  #startedMs = 0;
  #heardMs = 0;
  /** Expected position of the next audio, on the carrier's clock. */
  #nextAtMs: number | null = null;

  constructor(options: ReceivedAudioOptions) {
    this.#options = options;
  }

  /** A stream begins. */
  begin(): void {
    this.#startedMs = this.#options.clock.nowMs();
    this.#heardMs = 0;
    this.#nextAtMs = null;
  }

  /**
   * Handles a message's audio, base64.
   * @param atMs its position on the stream's clock; null = unknown
   */
  take(payload: string, atMs: number | null): void {
    const { clock, encoding, sampleRateHz, counts, onSound, onBad } = this.#options;
    const samples = decodePayload(encoding, payload);
    const lengthMs = samplesToMs(samples.length, sampleRateHz);
    if (samples.length === 0 || lengthMs > MAX_MESSAGE_MS) {
      onBad(`a message with ${lengthMs.toFixed(0)} ms of sound`);
      return;
    }
    this.received++;
    const elapsedMs = clock.nowMs() - this.#startedMs;
    this.#heardMs = Math.max(this.#heardMs, elapsedMs - MAX_AHEAD_MS);
    if (this.#heardMs + lengthMs > elapsedMs + MAX_AHEAD_MS) {
      counts.droppedMs += lengthMs;
      this.#nextAtMs = atMs === null ? null : atMs + lengthMs; // its gap stays empty
      return;
    }
    this.#heardMs += lengthMs;
    if (atMs !== null) {
      this.#fillGap(atMs);
      this.#nextAtMs = atMs + lengthMs;
    }
    onSound(samples);
  }

  /** Fills a gap with silence, so that later audio keeps its time. */
  #fillGap(atMs: number): void {
    const { sampleRateHz, counts, onSound } = this.#options;
    const gapMs = atMs - (this.#nextAtMs ?? atMs);
    if (gapMs < FRAME_MS || gapMs > MOST_GAP_MS) return;
    counts.missingMs += gapMs;
    const frames = Math.floor(Math.min(gapMs, MAX_GAP_MS) / FRAME_MS);
    onSound(new Int16Array(frames * frameSamples(sampleRateHz)));
  }
}
