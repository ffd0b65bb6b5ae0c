/** With two significant digits or none behind the point; whole numbers as they are. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value)) return String(value);
  return value.toFixed(Math.abs(value) < 1 ? 2 : Math.abs(value) < 10 ? 1 : 0);
}

/**
 * Rows as a table in Markdown that can be read in a terminal, too: columns as wide as their widest cell, all but the
 * first to the right.
 * @param rows the first one holds the headings; numbers are made `short`
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
