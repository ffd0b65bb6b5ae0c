import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { type CaseFigures, runLink } from './eval-types.js';
import type { Matrix, MatrixCell } from './matrix.js';

/** Cases by versions: pass rate, median response time and cost. */
export function matrixTable({ columns, rows }: Matrix, agentName: (id: string) => string): HTMLElement {
  const isOneAgent = new Set(columns.map(({ agentId }) => agentId)).size < 2;
  const heads = columns.map(({ agentId, version }) =>
    el('th', { scope: 'col' }, isOneAgent ? `Version ${String(version)}` : `${agentName(agentId)} ${String(version)}`),
  );
  const isMixed = new Set(rows.map(({ mode }) => mode)).size > 1;
  const lines = rows.map(({ name, mode, cells }) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, name, ...(isMixed ? [el('span', { class: 'soft' }, ` ${mode}`)] : [])),
      ...cells.map((cell) => (cell === null ? el('td', { class: 'soft' }, '–') : filledCell(cell))),
    ),
  );
  const table = el(
    'table',
    { class: 'matrix' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Case'), ...heads)),
    el('tbody', {}, ...lines),
  );
  return el('div', { class: 'scroll-x', tabindex: '0', role: 'group', 'aria-label': 'Cases by versions' }, table);
}

function filledCell({ runId, figures }: MatrixCell): HTMLElement {
  const { name, passed } = figures;
  return el(
    'td',
    { class: passed ? 'passed' : 'failed' },
    el(
      'a',
      { href: runLink(runId, name) },
      el('b', { class: 'figure' }, rateText(figures)),
      el('span', { class: 'unseen' }, ` ${name}`),
    ),
    el('span', { class: 'figure soft' }, [responseText(figures), costText(figures.cost)].filter(Boolean).join(' · ')),
  );
}

/** `✓`, or `2 of 3`. */
function rateText({ passed, passes, runs }: CaseFigures): string {
  if (runs === 1) return passed ? '✓ pass' : '✗ fail';
  return `${passed ? '✓' : '✗'} ${String(passes)} of ${String(runs)}`;
}

function responseText({ response_ms: ms }: CaseFigures): string {
  return ms === null ? '' : duration(ms);
}

/** Empty where it is not known. */
export function costText(cost: number | null): string {
  if (cost === null) return '';
  return `cost ${cost === 0 ? '0' : cost.toFixed(cost < 0.01 ? 5 : 3)}`;
}
