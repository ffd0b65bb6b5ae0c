import { el } from '../../shared/elements.js';
import { home } from '../../shared/home.js';
import { clock, moment } from '../words.js';
import type { TimelineView } from './timeline-view.js';
import { type Peaks, PeakReader } from './waveform.js';

/** Plays a call and shows what is happening at each moment. */
export class Player {
  readonly element: HTMLElement;
  readonly #timeline: TimelineView;
  readonly #audio: HTMLAudioElement | null;
  readonly #play = el('button', { type: 'button', class: 'main-button play', 'aria-label': 'Play' }, '▶');
  readonly #time = el('span', { class: 'figure' });
  readonly #now = el('ul', { class: 'now' });
  #atMs = 0;
  #frame = 0;
  #closed = false;

  constructor(timeline: TimelineView, recording: CallRecording | null) {
    this.#timeline = timeline;
    this.#audio = recording?.audio ?? null;
    const zoom = [
      this.#button('−', 'Further away', () => timeline.zoom(1 / 1.6)),
      this.#button('+', 'Closer', () => timeline.zoom(1.6)),
      this.#button('Fit', 'Fit the whole call', () => timeline.fit()),
    ];
    const play = this.#audio === null ? [] : [this.#play];
    const bar = el('div', { class: 'player' }, ...play, this.#time, el('span', { class: 'zoom' }, ...zoom));
    this.element = el('div', {}, bar, timeline.element, this.#now);
    this.#play.addEventListener('click', () => this.toggle());
    this.#audio?.addEventListener('play', () => this.#onState());
    this.#audio?.addEventListener('pause', () => this.#onState());
    this.#audio?.addEventListener('seeked', () => {
      if (this.#audio?.paused === true) this.#show(this.#audio.currentTime * 1000, false);
    });
    timeline.element.addEventListener('keydown', (event) => {
      if (event.key !== ' ') return;
      event.preventDefault();
      this.toggle();
    });
    this.#show(0, false);
  }

  toggle(): void {
    if (this.#audio === null) return;
    if (this.#audio.paused) void this.#audio.play().catch(() => undefined);
    else this.#audio.pause();
  }

  /** Goes to a moment, and plays from there. */
  seek(ms: number, plays = true): void {
    const at = Math.min(this.#timeline.durationMs, Math.max(0, ms));
    this.#show(at, true);
    if (this.#audio === null) return;
    this.#audio.currentTime = at / 1000;
    if (plays && this.#audio.paused) void this.#audio.play().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    cancelAnimationFrame(this.#frame);
  }

  #button(text: string, title: string, run: () => void): HTMLElement {
    const button = el('button', { type: 'button', class: 'quiet-button', title, 'aria-label': title }, text);
    button.addEventListener('click', run);
    return button;
  }

  #onState(): void {
    const isPlaying = this.#audio?.paused === false;
    this.#play.textContent = isPlaying ? '❚❚' : '▶';
    this.#play.setAttribute('aria-label', isPlaying ? 'Pause' : 'Play');
    if (isPlaying) this.#follow();
  }

  #follow(): void {
    cancelAnimationFrame(this.#frame);
    const audio = this.#audio;
    if (audio === null || audio.paused || this.#closed) return;
    this.#show(audio.currentTime * 1000, true);
    this.#frame = requestAnimationFrame(() => this.#follow());
  }

  #show(ms: number, follow: boolean): void {
    this.#timeline.moveTo(ms, follow);
    const text = `${clock(ms / 1000)} / ${clock(this.#timeline.durationMs / 1000)}`;
    if (this.#time.textContent !== text) this.#time.textContent = text;
    if (Math.abs(ms - this.#atMs) < 60 && this.#now.childElementCount > 0) return;
    this.#atMs = ms;
    const spans = this.#timeline.spansAt(ms).slice(0, 8);
    const lines = spans.map(({ lane, about, look }) =>
      el('li', { class: `now-${look}` }, el('b', {}, lane), ' ', about),
    );
    this.#now.replaceChildren(
      el('li', { class: 'soft' }, `At ${moment(ms)}`),
      ...(lines.length === 0 ? [el('li', { class: 'soft' }, 'silence')] : lines),
    );
  }
}

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
  const path = pathname.slice(pathname.lastIndexOf('/call-logs/'));
  return `${home()}${path}${search}${search === '' ? '?' : '&'}redirect=0`;
}
