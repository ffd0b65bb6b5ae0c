import { el } from '../../shared/elements.js';
import { clock } from '../words.js';
import type { LaneName, TimelineSpan, CallTimeline } from './timeline.js';
import { loudest, type Peaks } from './waveform.js';

const LANE_TEXTS: Readonly<Record<LaneName, { label: string; about: string }>> = {
  steps: { label: 'Steps', about: 'The steps of the flow that the call was in' },
  speech: { label: 'Speech', about: 'Where voice activity detection heard the user' },
  words: { label: 'Words', about: 'Speech recognition: from the first words of a segment to the last' },
  turns: {
    label: 'Turns',
    about: 'From the end of speech to the decision that the turn is over; each mark is a decision',
  },
  model: { label: 'Model', about: 'Requests to the language model; hatched: asked early; dashed: dropped' },
  tools: { label: 'Tools', about: 'Tools, keys and transfers' },
  voice: { label: 'Voice', about: 'Synthesis: from the text to the first audio; dashed: dropped' },
  playout: { label: 'Playout', about: 'What went to the line; hatched: held' },
};
const USUAL_PX_PER_S = 60;
/** A call up to this length is shown completely at first. */
const FITTED_MS = 120_000;
const MOST_PX_PER_S = 2000;
/** Minimum width of a mark's label; with less room it has none. */
const LEAST_LABEL_PX = 32;
const MOST_LABEL_PX = 160;
/** Approximate distance of ruler marks. */
const TICK_PX = 90;
const STEPS_S = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
const WAVE_HEIGHT = 44;
/** Search radius for instantaneous events, or 6 px. */
const MARK_NEAR_MS = 150;

