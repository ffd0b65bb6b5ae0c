import type { CaseFigures, EvalModeName, Run } from './eval-types.js';

/** The newest figures of a case with one version of an agent. */
export interface MatrixCell {
  runId: string;
  figures: CaseFigures;
}

interface MatrixRow {
  name: string;
  mode: EvalModeName;
  /** By column. */
  cells: (MatrixCell | null)[];
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
