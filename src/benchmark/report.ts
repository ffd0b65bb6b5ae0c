import { cpus, loadavg } from 'node:os';
import type { LatencyRun, BenchSummary } from './latency-run.js';
import { STAGES } from './measured-turn.js';
import { packageVersion } from '../package-files.js';

/** The results of a benchmark. */
export interface BenchmarkReport {
  title: string;
  /** ISO 8601. */
  time: string;
  /** Processor, versions and load. */
  machine: string;
  runs: readonly NamedRun[];
}

export interface NamedRun extends LatencyRun {
  name: string;
  /** A sentence that says what is real and what is a double. */
  about: string;
}

type Cell = string | number;

/** The tables of a report, for a terminal. */
export function reportText(runs: readonly NamedRun[]): string {
  return [reportRows(runs), kindRows(runs), stageRows(runs)].map((rows) => `${markdownTable(rows)}\n`).join('\n');
}

/** Rows of the table, headings first. Milliseconds. */
export function reportRows(runs: readonly NamedRun[]): Cell[][] {
  const heads = [
    'run',
    'turns',
    'cut off',
    'unanswered',
    'speculative',
    'response p50',
    'p90',
    'p95',
    'p99',
    'after the decision',
    'p95',
    'requests a turn',
    'thrown away a turn: tokens in',
    'out',
  ];
  return [
    heads,
    ...runs.map(({ name, summary, cost }) => {
      const { response, afterDecision: after } = summary;
      return [
        name,
        summary.turns,
        percent(summary.cutOff, summary.turns),
        percent(summary.unanswered, summary.turns),
        percent(summary.speculative, summary.answered),
        ...[response?.p50, response?.p90, response?.p95, response?.p99, after?.p50, after?.p95].map(ms),
        ...[cost.requests, cost.wastedPromptTokens, cost.wastedAnswerTokens].map((sum) =>
          summary.turns === 0 ? '–' : sum / summary.turns,
        ),
      ];
    }),
  ];
}

/** All percentiles of each stage, a row per stage. */
export function stageDetailRows(runs: readonly NamedRun[]): Cell[][] {
  return [
    ['run', 'stage', 'turns', 'p50', 'p90', 'p95', 'p99'],
    ...runs.flatMap(({ name, summary }) =>
      STAGES.map((stage) => {
        const of = summary.stages[stage];
        return [name, stage, of?.count ?? 0, ...[of?.p50, of?.p90, of?.p95, of?.p99].map(ms)];
      }),
    ),
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

/** First turns, later turns and turns with a tool, separately. */
export function kindRows(runs: readonly NamedRun[]): Cell[][] {
  const kinds: (keyof BenchSummary['byKind'])[] = ['first', 'later', 'tool'];
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

function ms(value: number | undefined): Cell {
  return value ?? '–';
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** The machine of a measurement: processor, versions and load. */
export function machine(): string {
  const all = cpus();
  const load = loadavg()[0] ?? 0;
  const processors = `${String(all.length)} × ${all[0]?.model.trim() ?? 'unknown'}`;
  return `${processors}, Node ${process.version}, parley ${packageVersion()}, load average ${load.toFixed(1)}`;
}

/** Formats a number with up to two decimals; large numbers have none. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(Math.abs(value) < 1 ? 2 : Math.abs(value) < 10 ? 1 : 0);
}

/**
 * A Markdown table that is also readable in a terminal: padded columns, all but the first right-aligned.
 * @param rows headings first; numbers are formatted by `short`
 */
export function markdownTable(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? short(cell) : cell)));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string => {
    const padded = widths.map((width, at) =>
      at === 0 ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`));
  const [head = [], ...body] = cells;
  return [line(head), `|${rule.join('|')}|`, ...body.map(line)].join('\n');
}
