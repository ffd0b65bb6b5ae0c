import { el } from '../../shared/elements.js';
import type { Ribbon, RibbonState } from './ribbon.js';

/** Visible part of the conversation. */
const WINDOW_MS = 30_000;
const SAMPLE_MS = 40;
const WAVE_PX = 40;
const STRIP_PX = 14;

const STATES: readonly { state: RibbonState; label: string; colour: string }[] = [
  { state: 'listening', label: 'listening', colour: '--line' },
  { state: 'thinking', label: 'thinking', colour: '--early' },
  { state: 'speaking', label: 'speaking', colour: '--accent' },
  { state: 'held', label: 'held', colour: '--held' },
  { state: 'interrupted', label: 'interrupted', colour: '--alert' },
];

/** The last half minute: the user's audio above, the agent's below, and the state of the conversation. */
export class RibbonView {
  readonly element: HTMLElement;
  readonly #canvas = el('canvas', {
    class: 'ribbon',
    role: 'img',
    'aria-label': 'The last half minute of the conversation',
  });
  readonly #ribbon: Ribbon;
  readonly #levels: () => { user: number; agent: number } | null;
  readonly #timer: number;
  #frame = 0;
  /** The ribbon stops when the call is over. */
  #nowMs = performance.now();

  constructor(ribbon: Ribbon, levels: () => { user: number; agent: number } | null) {
    this.#ribbon = ribbon;
    this.#levels = levels;
    const legend = STATES.map(({ label, colour }) => {
      const swatch = el('span', { class: 'swatch' });
      swatch.style.background = `var(${colour})`;
      return el('li', { class: 'legend-entry' }, swatch, label);
    });
    this.element = el('div', { class: 'ribbon-box' }, this.#canvas, el('ul', { class: 'legend' }, ...legend));
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#frame = requestAnimationFrame(this.#draw);
  }

  close(): void {
    clearInterval(this.#timer);
    cancelAnimationFrame(this.#frame);
  }

  #sample(): void {
    const levels = this.#levels();
    if (levels === null) return;
    this.#nowMs = performance.now();
    this.#ribbon.onLevels(levels.user, levels.agent, this.#nowMs);
  }

  readonly #draw = (): void => {
    this.#frame = requestAnimationFrame(this.#draw);
    const width = this.#canvas.clientWidth;
    const height = 2 * WAVE_PX + STRIP_PX;
    const density = Math.min(3, devicePixelRatio);
    if (this.#canvas.width !== Math.round(width * density)) this.#canvas.width = Math.round(width * density);
    if (this.#canvas.height !== Math.round(height * density)) this.#canvas.height = Math.round(height * density);
    const context = this.#canvas.getContext('2d');
    if (context === null) return;
    const style = getComputedStyle(this.#canvas);
    const xOf = (ms: number): number => width - ((this.#nowMs - ms) / WINDOW_MS) * width;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = style.getPropertyValue('--line');
    context.fillRect(0, WAVE_PX - 0.5, width, 1);
    const bar = Math.max(1, (SAMPLE_MS / WINDOW_MS) * width);
    for (const { atMs, user, agent } of this.#ribbon.samples) {
      const x = xOf(atMs);
      if (x < 0) continue;
      context.fillStyle = style.getPropertyValue('--user');
      const up = Math.sqrt(Math.min(1, user * 2)) * WAVE_PX;
      context.fillRect(x, WAVE_PX - up, bar, up);
      context.fillStyle = style.getPropertyValue('--accent');
      context.fillRect(x, WAVE_PX, bar, Math.sqrt(Math.min(1, agent * 2)) * WAVE_PX);
    }
    for (const { state, fromMs, toMs } of this.#ribbon.pieces) {
      const colour = STATES.find((one) => one.state === state)?.colour;
      if (colour === undefined) continue;
      const from = Math.max(0, xOf(fromMs));
      const to = xOf(toMs ?? this.#nowMs);
      context.fillStyle = style.getPropertyValue(colour);
      if (to > from) context.fillRect(from, 2 * WAVE_PX + 2, to - from, STRIP_PX - 2);
    }
  };
}
