import { type Block, oneLine } from './chunker.js';

/** Control characters that do not occur in text. */
const CONTROL = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Decodes a text file: UTF-8, UTF-16 with a byte order mark, or the Western single-byte encoding of older programs.
 * @throws Error if it is not text
 */
export function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes).normalize('NFC');
  if (CONTROL.test(text)) throw new Error('it is not text');
  return text;
}

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}

/** Paragraphs are separated by empty lines. */
export function* readText(bytes: Uint8Array): Generator<Block> {
  for (const paragraph of paragraphs(decodeText(bytes))) yield { kind: 'text', text: paragraph };
}

const FENCE = /^\s{0,3}(```|~~~)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(\S.*)$/;
const UNDERLINE = /^\s{0,3}(=+|-+)\s*$/;
const RULE = /^\s{0,3}([-*_]\s*){3,}$/;
const TABLE_RULE = /^[\s|:-]+$/;

/** Markdown: headings, table rows and paragraphs, without the mark-up. */
export function* readMarkdown(bytes: Uint8Array): Generator<Block> {
  const lines = decodeText(bytes)
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .split(/\r\n?|\n/);
  let paragraph: string[] = [];
  let fenced = false;
  const flush = function* (): Generator<Block> {
    const text = oneLine(paragraph.join('\n'));
    paragraph = [];
    if (text !== '') yield { kind: 'text', text };
  };
  for (const line of lines) {
    if (FENCE.test(line)) {
      fenced = !fenced;
      yield* flush();
      continue;
    }
    if (fenced) {
      paragraph.push(line);
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading !== null) {
      yield* flush();
      yield { kind: 'heading', text: plain(withoutClosingMarks(heading[2] ?? '')), level: heading[1]?.length ?? 1 };
    } else if (UNDERLINE.test(line) && paragraph.length === 1) {
      const text = plain(paragraph[0] ?? '');
      paragraph = [];
      yield { kind: 'heading', text, level: line.includes('=') ? 1 : 2 };
    } else if (line.trim() === '' || RULE.test(line)) {
      yield* flush();
    } else if (/^\s*\|.*\|\s*$/.test(line)) {
      yield* flush();
      const row = line.trim().slice(1, -1);
      if (!TABLE_RULE.test(row)) yield { kind: 'row', text: oneLine(plain(row)) };
    } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      yield* flush();
      paragraph.push(plain(line.replace(/^\s*[-*+]\s+/, '')));
    } else {
      paragraph.push(plain(line.replace(/^\s*>\s?/, '')));
    }
  }
  yield* flush();
}

/** A heading may end in any number of `#` (CommonMark 0.31, 4.2). Linear in the length of the line. */
function withoutClosingMarks(text: string): string {
  const trimmed = text.trimEnd();
  let end = trimmed.length;
  while (end > 1 && trimmed[end - 1] === '#') end--;
  return trimmed.slice(0, end).trimEnd();
}

/** Each pattern stops at its own opening mark, which keeps it linear in the length of the line. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/!?\[([^[\]]*)\]\[[^[\]]*\]/g, '$1')
    .replace(/<[^<>\s][^<>]*>/g, '')
    .replace(/(\*\*|__|~~|`)/g, '')
    .replace(/(^|\s)[*_](\S[^*_]*)[*_](?=\W|$)/g, '$1$2');
}

function* paragraphs(text: string): Generator<string> {
  for (const part of text.split(/(?:\r\n?|\n)[^\S\r\n]*(?:\r\n?|\n)\s*|\f/)) {
    const line = oneLine(part);
    if (line !== '') yield line;
  }
}