/** A call on a time axis. A click or the arrow keys select a moment. */
export class TimelineView {
  readonly element: HTMLElement;
  readonly #timeline: CallTimeline;
  readonly #onSeek: (ms: number) => void;
  readonly #scroller = el('div', {
    class: 'tl-scroller',
    tabindex: '0',
    role: 'slider',
    'aria-label': 'Moment of the call',
    'aria-valuemin': '0',
  });
  readonly #inner = el('div', { class: 'tl-inner' });
  readonly #ruler = el('div', { class: 'tl-ruler' });
  readonly #canvas = el('canvas', { class: 'tl-waves', 'aria-hidden': 'true' });
  readonly #playhead = el('div', { class: 'tl-playhead' });
  readonly #lanes: { name: LaneName; element: HTMLElement; spans: readonly TimelineSpan[] }[];
  readonly #resize: ResizeObserver;
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  #durationMs: number;
  #peaks: Peaks | null = null;
  #pxPerMs = 0;
  #atMs = 0;
  #drawing = 0;

  constructor(timeline: CallTimeline, hasWaves: boolean, onSeek: (ms: number) => void) {
    this.#timeline = timeline;
    this.#onSeek = onSeek;
    this.#durationMs = Math.max(1000, timeline.durationMs);
    this.#lanes = (Object.keys(LANE_TEXTS) as LaneName[])
      .map((name) => ({ name, element: el('div', { class: `tl-lane ${name}` }), spans: this.#spansOf(name) }))
      .filter(({ spans }) => spans.length > 0);
    const labels = this.#lanes.map(({ name }) => {
      const { label, about } = LANE_TEXTS[name];
      return el('span', { title: about }, label);
    });
    const waves = hasWaves
      ? [el('span', { class: 'wave-label' }, 'User'), el('span', { class: 'wave-label' }, 'Agent')]
      : [];
    const names = el(
      'div',
      { class: 'tl-names', 'aria-hidden': 'true' },
      el('span', { class: 'tl-corner' }),
      ...waves,
      ...labels,
    );
    this.#inner.append(
      this.#ruler,
      ...(hasWaves ? [this.#canvas] : []),
      ...this.#lanes.map(({ element }) => element),
      this.#playhead,
    );
    this.#scroller.append(this.#inner);
    this.element = el('div', { class: 'timeline' }, names, this.#scroller);
    this.#scroller.addEventListener('scroll', () => this.#redraw());
    this.#scroller.addEventListener('click', (event) => this.#onSeek(this.#msAt(event.clientX)));
    this.#scroller.addEventListener('keydown', (event) => this.#onKey(event));
    this.#scroller.addEventListener('wheel', (event) => this.#onWheel(event), { passive: false });
    this.#dark.addEventListener('change', this.#onScheme);
    this.#resize = new ResizeObserver(() => {
      if (this.#pxPerMs === 0 && this.#durationMs > FITTED_MS) this.#pxPerMs = USUAL_PX_PER_S / 1000;
      this.#pxPerMs = Math.max(this.#pxPerMs, this.#fitting);
      this.#layOut();
    });
    this.#resize.observe(this.#scroller);
  }

  close(): void {
    this.#resize.disconnect();
    this.#dark.removeEventListener('change', this.#onScheme);
    cancelAnimationFrame(this.#drawing);
  }

  /** Shows the loaded part of the recording. */
  showPeaks(peaks: Peaks, durationMs: number): void {
    const isFitted = this.#pxPerMs > 0 && this.#pxPerMs <= this.#fitting;
    this.#peaks = peaks;
    this.#durationMs = Math.max(this.#durationMs, durationMs);
    // A recording may be longer than the trace: the whole call stays in view.
    if (isFitted) this.#pxPerMs = this.#fitting;
    this.#layOut();
  }

  get durationMs(): number {
    return this.#durationMs;
  }

  /** @param follow keeps the moment in view */
  moveTo(ms: number, follow: boolean): void {
    this.#atMs = Math.min(this.#durationMs, Math.max(0, ms));
    const x = this.#atMs * this.#pxPerMs;
    this.#playhead.style.transform = `translateX(${x.toFixed(1)}px)`;
    this.#scroller.setAttribute('aria-valuenow', (this.#atMs / 1000).toFixed(1));
    this.#scroller.setAttribute('aria-valuetext', clock(this.#atMs / 1000));
    const { scrollLeft, clientWidth } = this.#scroller;
    if (follow && (x < scrollLeft || x > scrollLeft + clientWidth - 24))
      this.#scroller.scrollLeft = x - clientWidth * 0.2;
  }

  /** Zooms in (`factor` > 1) or out, around the playhead or a point of the window. */
  zoom(factor: number, clientX?: number): void {
    const left = this.#scroller.getBoundingClientRect().left;
    const anchorMs = clientX === undefined ? this.#atMs : this.#msAt(clientX);
    const anchorX = clientX === undefined ? anchorMs * this.#pxPerMs - this.#scroller.scrollLeft : clientX - left;
    this.#pxPerMs = Math.min(MOST_PX_PER_S / 1000, Math.max(this.#fitting, this.#pxPerMs * factor));
    this.#layOut();
    this.#scroller.scrollLeft = anchorMs * this.#pxPerMs - anchorX;
    this.#redraw();
  }

  fit(): void {
    this.#pxPerMs = this.#fitting;
    this.#layOut();
  }

  /** The spans at a moment, by lane. */
  spansAt(ms: number): TimelineSpan[] {
    const near = Math.min(MARK_NEAR_MS, 6 / this.#pxPerMs);
    return this.#timeline.spans.filter(({ fromMs, toMs }) =>
      toMs - fromMs < near ? Math.abs(fromMs - ms) <= near : fromMs <= ms && ms <= toMs,
    );
  }

  get #fitting(): number {
    return this.#scroller.clientWidth / this.#durationMs;
  }

  #spansOf(name: LaneName): TimelineSpan[] {
    return this.#timeline.spans.filter(({ lane }) => lane === name);
  }

  #msAt(clientX: number): number {
    const x = clientX - this.#scroller.getBoundingClientRect().left + this.#scroller.scrollLeft;
    return Math.min(this.#durationMs, Math.max(0, x / this.#pxPerMs));
  }

  #onKey(event: KeyboardEvent): void {
    const step = event.shiftKey ? 5000 : 1000;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowRight: () => this.#onSeek(this.#atMs + step),
      ArrowLeft: () => this.#onSeek(this.#atMs - step),
      Home: () => this.#onSeek(0),
      End: () => this.#onSeek(this.#durationMs),
      '+': () => this.zoom(1.6),
      '-': () => this.zoom(1 / 1.6),
      '0': () => this.fit(),
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  }

  #onWheel(event: WheelEvent): void {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), event.clientX);
  }

  readonly #onScheme = (): void => {
    this.#redraw();
  };

  #layOut(): void {
    this.#inner.style.width = `${(this.#durationMs * this.#pxPerMs).toFixed(1)}px`;
    this.#scroller.setAttribute('aria-valuemax', (this.#durationMs / 1000).toFixed(1));
    this.moveTo(this.#atMs, false);
    this.#redraw();
  }

  #redraw(): void {
    cancelAnimationFrame(this.#drawing);
    this.#drawing = requestAnimationFrame(() => this.#draw());
  }

  /** Draws the window and its surroundings: a call may have thousands of spans. */
  #draw(): void {
    const { scrollLeft, clientWidth } = this.#scroller;
    const fromMs = (scrollLeft - 100) / this.#pxPerMs;
    const toMs = (scrollLeft + clientWidth + 100) / this.#pxPerMs;
    for (const { element, spans } of this.#lanes) {
      const seen = spans.filter((span) => span.toMs >= fromMs && span.fromMs <= toMs);
      element.replaceChildren(
        ...seen.map((span, at) => {
          const roomMs = (seen[at + 1]?.fromMs ?? Infinity) - span.fromMs;
          return this.#spanElement(span, roomMs * this.#pxPerMs);
        }),
      );
    }
    this.#drawRuler(fromMs, toMs);
    if (this.#peaks !== null) this.#drawWaves(this.#peaks);
  }

  /** @param roomPx space until the next span, which limits a mark's label */
  #spanElement({ fromMs, toMs, label, about, look }: TimelineSpan, roomPx: number): HTMLElement {
    const width = (toMs - fromMs) * this.#pxPerMs;
    const isMark = width < 3;
    const element = el('span', { class: `tl-span ${look}${isMark ? ' mark' : ''}`, title: about });
    element.style.left = `${(fromMs * this.#pxPerMs).toFixed(1)}px`;
    if (!isMark) element.style.width = `${width.toFixed(1)}px`;
    const isRoomy = roomPx >= LEAST_LABEL_PX;
    if (isMark && isRoomy) element.style.maxWidth = `${Math.min(MOST_LABEL_PX, roomPx - 2).toFixed(1)}px`;
    if (isMark ? isRoomy : width > 22) element.textContent = label;
    return element;
  }

  #drawRuler(fromMs: number, toMs: number): void {
    const stepS = STEPS_S.find((step) => step * 1000 * this.#pxPerMs >= TICK_PX) ?? 1200;
    const ticks: HTMLElement[] = [];
    const last = Math.min(toMs, this.#durationMs) / 1000;
    for (let at = Math.max(0, Math.floor(fromMs / 1000 / stepS)); at * stepS <= last; at++) {
      const seconds = at * stepS;
      const text = stepS < 1 ? `${clock(seconds)}${(seconds % 1).toFixed(2).slice(1)}` : clock(seconds);
      const tick = el('span', {}, text);
      tick.style.left = `${(seconds * 1000 * this.#pxPerMs).toFixed(1)}px`;
      ticks.push(tick);
    }
    this.#ruler.replaceChildren(...ticks);
  }

  #drawWaves({ user, agent }: Peaks): void {
    const { clientWidth: width, scrollLeft } = this.#scroller;
    const density = Math.min(3, devicePixelRatio);
    const height = 2 * WAVE_HEIGHT;
    this.#canvas.style.width = `${String(width)}px`;
    this.#canvas.style.height = `${String(height)}px`;
    this.#canvas.width = Math.round(width * density);
    this.#canvas.height = Math.round(height * density);
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    const style = getComputedStyle(this.#canvas);
    context.scale(density, density);
    for (const [peaks, middle, colour] of [
      [user, WAVE_HEIGHT / 2, style.getPropertyValue('--user')],
      [agent, WAVE_HEIGHT * 1.5, style.getPropertyValue('--accent')],
    ] as const) {
      context.fillStyle = colour;
      for (let x = 0; x < width; x++) {
        const level = loudest(peaks, (scrollLeft + x) / this.#pxPerMs, (scrollLeft + x + 1) / this.#pxPerMs);
        // Makes quiet speech visible.
        const half = Math.max(0.5, Math.sqrt(level) * (WAVE_HEIGHT / 2 - 2));
        context.fillRect(x, middle - half, 1, 2 * half);
      }
    }
  }
}
