import type { Socket } from 'node:net';
import type { Clock } from '../../../base/clock.js';
import type { Hop } from '../hop.js';
import { Timers } from '../timers.js';
import type { TransportEvents } from './transport.js';
import { headEnd, MOST_BODY, MOST_HEAD } from '../parse.js';

/** The next part of a stream. */
export type Framed =
  | { type: 'message'; bytes: Uint8Array }
  /** A keep-alive ping (RFC 5626, 4.4.1): answered with CRLF. */
  | { type: 'ping' }
  /** The start of the next message is unknown: the connection is unusable. */
  | { type: 'broken' };

const CR = 13;
const LF = 10;
const LENGTH = /^(?:content-length|l)[ \t]*:[ \t]*(\d{1,9})[ \t]*$/gim;

/** Splits a stream into messages by their `Content-Length` (RFC 3261, 18.3). */
export class StreamFraming {
  #waiting: Buffer = Buffer.alloc(0);
  #needed = 0;
  #isBroken = false;

  /** Whether a message is incomplete. */
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

/** Deadline for the rest of a message. */
const MESSAGE_MS = 15_000;
/** An idle connection closes after this time; keep-alives come more often. */
const IDLE_MS = 15 * 60_000;
/** Interval of keep-alive pings (RFC 5626, 4.4.1). */
const PING_MS = 90_000;
/** Deadline for connecting. */
const CONNECT_MS = 5000;
/** Maximum bytes that wait for a slow reader. */
const MOST_WAITING = 1_048_576;
const PING = Buffer.from('\r\n\r\n');
const PONG = Buffer.from('\r\n');

export interface SipConnectionOptions {
  clock: Clock;
  socket: Socket;
  /** The remote end. */
  hop: Hop;
  /** Whether it is established, as an incoming one is. */
  isOpen: boolean;
  /** For outgoing connections: `connect`, or `secureConnect`. */
  openEvent?: string | undefined;
  events: TransportEvents;
  /** The connection is over; called last. */
  onClosed: () => void;
}

/** A TCP or TLS connection. */
export class Connection {
  readonly hop: Hop;
  readonly #options: SipConnectionOptions;
  readonly #framing = new StreamFraming();
  readonly #timers: Timers<'message' | 'idle' | 'ping' | 'connect'>;
  #unsent: Uint8Array[] = [];
  #isOpen: boolean;
  #isClosed = false;

  constructor(options: SipConnectionOptions) {
    const { clock, socket, hop, isOpen, openEvent = 'connect' } = options;
    this.#options = options;
    this.hop = hop;
    this.#isOpen = isOpen;
    this.#timers = new Timers(clock);
    // Otherwise small responses would wait for the other side's acknowledgement.
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', () => this.close());
    socket.on('close', () => this.close());
    if (isOpen) this.#opened();
    else {
      socket.once(openEvent, () => this.#opened());
      this.#timers.set('connect', CONNECT_MS, () => this.close());
    }
  }

  send(bytes: Uint8Array): void {
    const { socket } = this.#options;
    if (!this.#isOpen) this.#unsent.push(bytes);
    else if (socket.writableLength > MOST_WAITING) this.close();
    else socket.write(bytes);
  }

  /** May be called twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timers.clearAll();
    this.#options.socket.destroy();
    this.#unsent = [];
    this.#options.onClosed();
  }

  #opened(): void {
    if (this.#isClosed) return;
    this.#isOpen = true;
    this.#timers.clear('connect');
    for (const bytes of this.#unsent.splice(0)) this.#options.socket.write(bytes);
    this.#timers.set('idle', IDLE_MS, () => this.close());
    this.#ping();
  }

  #ping(): void {
    this.#timers.set('ping', PING_MS, () => {
      this.send(PING);
      this.#ping();
    });
  }

  #received(chunk: Buffer): void {
    const { events } = this.#options;
    this.#timers.set('idle', IDLE_MS, () => this.close());
    for (const framed of this.#framing.push(chunk)) {
      if (this.#isOver()) return;
      if (framed.type === 'message') events.onMessage(framed.bytes, this.hop);
      else if (framed.type === 'ping') this.send(PONG);
      else {
        events.onRefused('framing');
        this.close();
      }
    }
    if (!this.#framing.isWithin) this.#timers.clear('message');
    else if (!this.#timers.isRunning('message') && !this.#isOver()) {
      this.#timers.set('message', MESSAGE_MS, () => {
        events.onRefused('framing');
        this.close();
      });
    }
  }

  /** A callback may have closed it. */
  #isOver(): boolean {
    return this.#isClosed;
  }
}
