import { el } from './dom.js';

const BARS = 4;
/** Levels between these are shown, in dB of full scale. */
const LOWEST_DB = -50;
const HIGHEST_DB = -12;

/** A few bars that follow a voice: the agent's in colour, the user's in ink. */
export class Meter {
  readonly element = el('span', { class: 'meter', 'aria-hidden': 'true' });
  readonly #bars: HTMLElement[] = [];
  readonly #levels: number[] = Array.from({ length: BARS }, () => 0);

  constructor() {
    for (let at = 0; at < BARS; at++) this.#bars.push(el('i'));
    this.element.append(...this.#bars);
  }

  /** Takes the next levels, root mean squares 0..1. */
  add(agent: number, user: number): void {
    this.element.classList.toggle('user', user > agent);
    this.#levels.unshift(heightOf(Math.max(agent, user)));
    this.#levels.length = BARS;
    this.#show();
  }

  /** Nobody is heard any more. */
  rest(): void {
    this.#levels.fill(0);
    this.#show();
  }

  #show(): void {
    for (const [at, bar] of this.#bars.entries()) {
      bar.style.transform = `scaleY(${(0.14 + 0.86 * (this.#levels[at] ?? 0)).toFixed(2)})`;
    }
  }
}

function heightOf(level: number): number {
  const db = 20 * Math.log10(Math.max(level, 1e-6));
  return Math.max(0, Math.min(1, (db - LOWEST_DB) / (HIGHEST_DB - LOWEST_DB)));
}
