import { type Chunk, Chunker } from './chunker.js';
import { MAX_TEXT_CHARS, type Reader } from './blocks.js';
import { spaced } from './words.js';

/** A passage, and its words for the index. */
export interface IndexedChunk extends Chunk {
  /** The text as the index sees it; null = as it is. */
  words: string | null;
}

/**
 * Reads a file into passages.
 * @throws Error whose message says what is wrong with the file
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
