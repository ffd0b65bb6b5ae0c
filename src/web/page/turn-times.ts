import type { TurnTimes } from '@parley-voice/web';
import { el } from '../shared/elements.js';
import { duration, median, STAGES, stagesOf } from './times.js';

/** Length of the bar; longer answers fill it. */
const FULL_BAR_MS = 1500;

/** A turn's response time: the figure and a bar of its stages, with tooltips. */
export function turnTimesElement(times: TurnTimes): HTMLElement | null {
  const total = times.response_ms;
  if (total === null) return null;
  const stages = stagesOf(times);
  const root = el('div', { class: 'times' });
  root.append(el('span', { class: 'times-total' }, duration(total)));
  const bar = el('span', { class: 'bar' });
  const words: string[] = [];
  for (const { name, ms } of stages) {
    const { label = name, about = '' } = STAGES.find((stage) => stage.name === name) ?? {};
    const part = el('span', { class: `bar-part stage-${name}` });
    part.style.flexGrow = String(ms);
    part.title = `${label}: ${duration(ms)}, ${about}`;
    bar.append(part);
    words.push(`${label} ${duration(ms)}`);
  }
  bar.style.width = `${String(Math.min(100, Math.max(8, (total / FULL_BAR_MS) * 100)))}%`;
  bar.setAttribute('role', 'img');
  bar.setAttribute('aria-label', `Answered after ${duration(total)}: ${words.join(', ')}`);
  const track = el('span', { class: 'bar-track' });
  track.append(bar);
  root.append(track);
  return root;
}

/** The running median over the calls of this visit, and the legend. */
export class TimesSummary {
  readonly #root: HTMLElement;
  readonly #figure = el('span', { class: 'summary-figure' }, '–');
  readonly #count = el('span', { class: 'summary-count' });
  readonly #totals: number[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
    const heading = el('p', { class: 'summary-line' });
    heading.append(el('span', { class: 'summary-label' }, 'Response time'), this.#figure, this.#count);
    const legend = el('ul', { class: 'legend' });
    for (const { name, label, about } of STAGES) {
      const entry = el('li', { class: 'legend-entry' }, label);
      entry.title = about;
      entry.prepend(el('span', { class: `swatch stage-${name}` }));
      legend.append(entry);
    }
    const about = el('details', { class: 'legend-about' });
    const parts = STAGES.map(({ label, about: words }) => `${label}: ${words}`);
    about.append(el('summary', {}, 'What these mean'), el('p', {}, `${parts.join('; ')}.`));
    root.append(heading, legend, about);
  }

  add({ response_ms: total }: TurnTimes): void {
    if (total === null) return;
    this.#totals.push(total);
    const middle = median(this.#totals) ?? total;
    this.#root.hidden = false;
    this.#figure.textContent = duration(middle);
    const count = this.#totals.length;
    this.#count.textContent = count === 1 ? 'first answer' : `median of ${String(count)} answers`;
  }
}
