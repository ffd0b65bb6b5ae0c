import { splitOutside } from './scan.js';

/** Short names (RFC 3261, 7.3.3, and the RFCs that define the others). */
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

/** Names that are not written with a capital at each word's beginning alone. */
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

/** The name that a header goes by here: long, in lower case. */
export function headerName(written: string): string {
  const name = written.toLowerCase();
  return COMPACT[name] ?? name;
}

/** A message's headers, in their order. Names are given in lower case and long; see `headerName`. */
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

  /** The first value, as it came. */
  get(name: string): string | undefined {
    return this.#list.find(([known]) => known === name)?.[1];
  }

  has(name: string): boolean {
    return this.#list.some(([known]) => known === name);
  }

  /** Each line of this name, as it came. */
  lines(name: string): string[] {
    return this.#list.filter(([known]) => known === name).map(([, value]) => value);
  }

  /**
   * The values of a header that is a list, whichever way they are spread over lines.
   * @returns null where a line cannot be cut up
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

  /** Whether a list of tokens has this one, in either case; such as `Supported`. */
  lists(name: string, token: string): boolean {
    return this.values(name)?.some((value) => value.toLowerCase() === token) ?? false;
  }

  /** Takes the place of all of this name, where the first of them was. */
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

  /** In front of all others. */
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

/** A name as it is written on the wire. */
export function writtenName(name: string): string {
  return WRITTEN[name] ?? name.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
