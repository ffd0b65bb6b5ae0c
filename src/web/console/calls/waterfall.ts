import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { type Bar, waterfall } from './bars.js';
import type { TurnStory } from './turns.js';

/** The waterfalls of all turns on one scale. */
export function waterfalls(turns: readonly TurnStory[], onSeek: (ms: number) => void): HTMLElement {
  const bars = turns.map(waterfall);
  const all = bars.flat();
  const high = Math.max(1, ...all.map(({ toMs }) => toMs));
  // Bars that start long before the end of speech are cut: the wait is what matters.
  const low = Math.max(Math.min(0, ...all.map(({ fromMs }) => fromMs)), -high / 2);
  const items = turns.map((turn, at) => {
    const heading = el(
      'button',
      { type: 'button', class: 'fall-head', title: 'Go to this turn' },
      el('span', { class: 'fall-turn' }, String(turn.turn)),
      el('span', { class: 'fall-words' }, turn.heard ?? 'unasked'),
      el('b', { class: 'figure' }, turn.responseMs === null ? 'not answered' : duration(turn.responseMs)),
    );
    heading.addEventListener('click', () => onSeek(Math.max(0, (turn.speechEndMs ?? turn.audioStartMs ?? 0) - 800)));
    const rows = (bars[at] ?? []).map((bar) => barRow(bar, low, high));
    return el(
      'li',
      { class: 'fall' },
      heading,
      ...rows,
      ...(turn.interrupted ? [el('p', { class: 'tag' }, 'interrupted')] : []),
    );
  });
  return el('ol', { class: 'falls' }, ...items);
}

function barRow({ label, about, fromMs, toMs, look }: Bar, low: number, high: number): HTMLElement {
  const share = (ms: number): number => ((Math.max(ms, low) - low) / (high - low)) * 100;
  const bar = el('span', { class: `fall-bar ${look}` });
  bar.style.left = `${share(fromMs).toFixed(2)}%`;
  bar.style.width = `${(share(toMs) - share(fromMs)).toFixed(2)}%`;
  const zero = el('span', { class: 'fall-zero' });
  zero.style.left = `${share(0).toFixed(2)}%`;
  return el(
    'div',
    { class: `fall-row ${look}`, title: about },
    el('span', {}, label),
    el('span', { class: 'fall-track' }, zero, bar),
    el('span', { class: 'figure' }, toMs - fromMs < 0.5 ? '0 ms' : duration(toMs - fromMs)),
  );
}
