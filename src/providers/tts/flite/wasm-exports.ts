/**
 * Opens up a compiled C program whose WebAssembly build exports only `_start`: rewrites the module so that named
 * inner functions (by the `name` section that the linker left in) and its function table are exported too. The
 * code itself is untouched. Debugging sections, of no use at run time, are left out.
 *
 * Format: WebAssembly Core Specification 2.0, section 5.5 (modules) and appendix "Custom Sections".
 */
const SECTION_CUSTOM = 0;
const SECTION_TABLE = 4;
const SECTION_EXPORT = 7;
const NAMES_OF_FUNCTIONS = 1;
const EXPORT_FUNCTION = 0;
const EXPORT_TABLE = 1;
const FUNCTION_REFERENCE = 0x70;
const HEADER_BYTES = 8;

/** The name under which table 0 is exported. It may grow without limit. */
export const TABLE_EXPORT = 'table';

/**
 * @param wasm a module in binary format with one function table
 * @param names functions to export under their own names
 * @throws Error if the module does not have one of them
 */
export function exportFunctions(wasm: Uint8Array, names: readonly string[]): Uint8Array<ArrayBuffer> {
  const sections = readSections(wasm);
  const indexes = functionIndexes(sections);
  const added = names.map((name) => {
    const index = indexes.get(name);
    if (index === undefined) throw new Error(`the module has no function called ${name}`);
    return exportEntry(name, EXPORT_FUNCTION, index);
  });
  added.push(exportEntry(TABLE_EXPORT, EXPORT_TABLE, 0));

  const out: Uint8Array[] = [wasm.subarray(0, HEADER_BYTES)];
  for (const { id, body } of sections) {
    if (id === SECTION_CUSTOM) continue;
    const rewritten =
      id === SECTION_TABLE ? unlimitedTable(body) : id === SECTION_EXPORT ? extended(body, added) : body;
    out.push(Uint8Array.of(id), unsigned(rewritten.length), rewritten);
  }
  return concat(out);
}

interface Section {
  id: number;
  body: Uint8Array;
}

function readSections(wasm: Uint8Array): Section[] {
  const reader = new Reader(wasm, HEADER_BYTES);
  const sections: Section[] = [];
  while (!reader.atEnd) sections.push({ id: reader.byte(), body: reader.bytes(reader.unsigned()) });
  return sections;
}

function functionIndexes(sections: readonly Section[]): Map<string, number> {
  const indexes = new Map<string, number>();
  for (const { id, body } of sections) {
    if (id !== SECTION_CUSTOM) continue;
    const reader = new Reader(body, 0);
    if (reader.text() !== 'name') continue;
    while (!reader.atEnd) {
      const kind = reader.byte();
      const part = new Reader(reader.bytes(reader.unsigned()), 0);
      if (kind !== NAMES_OF_FUNCTIONS) continue;
      for (let left = part.unsigned(); left > 0; left--) {
        const index = part.unsigned();
        indexes.set(part.text(), index);
      }
    }
  }
  return indexes;
}

/** The one table with its least size and no greatest. */
function unlimitedTable(body: Uint8Array): Uint8Array {
  const reader = new Reader(body, 0);
  reader.unsigned(); // how many tables
  reader.byte(); // of function references
  reader.byte(); // whether there is a greatest size
  return concat([Uint8Array.of(1, FUNCTION_REFERENCE, 0), unsigned(reader.unsigned())]);
}

function extended(body: Uint8Array, added: readonly Uint8Array[]): Uint8Array {
  const reader = new Reader(body, 0);
  const count = reader.unsigned();
  return concat([unsigned(count + added.length), reader.rest(), ...added]);
}

function exportEntry(name: string, kind: number, index: number): Uint8Array {
  const text = new TextEncoder().encode(name);
  return concat([unsigned(text.length), text, Uint8Array.of(kind), unsigned(index)]);
}

/** LEB128, unsigned. */
function unsigned(value: number): Uint8Array {
  const out: number[] = [];
  do {
    const low = value & 0x7f;
    value >>>= 7;
    out.push(value === 0 ? low : low | 0x80);
  } while (value !== 0);
  return Uint8Array.from(out);
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

class Reader {
  readonly #data: Uint8Array;
  #at: number;

  constructor(data: Uint8Array, at: number) {
    this.#data = data;
    this.#at = at;
  }

  get atEnd(): boolean {
    return this.#at >= this.#data.length;
  }

  byte(): number {
    const value = this.#data[this.#at++];
    if (value === undefined) throw new Error('the module ends in the middle of a section');
    return value;
  }

  unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  bytes(length: number): Uint8Array {
    if (this.#at + length > this.#data.length) throw new Error('the module ends in the middle of a section');
    this.#at += length;
    return this.#data.subarray(this.#at - length, this.#at);
  }

  text(): string {
    return new TextDecoder().decode(this.bytes(this.unsigned()));
  }

  rest(): Uint8Array {
    return this.bytes(this.#data.length - this.#at);
  }
}
