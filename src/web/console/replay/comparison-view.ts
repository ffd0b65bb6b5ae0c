import type { WhatIf } from '../../../replay/what-if.js';
import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { statusWords } from '../statuses.js';
import { clock } from '../words.js';
import { type ComparisonSummary, isNoticed, type TurnComparison, type TurnSide } from './comparison.js';

export interface ComparisonViewOptions {
  zeroMs: number;
  onSeek: ((ms: number) => void) | null;
}

/** Original and replayed turns on one scale. */
export function comparisonView(
  rows: readonly TurnComparison[],
  summary: ComparisonSummary,
  { before, after }: WhatIf,
  { zeroMs, onSeek }: ComparisonViewOptions,
): HTMLElement {
  const longest = Math.max(1, ...rows.flatMap((row) => [widest(row.before), widest(row.after)]));
  const end = (side: WhatIf['before']): string =>
    side === null ? 'still open' : `${statusWords(side.status).label} at ${clock((side.atMs - zeroMs) / 1000)}`;
  const facts = [
    ['Turns decided otherwise', `${String(summary.changed)} of ${String(summary.turns)}`],
    ['Response time, median', fromTo(ms(summary.before.responseMs), ms(summary.after.responseMs))],
    ['Interruptions', fromTo(String(summary.before.interruptions), String(summary.after.interruptions))],
    ['End', fromTo(end(before), end(after))],
  ].map(([name = '', value = '']) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  const items = rows.map((row, at) => turnItem(row, at, longest, onSeek));
  return el(
    'div',
    { class: 'stack' },
    el('dl', { class: 'replay-facts figures', 'aria-live': 'polite' }, ...facts),
    el('ol', { class: 'falls' }, ...items),
  );
}

const CHANGES: Readonly<Record<TurnComparison['change'], string>> = {
  same: 'the same',
  later: 'later',
  sooner: 'sooner',
  otherwise: 'otherwise',
  gone: 'no turn any more',
  new: 'a new turn',
};

function turnItem(
  { atMs, change, deltaMs, decidedDeltaMs, before, after, decisions }: TurnComparison,
  at: number,
  longest: number,
  onSeek: ComparisonViewOptions['onSeek'],
): HTMLElement {
  const side = before ?? after;
  const badge = isNoticed(deltaMs)
    ? signed(deltaMs ?? 0)
    : isNoticed(decidedDeltaMs)
      ? `turn over ${signed(decidedDeltaMs ?? 0)}`
      : CHANGES[change];
  const heading = el(
    'button',
    { type: 'button', class: 'fall-head', title: 'Go to this turn' },
    el('span', { class: 'fall-turn' }, at === 0 ? '–' : String(at)),
    el('span', { class: 'fall-words' }, side?.heard === '' ? 'The opening' : (side?.heard ?? '')),
    el('b', { class: `figure change-${change}` }, badge),
  );
  heading.disabled = onSeek === null;
  heading.addEventListener('click', () => onSeek?.(Math.max(0, atMs - 800)));
  return el(
    'li',
    { class: `fall replay-turn ${change === 'same' ? 'same' : ''}`, 'data-change': change },
    heading,
    ...(before === null ? [] : [waitRow('As it was', before, longest)]),
    ...(after === null || change === 'same' ? [] : [waitRow('With these', after, longest)]),
    ...(change === 'same' ? [] : words(before, after)),
    ...decisions.map(({ side: of, atMs: decidedMs, text }) =>
      el(
        'p',
        { class: `replay-decision ${of}` },
        el('span', {}, of === 'before' ? 'no more' : 'now'),
        ` ${clock(decidedMs / 1000)} ${text}`,
      ),
    ),
  );
}

/** Differences in words, and in the reason for the end of the turn. */
function words(before: TurnSide | null, after: TurnSide | null): HTMLElement[] {
  if (before === null || after === null) return [];
  const pairs: [string, string | null, string | null][] = [
    ['Heard', before.heard, after.heard],
    ['Turn over after', ms(before.endOfTurnMs), ms(after.endOfTurnMs)],
    ['Why', before.reason, after.reason],
    ['Answer', before.answer, after.answer],
  ];
  return pairs
    .filter(([, one, other]) => one !== other)
    .map(([name, one, other]) =>
      el(
        'p',
        { class: 'replay-words' },
        el('b', {}, name),
        ' ',
        el('del', {}, said(one)),
        ' ',
        el('ins', {}, said(other)),
      ),
    );
}

function said(text: string | null): string {
  return text === null || text === '' ? 'nothing' : text;
}

function waitRow(label: string, { endOfTurnMs, responseMs }: TurnSide, longest: number): HTMLElement {
  const share = (part: number): string => `${((Math.max(0, part) / longest) * 100).toFixed(2)}%`;
  const decided = endOfTurnMs ?? 0;
  const pause = el('span', { class: 'fall-bar pause' });
  pause.style.width = share(decided);
  const rest = el('span', { class: 'fall-bar voice' });
  rest.style.left = share(decided);
  rest.style.width = share((responseMs ?? decided) - decided);
  const about = `${endOfTurnMs === null ? '' : `The turn is over after ${duration(decided)}; `}${
    responseMs === null ? 'no answer is heard' : `the agent is heard after ${duration(responseMs)}`
  }`;
  return el(
    'div',
    { class: 'fall-row', title: about },
    el('span', {}, label),
    el(
      'span',
      { class: 'fall-track' },
      ...(endOfTurnMs === null ? [rest] : [pause, ...(responseMs === null ? [] : [rest])]),
    ),
    el('span', { class: 'figure' }, responseMs === null ? 'no answer' : duration(responseMs)),
  );
}

function widest(side: TurnSide | null): number {
  return Math.max(side?.endOfTurnMs ?? 0, side?.responseMs ?? 0);
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${duration(Math.abs(value))}`;
}

function ms(value: number | null): string {
  return value === null ? '–' : duration(value);
}

function fromTo(before: string, after: string): string {
  return before === after ? before : `${before} → ${after}`;
}
