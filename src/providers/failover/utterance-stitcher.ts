import type { Cancel, Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { TtsAudio, TtsWord } from '../tts/tts.js';

/** A listener would have heard all there is for so long: the voice has fallen silent. */
const SILENT_MS = 700;

/**
 * The audio of one sentence that may take several voices: each word is told once, with the time at which it is spoken
 * for the first time, whoever says it again.
 */
export class UtteranceStitcher {
  readonly #clock: Clock;
  /** When the current voice's first audio came, null before. */
  #startMs: number | null = null;
  /** The audio of all voices, and where in it the current one began. */
  #audioMs = 0;
  #fromMs = 0;
  /** The current voice gave less audio than a listener hears. */
  fellSilent = false;
  /** Words that have been told, and of these how many the current voice has said again. */
  #told = 0;
  #repeated = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something of the sentence may have been heard. */
  get hasBegun(): boolean {
    return this.#audioMs > 0;
  }

  /** Another voice begins the sentence anew. */
  again(): void {
    this.#fromMs = this.#audioMs;
    this.#startMs = null;
    this.#repeated = 0;
    this.fellSilent = false;
  }

  /**
   * @param provider who speaks
   * @throws ParleyError PROVIDER_TIMEOUT where the voice falls silent
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
        yield { samples, sampleRateHz, ...(placed.length > 0 && { words: placed }) };
      }
    } finally {
      void pieces.return?.()?.then(undefined, () => undefined);
    }
  }

  #placed(words: readonly TtsWord[]): TtsWord[] {
    const known = Math.min(words.length, this.#told - this.#repeated);
    this.#repeated += known;
    const fresh = words.slice(known);
    this.#told += fresh.length;
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
    // Until its first audio a voice has a deadline of its own.
    if (startMs === null) return next;
    let cancel: Cancel = () => undefined;
    const silent = new Promise<never>((_resolve, reject) => {
      // From when a listener has heard everything.
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
