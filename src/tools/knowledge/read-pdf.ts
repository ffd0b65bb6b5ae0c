import { getDocumentProxy } from 'unpdf';
import { reasonOf } from '../../base/errors.js';
import type { Block } from './chunker.js';

const MAX_PAGES = 5_000;

/** The part of the library that is used; its package has no types. */
interface PdfDocument {
  numPages: number;
  getPage(number: number): Promise<PdfPage>;
  cleanup(): Promise<void>;
}

interface PdfPage {
  getTextContent(): Promise<{ items: readonly (PdfText | { type: string })[] }>;
  cleanup(): void;
}

interface PdfText {
  str: string;
  /** Glyph height, in points. */
  height: number;
  /** The affine transform; the last two numbers are the position on the page. */
  transform: readonly number[];
  hasEOL: boolean;
}

interface Line {
  text: string;
  y: number;
  height: number;
}

/** The paragraphs of a PDF by page: adjacent lines form a paragraph; larger type is a heading. */
export async function* readPdf(bytes: Uint8Array): AsyncGenerator<Block> {
  const document = await open(bytes);
  if (document.numPages > MAX_PAGES) throw new Error(`it has more than ${String(MAX_PAGES)} pages`);
  let empty = true;
  for (let number = 1; number <= document.numPages; number++) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    for (const block of pageBlocks(linesOf(items.filter((item) => 'str' in item)))) {
      empty = false;
      yield { ...block, page: number };
    }
    page.cleanup();
  }
  await document.cleanup();
  if (empty) throw new Error('it holds no text; scanned pages are pictures');
}

async function open(bytes: Uint8Array): Promise<PdfDocument> {
  try {
    return (await getDocumentProxy(bytes, { verbosity: 0 })) as PdfDocument;
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException') {
      throw new Error('it is protected with a password', { cause: error });
    }
    throw new Error(`it is not a whole PDF (${reasonOf(error)})`, { cause: error });
  }
}

function linesOf(items: readonly PdfText[]): Line[] {
  const lines: Line[] = [];
  let line: Line | null = null;
  for (const item of items) {
    const y = item.transform[5] ?? 0;
    if (line !== null && Math.abs(line.y - y) > Math.max(1, line.height / 2) && item.str.trim() !== '') {
      lines.push(line);
      line = null;
    }
    if (item.str !== '') {
      line ??= { text: '', y, height: 0 };
      line.text += item.str;
      line.height = Math.max(line.height, item.height);
    }
    if (item.hasEOL && line !== null) {
      lines.push(line);
      line = null;
    }
  }
  if (line !== null) lines.push(line);
  return lines.filter(({ text }) => text.trim() !== '');
}

function* pageBlocks(lines: readonly Line[]): Generator<Block> {
  const heights = lines.map(({ height }) => height).sort((a, b) => a - b);
  const usual = heights[Math.floor((heights.length - 1) / 2)] ?? 0;
  let paragraph: Line[] = [];
  const isHeading = ({ height, text }: Line): boolean => height > usual * 1.2 && text.length <= 120;
  const flush = function* (): Generator<Block> {
    const [first] = paragraph;
    const text = joined(paragraph.map((line) => line.text));
    paragraph = [];
    if (first === undefined || text === '') return;
    if (isHeading(first)) yield { kind: 'heading', text, level: first.height > usual * 1.6 ? 1 : 2 };
    else yield { kind: 'text', text };
  };
  for (const line of lines) {
    const last = paragraph.at(-1);
    if (last !== undefined) {
      const gap = last.y - line.y;
      const apart = gap > Math.max(last.height, line.height) * 1.7 || gap < -1;
      if (apart || isHeading(last) !== isHeading(line)) yield* flush();
    }
    paragraph.push(line);
  }
  yield* flush();
}

/** Joins lines to running text and removes hyphenation. */
function joined(lines: readonly string[]): string {
  return lines
    .map((line) => line.trim())
    .join('\n')
    .replace(/(\p{L})[-\u00AD]\n(?=\p{Ll})/gu, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}
