import type { Socket } from 'node:net';
import type { Clock } from '../../clock/clock.js';
import type { Hop } from '../hop.js';
import { Timers } from '../timers.js';
import { StreamFraming } from './framing.js';
import type { TransportEvents } from './transport.js';

/** A message that has begun has to end within it. */
const MESSAGE_MS = 15_000;
/** A connection on which nothing comes is closed after it; keep-alives come more often. */
const IDLE_MS = 15 * 60_000;
/** The other side shows that it is there (RFC 5626, 4.4.1). */
const PING_MS = 90_000;
/** A connection that takes so long to be made is given up. */
const CONNECT_MS = 5000;
/** What may wait for a slow reader, in bytes. */
const MOST_WAITING = 1_048_576;
const PING = Buffer.from('\r\n\r\n');
const PONG = Buffer.from('\r\n');

export interface ConnectionOptions {
  clock: Clock;
  socket: Socket;
  /** The other end. */
  hop: Hop;
  /** Whether it is ready already: an incoming one is. */
  isOpen: boolean;
  /** Of sockets that are to be made: `connect`, or `secureConnect`. */
  openEvent?: string;
  events: TransportEvents;
  /** It is over; nothing comes after it. */
  onClosed: () => void;
}

/** One connection, TCP or TLS. */
export class Connection {
  readonly hop: Hop;
  readonly #options: ConnectionOptions;
  readonly #framing = new StreamFraming();
  readonly #timers: Timers<'message' | 'idle' | 'ping' | 'connect'>;
  #unsent: Uint8Array[] = [];
  #isOpen: boolean;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    const { clock, socket, hop, isOpen, openEvent = 'connect' } = options;
    this.#options = options;
    this.hop = hop;
    this.#isOpen = isOpen;
    this.#timers = new Timers(clock);
    // Answers of a few hundred bytes would wait for the other side's acknowledgement.
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

  /** What an event does may end it. */
  #isOver(): boolean {
    return this.#isClosed;
  }
}
