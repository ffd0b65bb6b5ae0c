import { Parser } from 'htmlparser2';
import { type Block, oneLine, withoutEmptyCells } from './chunker.js';
import { decodeText } from './read-text.js';

const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'object', 'nav', 'select']);
const INLINE = new Set(
  'a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/** Headings, table rows and paragraphs of a page, without scripts, styles and navigation. */
export function* readHtml(bytes: Uint8Array): Generator<Block> {
  const found: Block[] = [];
  let text = '';
  let skipped = 0;
  let inRow = 0;
  const flush = (block: Omit<Block, 'text'>): void => {
    const line = withoutEmptyCells(oneLine(text));
    text = '';
    if (line !== '') found.push({ ...block, text: line });
  };
  const parser = new Parser({
    onopentag: (name) => {
      if (SKIPPED.has(name)) skipped++;
      if (skipped > 0 || INLINE.has(name)) return;
      if (name === 'br' || inRow > 0) text += ' ';
      else flush({ kind: 'text' });
      if (name === 'tr') inRow++;
    },
    ontext: (piece) => {
      if (skipped === 0) text += piece;
    },
    onclosetag: (name) => {
      if (SKIPPED.has(name)) {
        skipped = Math.max(0, skipped - 1);
        return;
      }
      if (skipped > 0 || INLINE.has(name) || name === 'br') return;
      if (name === 'tr') {
        inRow = Math.max(0, inRow - 1);
        if (inRow === 0) flush({ kind: 'row' });
      } else if (inRow > 0) {
        text += name === 'td' || name === 'th' ? ' | ' : ' ';
      } else if (/^h[1-6]$/.test(name)) {
        flush({ kind: 'heading', level: Number(name[1]) });
      } else if (name === 'title') {
        flush({ kind: 'heading', level: 1 });
      } else {
        flush({ kind: 'text' });
      }
    },
  });
  const source = decodeText(bytes);
  for (let at = 0; at < source.length; at += 65_536) {
    parser.write(source.slice(at, at + 65_536));
    yield* found.splice(0);
  }
  parser.end();
  flush({ kind: 'text' });
  yield* found;
}
