import { type Peaks, PeakReader } from './waveform.js';

/** A call's recording with random access, and its waveforms. */
export class CallRecording {
  readonly audio = new Audio();
  readonly #freshUrl: () => Promise<string | null>;
  readonly #abort = new AbortController();
  #renewed = false;

  /** @param freshUrl a new link: a link expires after an hour */
  constructor(url: string, freshUrl: () => Promise<string | null>) {
    this.#freshUrl = freshUrl;
    this.audio.preload = 'metadata';
    this.audio.src = sameOrigin(url);
    this.audio.addEventListener('error', () => void this.#renew());
  }

  /**
   * Reads the recording for its waveforms.
   * @param onPeaks called repeatedly while it loads
   */
  async read(url: string, onPeaks: (peaks: Peaks, durationMs: number) => void): Promise<void> {
    const response = await fetch(sameOrigin(url), { signal: this.#abort.signal });
    if (!response.ok || response.body === null)
      throw new Error(`The recording could not be loaded: status ${String(response.status)}.`);
    const reader = new PeakReader();
    const body = response.body.getReader();
    let shownMs = 0;
    for (let piece = await body.read(); !piece.done; piece = await body.read()) {
      reader.push(piece.value);
      if (reader.durationMs - shownMs < 30_000) continue;
      shownMs = reader.durationMs;
      onPeaks(reader.peaks, shownMs);
    }
    onPeaks(reader.peaks, reader.durationMs);
  }

  close(): void {
    this.#abort.abort();
    this.audio.pause();
    this.audio.removeAttribute('src');
  }

  async #renew(): Promise<void> {
    if (this.#renewed || this.#abort.signal.aborted) return;
    this.#renewed = true;
    const url = await this.#freshUrl().catch(() => null);
    if (url === null) return;
    const { currentTime } = this.audio;
    this.audio.src = sameOrigin(url);
    this.audio.currentTime = currentTime;
  }
}

/** Links have the daemon's public address; the page may use another, and nothing from a store that it is redirected to. */
function sameOrigin(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return `${pathname}${search}${search === '' ? '?' : '&'}redirect=0`;
}
