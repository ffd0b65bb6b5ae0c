/** A table that a benchmark has printed. */
export interface PrintedTable {
  /** The line of text above it; empty where there is none. */
  title: string;
  /** The headings first. */
  rows: string[][];
}

/** The Markdown tables in what a program has printed. */
export function printedTables(text: string): PrintedTable[] {
  const tables: PrintedTable[] = [];
  let title = '';
  let open: PrintedTable | null = null;
  for (const line of text.split('\n')) {
    const isRow = line.startsWith('|') && line.trimEnd().endsWith('|');
    if (!isRow) {
      open = null;
      if (line.trim() !== '') title = line.trim();
      continue;
    }
    if (open === null) {
      open = { title, rows: [] };
      title = '';
      tables.push(open);
    }
    if (!/^[|:\s-]+$/.test(line)) open.rows.push(cellsOf(line));
  }
  return tables;
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}

/** The cell of the first row that begins so, in a column that is headed so; null where there is none. */
export function cellIn(tables: readonly PrintedTable[], row: string, column: string): string | null {
  for (const { rows } of tables) {
    const [head = [], ...body] = rows;
    const at = head.indexOf(column);
    const found = body.find(([first = '']) => first.startsWith(row))?.[at];
    if (at >= 0 && found !== undefined) return found;
  }
  return null;
}
