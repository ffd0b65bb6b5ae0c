import { type Block, oneLine } from './chunker.js';
import { decodeText } from './read-text.js';

/** A table as CSV (RFC 4180, also with semicolons, tabs or bars): each row as `column: value; column: value`. */
export function* readCsv(bytes: Uint8Array): Generator<Block> {
  const text = decodeText(bytes);
  let header: string[] | null = null;
  let first = true;
  for (const row of csvRows(text, delimiterOf(text))) {
    const cells = row.map(oneLine);
    if (cells.every((cell) => cell === '')) continue;
    if (first) {
      first = false;
      // Column names are words; a first row with numbers is data.
      if (cells.length > 1 && cells.every((cell) => cell !== '' && !/^[\d\s.,:+-]+$/.test(cell))) {
        header = cells;
        continue;
      }
    }
    const names = header;
    const named = cells.map((cell, index) => {
      const name = names?.[index] ?? '';
      return cell === '' || name === '' ? cell : `${name}: ${cell}`;
    });
    yield { kind: 'row', text: named.filter((part) => part !== '').join('; ') };
  }
  // A table with only a header still says what it is about.
  if (header !== null && !first) yield { kind: 'row', text: header.join('; ') };
}

function delimiterOf(text: string): string {
  const line = text.slice(0, 10_000).split(/[\r\n]/, 1)[0] ?? '';
  const counts = [',', ';', '\t', '|'].map((mark) => ({ mark, count: line.split(mark).length }));
  return counts.reduce((best, it) => (it.count > best.count ? it : best)).mark;
}

function* csvRows(text: string, delimiter: string): Generator<string[]> {
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let cell = '';
    if (text[at] === '"') {
      const { value, end } = quoted(text, at + 1);
      cell = value;
      at = end;
    }
    let end = at;
    while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++;
    row.push(cell + text.slice(at, end));
    at = end + 1;
    if (text[end] === delimiter) continue;
    if (text[end] === '\r' && text[at] === '\n') at++;
    yield row;
    row = [];
  }
  if (row.length > 0) yield row;
}

/**
 * Parses a quoted cell after its opening quote; `end` is after the closing one. An unclosed cell extends to the end of
 * the file.
 */
function quoted(text: string, from: number): { value: string; end: number } {
  let value = '';
  let at = from;
  for (;;) {
    const close = text.indexOf('"', at);
    if (close === -1) return { value: value + text.slice(at), end: text.length };
    value += text.slice(at, close);
    if (text[close + 1] !== '"') return { value, end: close + 1 };
    value += '"';
    at = close + 2;
  }
}

/** Maximum nesting of objects. */
const MAX_DEPTH = 100;

/** JSON: each object as `name: value; name: value`, with the enclosing names as headings. */
export function* readJson(bytes: Uint8Array): Generator<Block> {
  const text = decodeText(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error('it is not valid JSON');
  }
  yield* jsonBlocks(value, []);
}

function* jsonBlocks(value: unknown, path: readonly string[]): Generator<Block> {
  if (path.length > MAX_DEPTH) throw new Error(`its objects lie more than ${String(MAX_DEPTH)} deep in each other`);
  if (!isObject(value)) {
    if (value !== null && value !== '') yield { kind: 'row', text: labelled(path.at(-1), value) };
    return;
  }
  const entries = Object.entries(value);
  if (Array.isArray(value)) {
    const simple = value.filter((it) => !isObject(it) && it !== null);
    if (simple.length > 0) yield { kind: 'row', text: labelled(path.at(-1), simple.map(String).join(', ')) };
    for (const it of value) if (isObject(it)) yield* jsonBlocks(it, [...path, '']);
    return;
  }
  const isSimple = (it: unknown): boolean => !isObject(it) || (Array.isArray(it) && !it.some(isObject));
  const parts = entries
    .filter(([, it]) => isSimple(it) && it !== null && it !== '')
    .map(([name, it]) => labelled(name, Array.isArray(it) ? it.map(String).join(', ') : it));
  if (parts.length > 0) yield { kind: 'row', text: parts.join('; ') };
  for (const [name, it] of entries) {
    if (isSimple(it)) continue;
    const inside = [...path, name];
    yield { kind: 'heading', text: words(name), level: Math.min(6, inside.filter((part) => part !== '').length) };
    yield* jsonBlocks(it, inside);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function labelled(name: string | undefined, value: unknown): string {
  const text = oneLine(String(value));
  return name === undefined || name === '' ? text : `${words(name)}: ${text}`;
}

/** `openingHours` and `opening_hours` as words. */
function words(name: string): string {
  return oneLine(name.replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2').replaceAll(/[_-]+/g, ' '));
}
