import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { type CaseFigures, type EvalModeName, type Run, runLink } from './eval-types.js';

/** The newest figures of a case with one version of an agent. */
interface Cell {
  runId: string;
  figures: CaseFigures;
}

interface MatrixRow {
  name: string;
  mode: EvalModeName;
  /** By column. */
  cells: (Cell | null)[];
}

/** A version of an agent. */
export interface MatrixColumn {
  agentId: string;
  version: number;
}

export interface Matrix {
  columns: MatrixColumn[];
  rows: MatrixRow[];
}

/** Columns that are shown: the newest versions. */
const MAX_COLUMNS = 6;

/**
 * The newest figures of each case by version.
 * @param runs latest first
 * @param names the suite's cases in their order; figures of others are left out
 */
export function matrixOf(runs: readonly Run[], names: readonly string[]): Matrix {
  const columns: MatrixColumn[] = [];
  for (const { agent_id: agentId, agent_version: version, cases } of runs) {
    const isKnown = columns.some((column) => column.agentId === agentId && column.version === version);
    if (cases !== null && !isKnown) columns.push({ agentId, version });
  }
  columns.sort((a, b) => a.agentId.localeCompare(b.agentId) || a.version - b.version);
  columns.splice(0, columns.length - MAX_COLUMNS);
  const rows = new Map<string, MatrixRow>();
  for (const { id: runId, agent_id: agentId, agent_version: version, cases } of runs) {
    const at = columns.findIndex((column) => column.agentId === agentId && column.version === version);
    if (at === -1) continue;
    for (const figures of cases ?? []) {
      const { name, mode } = figures;
      const key = `${mode} ${name}`;
      const row = rows.get(key) ?? { name, mode, cells: columns.map(() => null) };
      rows.set(key, row);
      row.cells[at] ??= { runId, figures };
    }
  }
  const place = ({ name, mode }: MatrixRow): number => 2 * names.indexOf(name) + (mode === 'text' ? 0 : 1);
  const known = [...rows.values()].filter(({ name }) => names.includes(name));
  return { columns, rows: known.sort((a, b) => place(a) - place(b)) };
}

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

function filledCell({ runId, figures }: Cell): HTMLElement {
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
