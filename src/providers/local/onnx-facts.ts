import { type FileHandle, open } from 'node:fs/promises';

/** Metadata of an ONNX file. */
export interface OnnxFacts {
  /** Key-value metadata. */
  metadata: ReadonlyMap<string, string>;
  /** Names of its inputs. */
  inputs: readonly string[];
}

/** Fields of onnx.proto (github.com/onnx/onnx): a model's graph and metadata, a graph's inputs, names, keys and values. */
const MODEL_GRAPH = 7;
const MODEL_METADATA = 14;
const GRAPH_INPUT = 11;
const FIRST = 1;
const SECOND = 2;
const WINDOW_BYTES = 65_536;
/** Longer names and values are skipped; the language lists of Whisper have 1 kB. */
const MAX_TEXT_BYTES = 65_536;

/**
 * Reads the few fields that are needed and skips the weights: a file of a gigabyte takes a few reads.
 * @throws Error for a file that cannot be read or is not ONNX
 */
export async function readOnnxFacts(path: string): Promise<OnnxFacts> {
  const file = await open(path, 'r');
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw new Error('it is a folder, not a file');
    const reader = new FieldReader(file, stats.size);
    const metadata = new Map<string, string>();
    const inputs: string[] = [];
    let hasGraph = false;
    for await (const field of reader.fields(0, reader.size)) {
      if (field.number === MODEL_METADATA) {
        const [key, value] = await reader.texts(field.from, field.to);
        if (key !== '') metadata.set(key, value);
      } else if (field.number === MODEL_GRAPH) {
        hasGraph = true;
        for await (const part of reader.fields(field.from, field.to)) {
          if (part.number === GRAPH_INPUT) inputs.push((await reader.texts(part.from, part.to))[0]);
        }
      }
    }
    if (!hasGraph) throw new Error('it is not an ONNX file');
    return { metadata, inputs };
  } finally {
    await file.close();
  }
}

interface Field {
  number: number;
  /** Offset of its bytes; empty for a number. */
  from: number;
  to: number;
}

/** Protocol buffer fields (protobuf.dev/programming-guides/encoding), read from a file on demand. */
class FieldReader {
  readonly size: number;
  readonly #file: FileHandle;
  #window = Buffer.alloc(0);
  #windowFrom = 0;

  constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  async *fields(from: number, to: number): AsyncGenerator<Field> {
    for (let at = from; at < to;) {
      const tag = await this.#varint(at);
      const number = Math.floor(tag.value / 8);
      switch (tag.value % 8) {
        case 0:
          at = (await this.#varint(tag.end)).end;
          break;
        case 1:
          at = tag.end + 8;
          break;
        case 5:
          at = tag.end + 4;
          break;
        case 2: {
          const length = await this.#varint(tag.end);
          at = length.end + length.value;
          if (at > to) throw new Error('it is truncated or not an ONNX file');
          yield { number, from: length.end, to: at };
          break;
        }
        default:
          throw new Error('it is not an ONNX file');
      }
    }
  }

  /** The text of a message's first two fields. */
  async texts(from: number, to: number): Promise<[first: string, second: string]> {
    const texts: [string, string] = ['', ''];
    for await (const field of this.fields(from, to)) {
      if (field.number !== FIRST && field.number !== SECOND) continue;
      if (field.to - field.from > MAX_TEXT_BYTES) continue;
      texts[field.number - 1] = (await this.#bytes(field.from, field.to - field.from)).toString('utf8');
    }
    return texts;
  }

  async #varint(from: number): Promise<{ value: number; end: number }> {
    const bytes = await this.#bytes(from, 10);
    let value = 0;
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index] as number;
      value += (byte % 128) * 2 ** (7 * index);
      if (byte < 128) return { value, end: from + index + 1 };
    }
    throw new Error('it is truncated or not an ONNX file');
  }

  /** Returns fewer bytes at the end of the file. */
  async #bytes(from: number, length: number): Promise<Buffer> {
    const end = Math.min(from + length, this.size);
    if (from < this.#windowFrom || end > this.#windowFrom + this.#window.length) {
      const window = Buffer.alloc(Math.max(length, WINDOW_BYTES));
      const { bytesRead } = await this.#file.read(window, 0, window.length, from);
      this.#window = window.subarray(0, bytesRead);
      this.#windowFrom = from;
    }
    return this.#window.subarray(from - this.#windowFrom, end - this.#windowFrom);
  }
}
