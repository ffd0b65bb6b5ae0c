import type { TalkTurnTimes } from '../../transports/talk-protocol.js';
import { make } from './elements.js';
import { duration, median, STAGES, stagesOf } from './times.js';

/** A bar ends here; longer answers fill it. */
const FULL_BAR_MS = 1500;

/** A turn's response time: the figure and a bar of its stages, which say what they are when pointed at. */
export function turnTimesElement(times: TalkTurnTimes): HTMLElement | null {
  const total = times.response_ms;
  if (total === null) return null;
  const stages = stagesOf(times);
  const root = make('div', 'times');
  root.append(make('span', 'times-total', duration(total)));
  const bar = make('span', 'bar');
  const words: string[] = [];
  for (const { name, ms } of stages) {
    const { label = name, about = '' } = STAGES.find((stage) => stage.name === name) ?? {};
    const part = make('span', `bar-part stage-${name}`);
    part.style.flexGrow = String(ms);
    part.title = `${label}: ${duration(ms)}, ${about}`;
    bar.append(part);
    words.push(`${label} ${duration(ms)}`);
  }
  bar.style.width = `${String(Math.min(100, Math.max(8, (total / FULL_BAR_MS) * 100)))}%`;
  bar.setAttribute('role', 'img');
  bar.setAttribute('aria-label', `Answered after ${duration(total)}: ${words.join(', ')}`);
  const track = make('span', 'bar-track');
  track.append(bar);
  root.append(track);
  return root;
}

/** The running median over the calls of this visit, and what the colours mean. */
export class TimesSummary {
  readonly #root: HTMLElement;
  readonly #figure = make('span', 'summary-figure', '–');
  readonly #count = make('span', 'summary-count');
  readonly #totals: number[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
    const heading = make('p', 'summary-line');
    heading.append(make('span', 'summary-label', 'Response time'), this.#figure, this.#count);
    const legend = make('ul', 'legend');
    for (const { name, label, about } of STAGES) {
      const entry = make('li', 'legend-entry', label);
      entry.title = about;
      entry.prepend(make('span', `swatch stage-${name}`));
      legend.append(entry);
    }
    const about = make('details', 'legend-about');
    const parts = STAGES.map(({ label, about: words }) => `${label}: ${words}`);
    about.append(make('summary', '', 'What these mean'), make('p', '', `${parts.join('; ')}.`));
    root.append(heading, legend, about);
  }

  add({ response_ms: total }: TalkTurnTimes): void {
    if (total === null) return;
    this.#totals.push(total);
    const middle = median(this.#totals) ?? total;
    this.#root.hidden = false;
    this.#figure.textContent = duration(middle);
    const count = this.#totals.length;
    this.#count.textContent = count === 1 ? 'first answer' : `median of ${String(count)} answers`;
  }
}
