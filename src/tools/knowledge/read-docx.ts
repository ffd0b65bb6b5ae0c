import { unzipSync } from 'fflate';
import { Parser } from 'htmlparser2';
import { type Block, oneLine, withoutEmptyCells } from './chunker.js';

const DOCUMENT = 'word/document.xml';
const STYLES = 'word/styles.xml';
const NOTES = ['word/footnotes.xml', 'word/endnotes.xml'];

/** Maximum unpacked size of a part, in bytes. */
const MAX_PART_BYTES = 100_000_000;

/** A Word document (OOXML): headings by the names of their styles, table rows, paragraphs and notes. */
export function* readDocx(bytes: Uint8Array): Generator<Block> {
  if (bytes[0] === 0xd0 && bytes[1] === 0xcf) {
    throw new Error('it is protected with a password, or older than the docx format');
  }
  const parts = unpack(bytes);
  const document = parts[DOCUMENT];
  if (document === undefined) throw new Error('it is not a Word document');
  const styles = headingStyles(parts[STYLES]);
  yield* bodyBlocks(document, styles);
  for (const name of NOTES) if (parts[name] !== undefined) yield* bodyBlocks(parts[name], styles);
}

function unpack(bytes: Uint8Array): Record<string, Uint8Array> {
  const wanted = new Set([DOCUMENT, STYLES, ...NOTES]);
  try {
    return unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!wanted.has(name)) return false;
        // Aborts unpacking beyond the declared size.
        if (originalSize > MAX_PART_BYTES) throw new TooLarge();
        return true;
      },
    });
  } catch (error) {
    if (error instanceof TooLarge) throw new Error('it unpacks to more than any document has', { cause: error });
    throw new Error('it is not a whole docx file', { cause: error });
  }
}

class TooLarge extends Error {}

type Attributes = Readonly<Record<string, string>>;

function parse(
  xml: Uint8Array,
  onOpen: (name: string, attributes: Attributes) => void,
  onClose: (name: string) => void,
  onText: (text: string) => void,
): void {
  const parser = new Parser({ onopentag: onOpen, onclosetag: onClose, ontext: onText }, { xmlMode: true });
  const decoder = new TextDecoder();
  for (let at = 0; at < xml.length; at += 65_536) {
    parser.write(decoder.decode(xml.subarray(at, at + 65_536), { stream: true }));
  }
  parser.end(decoder.decode());
}

/** Heading level of each style, by style id. Ids are localised, names are not. */
function headingStyles(xml: Uint8Array | undefined): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  if (xml === undefined) return levels;
  let id = '';
  parse(
    xml,
    (name, attributes) => {
      if (name === 'w:style') id = attributes['w:styleId'] ?? '';
      if (name !== 'w:name') return;
      const style = attributes['w:val'] ?? '';
      const level = /^heading ([1-9])$/i.exec(style)?.[1];
      if (level !== undefined) levels.set(id, Number(level));
      else if (/^title$/i.test(style)) levels.set(id, 1);
    },
    () => undefined,
    () => undefined,
  );
  return levels;
}

function bodyBlocks(xml: Uint8Array, styles: ReadonlyMap<string, number>): Block[] {
  const blocks: Block[] = [];
  let text = '';
  let level: number | null = null;
  let inText = false;
  let rows = 0;
  let skipped = 0;
  const flush = (block: Omit<Block, 'text'>): void => {
    const line = withoutEmptyCells(oneLine(text));
    text = '';
    if (line !== '') blocks.push({ ...block, text: line });
  };
  parse(
    xml,
    (name, attributes) => {
      // A duplicate for readers that do not support the newer form.
      if (name === 'mc:Fallback') skipped++;
      else if (name === 'w:t') inText = skipped === 0;
      else if (name === 'w:tr') rows++;
      else if (name === 'w:tab' || name === 'w:br' || name === 'w:cr') text += ' ';
      else if (name === 'w:noBreakHyphen') text += '-';
      else if (name === 'w:pStyle') level = styles.get(attributes['w:val'] ?? '') ?? null;
    },
    (name) => {
      if (name === 'mc:Fallback') skipped--;
      else if (name === 'w:t') inText = false;
      else if (name === 'w:tc') text += ' | ';
      else if (name === 'w:tr') {
        rows--;
        if (rows === 0) flush({ kind: 'row' });
      } else if (name === 'w:p') {
        if (rows > 0) text += ' ';
        else flush(level === null ? { kind: 'text' } : { kind: 'heading', level });
        level = null;
      }
    },
    (piece) => {
      if (inText) text += piece;
    },
  );
  flush({ kind: 'text' });
  return blocks;
}
