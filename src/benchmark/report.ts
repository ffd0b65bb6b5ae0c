import type { LatencyRun } from './latency-run.js';
import type { LatencySummary } from './latency-summary.js';
import { STAGES } from './measured-turn.js';

/** What was measured, on what. */
export interface BenchmarkReport {
  title: string;
  /** ISO 8601. */
  time: string;
  /** Processor, versions, how busy the machine was. */
  machine: string;
  runs: readonly NamedRun[];
}

export interface NamedRun extends LatencyRun {
  name: string;
  /** What is real and what is a double, in a sentence. */
  about: string;
}

type Cell = string | number;

/** Rows of the table, its heads first. Milliseconds. */
export function reportRows(runs: readonly NamedRun[]): Cell[][] {
  const heads = ['run', 'turns', 'cut off', 'not answered', 'begun early', 'response p50', 'p90', 'p95', 'p99'];
  return [
    heads,
    ...runs.map(({ name, summary }) => {
      const { response } = summary;
      return [
        ...[name, summary.turns, percent(summary.cutOff, summary.turns), percent(summary.unanswered, summary.turns)],
        percent(summary.speculative, summary.answered),
        ...[response?.p50, response?.p90, response?.p95, response?.p99].map(ms),
      ];
    }),
  ];
}

/** The stages of each run, median and 95th percentile. */
export function stageRows(runs: readonly NamedRun[]): Cell[][] {
  return [
    ['run', ...STAGES.flatMap((stage) => [`${stage} p50`, 'p95'])],
    ...runs.map(({ name, summary }) => [
      name,
      ...STAGES.flatMap((stage) => [ms(summary.stages[stage]?.p50), ms(summary.stages[stage]?.p95)]),
    ]),
  ];
}

/** First turns, later ones, and those with a tool, apart. */
export function kindRows(runs: readonly NamedRun[]): Cell[][] {
  const kinds: (keyof LatencySummary['byKind'])[] = ['first', 'later', 'tool'];
  return [
    ['run', ...kinds.flatMap((kind) => [`${kind}, turns`, 'p50', 'p95'])],
    ...runs.map(({ name, summary }) => [
      name,
      ...kinds.flatMap((kind) => {
        const of = summary.byKind[kind];
        return [of?.count ?? 0, ms(of?.p50), ms(of?.p95)];
      }),
    ]),
  ];
}

/** A table for a terminal and for Markdown alike: columns as wide as their widest cell. */
export function textTable(rows: readonly Cell[][]): string {
  const cells = rows.map((row) => row.map(String));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  const [head = [], ...body] = cells;
  return `${[line(head), rule, ...body.map(line)].join('\n')}\n`;
}

function ms(value: number | undefined): Cell {
  return value === undefined ? '–' : Math.round(value);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`;
}
