import { decodeMedia } from '../audio/files/decode.js';
import { makeLoop } from '../audio/dsp/mix.js';
import type { Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';
import { MediaStore, type MediaStoreOptions } from '../net/media-store.js';

export interface BackgroundsOptions extends MediaStoreOptions {
  /** A real-time clock: decoding takes real time. */
  clock: Clock;
  /** Default: `ffmpeg` on PATH. */
  ffmpeg?: string;
}

/** Of longer audio only the beginning is looped: 10 MB at 16 kHz. */
const MAX_LENGTH_S = 300;
const DECODE_TIMEOUT_MS = 30_000;
/** Maximum number of loops in memory; the least recently used one is removed first. */
const MAX_LOOPS = 8;
/** Age at which a loop is made again. */
const FRESH_MS = 86_400_000;

/** The backgrounds of all sessions: each address is downloaded and decoded once, with one loop per rate. */
export class Backgrounds {
  readonly #options: BackgroundsOptions;
  readonly #store: MediaStore;
  readonly #loops = new Map<string, { loop: Promise<Int16Array>; sinceMs: number }>();
  readonly #closing = new AbortController();

  constructor(options: BackgroundsOptions) {
    this.#options = options;
    this.#store = new MediaStore(options);
  }

  /**
   * A loop; do not modify it.
   * @throws ParleyError NET_…, AUDIO_UNDECODABLE, AUDIO_DECODER_MISSING, SESSION_CLOSED
   */
  loop(url: string, sampleRateHz: number): Promise<Int16Array> {
    const key = `${String(sampleRateHz)} ${url}`;
    const nowMs = this.#options.clock.nowMs();
    let entry = this.#loops.get(key);
    this.#loops.delete(key);
    if (entry === undefined || nowMs - entry.sinceMs > FRESH_MS) {
      const made = { loop: this.#make(url, sampleRateHz), sinceMs: nowMs };
      made.loop.catch(() => {
        // The next session tries again.
        if (this.#loops.get(key) === made) this.#loops.delete(key);
      });
      entry = made;
    }
    this.#loops.set(key, entry);
    for (const oldest of this.#loops.keys()) {
      if (this.#loops.size <= MAX_LOOPS) break;
      this.#loops.delete(oldest);
    }
    return entry.loop;
  }

  /** Cancels everything in progress. May be called twice. */
  close(): void {
    this.#closing.abort(new ParleyError('SESSION_CLOSED'));
  }

  async #make(url: string, sampleRateHz: number): Promise<Int16Array> {
    const { signal } = this.#closing;
    const samples = await decodeMedia(await this.#store.fetch(url, signal), {
      sampleRateHz,
      signal,
      clock: this.#options.clock,
      maxLengthS: MAX_LENGTH_S,
      timeoutMs: DECODE_TIMEOUT_MS,
      program: this.#options.ffmpeg,
    });
    if (samples.length === 0) throw new ParleyError('AUDIO_UNDECODABLE', { reason: 'it contains no audio' });
    return makeLoop(samples, sampleRateHz);
  }
}
