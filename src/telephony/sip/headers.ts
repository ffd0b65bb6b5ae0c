import { splitOutside } from './scan.js';

/** Compact names (RFC 3261, 7.3.3, and the RFCs that define the others). */
const COMPACT: Readonly<Record<string, string>> = {
  a: 'accept-contact',
  b: 'referred-by',
  c: 'content-type',
  e: 'content-encoding',
  f: 'from',
  i: 'call-id',
  k: 'supported',
  l: 'content-length',
  m: 'contact',
  o: 'event',
  r: 'refer-to',
  s: 'subject',
  t: 'to',
  u: 'allow-events',
  v: 'via',
  x: 'session-expires',
};

/** Names that are not written with just a capital at the start of each word. */
const WRITTEN: Readonly<Record<string, string>> = {
  'call-id': 'Call-ID',
  cseq: 'CSeq',
  'www-authenticate': 'WWW-Authenticate',
  rack: 'RAck',
  rseq: 'RSeq',
  'min-se': 'Min-SE',
  'mime-version': 'MIME-Version',
  'sip-etag': 'SIP-ETag',
  'sip-if-match': 'SIP-If-Match',
};

/** The canonical name of a header: long, in lower case. */
export function headerName(written: string): string {
  const name = written.toLowerCase();
  return COMPACT[name] ?? name;
}

/** A message's headers in order. Names are canonical; see `headerName`. */
export class Headers {
  readonly #list: [name: string, value: string][];

  constructor(list: Iterable<readonly [name: string, value: string]> = []) {
    this.#list = Array.from(list, ([name, value]) => [name, value]);
  }

  get size(): number {
    return this.#list.length;
  }

  [Symbol.iterator](): IterableIterator<readonly [name: string, value: string]> {
    return this.#list[Symbol.iterator]();
  }

  /** The first value, as received. */
  get(name: string): string | undefined {
    return this.#list.find(([known]) => known === name)?.[1];
  }

  has(name: string): boolean {
    return this.#list.some(([known]) => known === name);
  }

  /** Each line of this name, as received. */
  lines(name: string): string[] {
    return this.#list.filter(([known]) => known === name).map(([, value]) => value);
  }

  /**
   * The values of a list header, over all its lines.
   * @returns null if a line cannot be split
   */
  values(name: string): string[] | null {
    const values: string[] = [];
    for (const line of this.lines(name)) {
      const pieces = splitOutside(line, ',');
      if (pieces === null) return null;
      for (const piece of pieces) if (piece !== '') values.push(piece);
    }
    return values;
  }

  /** Whether a list of tokens, such as `Supported`, has this one, in any case. */
  lists(name: string, token: string): boolean {
    return this.values(name)?.some((value) => value.toLowerCase() === token) ?? false;
  }

  /** Replaces all lines of this name, at the place of the first. */
  set(name: string, value: string): this {
    const at = this.#list.findIndex(([known]) => known === name);
    if (at < 0) return this.add(name, value);
    this.#list[at] = [name, value];
    for (let index = this.#list.length - 1; index > at; index--) {
      if (this.#list[index]?.[0] === name) this.#list.splice(index, 1);
    }
    return this;
  }

  add(name: string, value: string): this {
    this.#list.push([name, value]);
    return this;
  }

  /** Adds it before all others. */
  prepend(name: string, value: string): this {
    this.#list.unshift([name, value]);
    return this;
  }

  remove(name: string): this {
    for (let index = this.#list.length - 1; index >= 0; index--) {
      if (this.#list[index]?.[0] === name) this.#list.splice(index, 1);
    }
    return this;
  }

  copy(): Headers {
    return new Headers(this.#list);
  }
}

/** A name as written on the wire. */
export function writtenName(name: string): string {
  return WRITTEN[name] ?? name.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
