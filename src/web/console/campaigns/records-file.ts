/** A person to call. */
export interface CsvRecord {
  phone: string;
  metadata: Readonly<Record<string, unknown>>;
}

const DELIMITERS = [',', ';', '\t'];
/** The daemon's limit for one request, which is also limited to 8 MB. */
const MOST_RECORDS = 10_000;
const MOST_CHARS = 3_500_000;

/**
 * Reads the people of a campaign, like `parley campaigns upload`: JSON, an array of `{phone, metadata?}`, or CSV (RFC
 * 4180) with a header row, where the column `phone` is the number and the others become metadata. Supports commas,
 * semicolons and tabs, quotes and byte order marks.
 * @throws Error with the place and the problem, for people
 */
export function readRecords(file: string): CsvRecord[] {
  const text = file.replace(/^\u{feff}/u, '');
  const records = /^\s*\[/.test(text) ? fromJson(text) : fromCsv(text);
  if (records.length === 0) throw new Error('The file contains no records.');
  return records;
}

/** Splits records into requests. */
export function inPieces(records: readonly CsvRecord[]): CsvRecord[][] {
  const pieces: CsvRecord[][] = [];
  let chars = Infinity;
  for (const record of records) {
    const size = JSON.stringify(record).length + 1;
    const last = pieces.at(-1);
    if (last === undefined || last.length === MOST_RECORDS || chars + size > MOST_CHARS) {
      pieces.push([record]);
      chars = size;
    } else {
      last.push(record);
      chars += size;
    }
  }
  return pieces;
}

function fromJson(text: string): CsvRecord[] {
  return (JSON.parse(text) as unknown[]).map((item, at) => {
    const { phone, metadata = {} } = (item ?? {}) as { phone?: unknown; metadata?: unknown };
    if (typeof phone !== 'string') throw new Error(`Item ${String(at + 1)} needs a "phone" of type string.`);
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
      throw new Error(`"metadata" of item ${String(at + 1)} is not an object.`);
    return { phone, metadata: metadata as Record<string, unknown> };
  });
}

function fromCsv(text: string): CsvRecord[] {
  const [header = ''] = text.split(/\r?\n/, 1);
  const count = (delimiter: string): number => header.replace(/"[^"]*"/g, '').split(delimiter).length;
  const delimiter = [...DELIMITERS].sort((a, b) => count(b) - count(a))[0] ?? ',';
  const [names = [], ...rows] = rowsOf(text, delimiter);
  const phoneAt = names.findIndex((name) => name.toLowerCase() === 'phone');
  if (phoneAt < 0) throw new Error(`The header row has no column "phone" (it has ${names.join(', ') || 'nothing'}).`);
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`Two columns are called "${twice}".`);
  return rows.map((cells, at) => {
    if (cells.length > names.length) throw new Error(`Row ${String(at + 2)} has more cells than the first one.`);
    const others = names.flatMap((name, column) =>
      column === phoneAt || name === '' ? [] : [[name, cells[column] ?? ''] as const],
    );
    return { phone: cells[phoneAt] ?? '', metadata: Object.fromEntries(others) };
  });
}

/** Rows of trimmed cells; empty rows are left out. */
function rowsOf(text: string, delimiter: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endCell = (): void => {
    row.push(isQuoted ? cell : cell.trim());
    cell = '';
    isQuoted = false;
  };
  const endRow = (): void => {
    endCell();
    if (row.some((one) => one !== '')) rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === '"' && cell.trim() === '' && !isQuoted) {
      const end = endOfQuotes(text, at);
      if (end < 0) throw new Error(`The quotes in row ${String(rows.length + 1)} are not closed.`);
      cell = text.slice(at + 1, end).replaceAll('""', '"');
      isQuoted = true;
      at = end;
    } else if (char === delimiter) endCell();
    else if (char === '\n') endRow();
    else if (!isQuoted) cell += char; // only spaces may follow closing quotes
  }
  endRow();
  return rows;
}

/** End of a quoted cell; two quotes in a row are an escaped one. */
function endOfQuotes(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}
