import type { Cancel, Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { TtsAudio, TtsWord } from '../tts/tts.js';

/** The voice counts as silent when a listener would have run out of audio for this long. */
const SILENT_MS = 700;

/**
 * Joins the audio of one sentence that several voices may speak. Each word is reported once, at the time it is first
 * spoken, even if a later voice repeats it.
 */
export class UtteranceStitcher {
  readonly #clock: Clock;
  /** When the current voice's first audio arrived; null before. */
  #startMs: number | null = null;
  /** Total audio of all voices, and the offset where the current one began. */
  #audioMs = 0;
  #fromMs = 0;
  /** The current voice delivered less audio than a listener would have played. */
  fellSilent = false;
  /** Words that have been reported, and how many of them the current voice has repeated. */
  #reported = 0;
  #repeated = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the listener may have heard part of the sentence. */
  get hasBegun(): boolean {
    return this.#audioMs > 0;
  }

  /** Another voice restarts the sentence. */
  again(): void {
    this.#fromMs = this.#audioMs;
    this.#startMs = null;
    this.#repeated = 0;
    this.fellSilent = false;
  }

  /**
   * @param provider name of the current voice's provider
   * @throws ParleyError PROVIDER_TIMEOUT if the voice falls silent
   */
  async *play(pieces: AsyncIterator<TtsAudio>, provider: () => string): AsyncGenerator<TtsAudio, void, undefined> {
    try {
      for (;;) {
        const next = await this.#next(pieces, provider);
        if (next.done === true) return;
        const { samples, sampleRateHz, words } = next.value;
        if (samples.length > 0) this.#startMs ??= this.#clock.nowMs();
        this.#audioMs += (samples.length * 1000) / sampleRateHz;
        const placed = words === undefined ? [] : this.#placed(words);
        yield placed.length > 0 ? { samples, sampleRateHz, words: placed } : { samples, sampleRateHz };
      }
    } finally {
      void pieces.return?.()?.then(undefined, () => undefined);
    }
  }

  #placed(words: readonly TtsWord[]): TtsWord[] {
    const known = Math.min(words.length, this.#reported - this.#repeated);
    this.#repeated += known;
    const fresh = words.slice(known);
    this.#reported += fresh.length;
    this.#repeated += fresh.length;
    return fresh.map(({ text, startMs, endMs }) => ({
      text,
      startMs: this.#fromMs + startMs,
      endMs: this.#fromMs + endMs,
    }));
  }

  async #next(pieces: AsyncIterator<TtsAudio>, provider: () => string): Promise<IteratorResult<TtsAudio>> {
    const next = pieces.next();
    const startMs = this.#startMs;
    // Before its first audio, a voice is subject to its own deadline.
    if (startMs === null) return next;
    let cancel: Cancel = () => undefined;
    const silent = new Promise<never>((_resolve, reject) => {
      // Counts from when the listener has heard all audio so far.
      const heardMs = Math.max(this.#clock.nowMs(), startMs + this.#audioMs - this.#fromMs);
      cancel = this.#clock.schedule(heardMs + SILENT_MS, () => {
        this.fellSilent = true;
        reject(new ParleyError('PROVIDER_TIMEOUT', { provider: provider(), timeoutMs: SILENT_MS }));
      });
    });
    try {
      return await Promise.race([next, silent]);
    } finally {
      cancel();
      next.catch(() => undefined);
    }
  }
}
