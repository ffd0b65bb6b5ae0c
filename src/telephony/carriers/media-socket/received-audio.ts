import { FRAME_MS, frameSamples, samplesToMs } from '../../../audio/frame.js';
import type { Clock } from '../../../base/clock.js';
import { decodePayload, type MediaEncoding } from './encodings.js';

export interface ReceivedAudioOptions {
  clock: Clock;
  encoding: MediaEncoding;
  sampleRateHz: number;
  /** Its `droppedMs` and `missingMs` grow here. */
  counts: { droppedMs: number; missingMs: number };
  /** Samples, in their order. */
  onSound: (samples: Int16Array) => void;
  onBad: (reason: string) => void;
}

/** Sound may run so far ahead of time; what is beyond is dropped. */
const MAX_AHEAD_MS = 3_000;
/** The longest sound in one message; nobody sends more than 200 ms. */
const MAX_MESSAGE_MS = 1_000;
/** A gap of the carrier's clock is filled with silence up to this. */
const MAX_GAP_MS = 1_000;
/** Beyond this the carrier's clock has begun anew, or is wrong. */
const MOST_GAP_MS = 60_000;

/** The far end's sound, stream after stream: no faster than it can have been spoken, with silence where some is missing. */
export class ReceivedAudio {
  /** Messages with sound so far. */
  received = 0;
  readonly #options: ReceivedAudioOptions;
  #startedMs = 0;
  #heardMs = 0;
  /** Where the next sound should be, on the carrier's clock. */
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
   * A message's sound, base64.
   * @param atMs its place on the stream's own clock; null = the carrier does not tell
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
      this.#nextAtMs = atMs === null ? null : atMs + lengthMs; // its place is not filled
      return;
    }
    this.#heardMs += lengthMs;
    if (atMs !== null) {
      this.#fillGap(atMs);
      this.#nextAtMs = atMs + lengthMs;
    }
    onSound(samples);
  }

  /** Silence in the place of what the carrier left out, so that what follows has its time. */
  #fillGap(atMs: number): void {
    const { sampleRateHz, counts, onSound } = this.#options;
    const gapMs = atMs - (this.#nextAtMs ?? atMs);
    if (gapMs < FRAME_MS || gapMs > MOST_GAP_MS) return;
    counts.missingMs += gapMs;
    const frames = Math.floor(Math.min(gapMs, MAX_GAP_MS) / FRAME_MS);
    onSound(new Int16Array(frames * frameSamples(sampleRateHz)));
  }
}
