import { headEnd, MOST_BODY, MOST_HEAD } from '../parse.js';

/** What a piece of a stream brings. */
export type Framed =
  | { type: 'message'; bytes: Uint8Array }
  /** The other side wants to know whether we are there (RFC 5626, 4.4.1): it is answered with CRLF. */
  | { type: 'ping' }
  /** Nobody can say where the next message begins: the connection is of no use any more. */
  | { type: 'broken' };

const CR = 13;
const LF = 10;
const LENGTH = /^(?:content-length|l)[ \t]*:[ \t]*(\d{1,9})[ \t]*$/gim;

/** Cuts a stream of bytes into messages, by their `Content-Length` (RFC 3261, 18.3). */
export class StreamFraming {
  #waiting: Buffer = Buffer.alloc(0);
  #needed = 0;
  #isBroken = false;

  /** Whether a message has begun and not ended. */
  get isWithin(): boolean {
    return this.#waiting.length > 0;
  }

  push(chunk: Uint8Array): Framed[] {
    const framed: Framed[] = [];
    if (this.#isBroken) return framed;
    this.#waiting = this.#waiting.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#waiting, chunk]);
    while (this.#waiting.length >= this.#needed) {
      const next = this.#next();
      if (next === null) break;
      framed.push(next);
      if (next.type === 'broken') break;
    }
    return framed;
  }

  #next(): Framed | null {
    const waiting = this.#waiting;
    let start = 0;
    while (waiting[start] === CR || waiting[start] === LF) {
      if (start === 3) {
        this.#waiting = waiting.subarray(4);
        return { type: 'ping' };
      }
      start++;
    }
    if (start === waiting.length) return null;
    const end = headEnd(waiting, start);
    if (end === null) return waiting.length - start > MOST_HEAD ? this.#broken() : null;
    const lengths = [...waiting.toString('latin1', start, end.at).matchAll(LENGTH)];
    const length = Number(lengths[0]?.[1] ?? 0);
    if (lengths.length > 1 || length > MOST_BODY) return this.#broken();
    this.#needed = end.next + length;
    if (waiting.length < this.#needed) return null;
    const bytes = waiting.subarray(start, this.#needed);
    this.#waiting = waiting.subarray(this.#needed);
    this.#needed = 0;
    return { type: 'message', bytes };
  }

  #broken(): Framed {
    this.#isBroken = true;
    this.#waiting = Buffer.alloc(0);
    return { type: 'broken' };
  }
}
