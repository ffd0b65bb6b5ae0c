/** The value below which `share` (0..1) of the values lie; NaN where there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** With two significant digits or none behind the point, for tables. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return value.toFixed(Math.abs(value) < 1 ? 2 : Math.abs(value) < 10 ? 1 : 0);
}

/** Rows as a table in Markdown; the first one holds the headings. */
export function markdownTable(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? short(cell) : cell)));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width)).join(' | ')} |`);
  lines.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  return lines.join('\n');
}
