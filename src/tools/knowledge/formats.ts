import { type Chunk, Chunker, MAX_TEXT_CHARS, type Reader } from './chunker.js';
import { spaced } from './words.js';

/** Supported file formats: extension, MIME types, and the reader, which is loaded on first use. */
interface Format {
  ending: string;
  otherEndings?: readonly string[];
  /** The first one is the canonical type. */
  mimeTypes: readonly string[];
  load: () => Promise<Reader>;
}

const FORMATS: readonly Format[] = [
  {
    ending: 'txt',
    otherEndings: ['text', 'log'],
    mimeTypes: ['text/plain'],
    load: async () => (await import('./read-text.js')).readText,
  },
  {
    ending: 'md',
    otherEndings: ['markdown'],
    mimeTypes: ['text/markdown', 'text/x-markdown'],
    load: async () => (await import('./read-text.js')).readMarkdown,
  },
  {
    ending: 'csv',
    otherEndings: ['tsv'],
    mimeTypes: ['text/csv', 'text/tab-separated-values', 'application/csv'],
    load: async () => (await import('./read-tables.js')).readCsv,
  },
  {
    ending: 'json',
    mimeTypes: ['application/json', 'text/json'],
    load: async () => (await import('./read-tables.js')).readJson,
  },
  {
    ending: 'html',
    otherEndings: ['htm', 'xhtml'],
    mimeTypes: ['text/html', 'application/xhtml+xml'],
    load: async () => (await import('./read-html.js')).readHtml,
  },
  {
    ending: 'pdf',
    mimeTypes: ['application/pdf', 'application/x-pdf'],
    load: async () => (await import('./read-pdf.js')).readPdf,
  },
  {
    ending: 'docx',
    mimeTypes: ['application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    load: async () => (await import('./read-docx.js')).readDocx,
  },
];

/** The supported formats, for messages. */
export const READABLE = FORMATS.map(({ ending }) => ending).join(', ');

/**
 * The format of a file by its MIME type or extension (`md`); the name decides for an unspecific type. Null =
 * unsupported.
 */
export function formatOf(name: string, fileType: string | null): Format | null {
  const type = (fileType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const byEnding = (wanted: string): Format | undefined =>
    FORMATS.find((it) => it.ending === wanted || it.otherEndings?.includes(wanted) === true);
  const byType = FORMATS.find((it) => it.mimeTypes.includes(type)) ?? byEnding(type);
  // Browsers and tools label many unknown types as plain text.
  if (byType !== undefined && byType.ending !== 'txt') return byType;
  if (byType === undefined && type !== '' && type !== 'application/octet-stream') return null;
  return byEnding(ending) ?? byType ?? null;
}

/** The MIME type to list a file with. */
export function mimeTypeOf(format: Format): string {
  return format.mimeTypes[0] ?? 'application/octet-stream';
}

/** A passage with its text for the index. */
export interface IndexedChunk extends Chunk {
  /** The normalised text for the index; null = unchanged. */
  words: string | null;
}

/**
 * Reads a file into passages.
 * @throws Error that says what is wrong with the file
 */
export async function* readPassages(reader: Reader, bytes: Uint8Array): AsyncGenerator<IndexedChunk> {
  const chunker = new Chunker();
  let chars = 0;
  let any = false;
  for await (const block of reader(bytes)) {
    chars += block.text.length;
    if (chars > MAX_TEXT_CHARS) throw new Error(`its text is longer than ${String(MAX_TEXT_CHARS)} characters`);
    for (const chunk of chunker.add(block)) {
      any = true;
      yield indexed(chunk);
    }
  }
  for (const chunk of chunker.end()) {
    any = true;
    yield indexed(chunk);
  }
  if (!any) throw new Error('it holds no text');
}

function indexed(chunk: Chunk): IndexedChunk {
  const words = spaced(chunk.text);
  return { ...chunk, words: words === chunk.text ? null : words };
}
