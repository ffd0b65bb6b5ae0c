import type { TalkClientMessage, TalkInitiate, TalkServerMessage } from '../../../src/transports/talk-protocol.js';
import { type Closing, NO_CLOSE } from './endings.js';

export interface TalkSocketOptions {
  /** Address of the daemon, without a trailing slash. */
  base: string;
  /** Content of `initiate`. */
  initiate: TalkInitiate['data'];
}

export interface TalkSocketEvents {
  onMessage(message: TalkServerMessage): void;
  /** 16 kHz mono. */
  onAudio(samples: Int16Array<ArrayBuffer>): void;
  /** Called once, not after `close`. */
  onClosed(closing: Closing): void;
}

export interface TalkSocketStats {
  sentChunks: number;
  /** Microphone chunks dropped because the network was too slow. */
  droppedChunks: number;
}

/** Interval of checks of the line. */
const WATCH_EVERY_MS = 1000;
/** A ping every second check. */
const PING_EVERY = 2;
/**
 * Checks without any message, including pongs, before the line counts as dead. Checks are counted instead of timed,
 * because a frozen page makes none. Audio is dropped before, because it must not arrive later.
 */
const QUIET_LOOKS = 3;
const DEAD_LOOKS = 6;
/** Maximum microphone audio that waits for the network: 2 s. Older audio is useless. */
const MAX_WAITING_BYTES = 64_000;

/** The talk socket, see docs/talk-socket.md. */
export class TalkSocket {
  readonly stats: TalkSocketStats = { sentChunks: 0, droppedChunks: 0 };
  readonly #socket: WebSocket;
  readonly #events: TalkSocketEvents;
  readonly #watch: ReturnType<typeof setInterval>;
  readonly #lifetime = new AbortController();
  #looks = 0;
  #looksWithoutMessage = 0;

  /** Opens it and sends `initiate`; `onready` is a message. */
  constructor({ base, initiate }: TalkSocketOptions, events: TalkSocketEvents) {
    const address = new URL(`${base}/talk`);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#events = events;
    socket.binaryType = 'arraybuffer';
    let opened = false;
    socket.onopen = (): void => {
      opened = true;
      const message: TalkInitiate = { method: 'initiate', data: initiate };
      socket.send(JSON.stringify(message));
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>): void => {
      this.#looksWithoutMessage = 0;
      if (typeof data === 'string') events.onMessage(JSON.parse(data) as TalkServerMessage);
      else events.onAudio(new Int16Array(data, 0, data.byteLength >> 1));
    };
    socket.onclose = ({ code, reason }): void => {
      this.#stop();
      events.onClosed({ opened, code, reason });
    };
    this.#watch = setInterval(() => this.#look(), WATCH_EVERY_MS);
    // The network may have gone or changed: checks within a second.
    const doubt = (): void => {
      this.#looksWithoutMessage = Math.max(this.#looksWithoutMessage, DEAD_LOOKS - 2);
      this.#ping();
    };
    addEventListener('offline', doubt, { signal: this.#lifetime.signal });
    addEventListener('online', doubt, { signal: this.#lifetime.signal });
  }

  send(message: TalkClientMessage): void {
    if (this.#isOpen) this.#socket.send(JSON.stringify(message));
  }

  /** 20 ms of the microphone. */
  sendAudio(samples: Int16Array<ArrayBuffer>): void {
    if (!this.#isOpen) return;
    if (this.#looksWithoutMessage >= QUIET_LOOKS || this.#socket.bufferedAmount > MAX_WAITING_BYTES) {
      this.stats.droppedChunks++;
      return;
    }
    this.stats.sentChunks++;
    this.#socket.send(samples);
  }

  /** Hangs up. May be called twice. */
  close(): void {
    this.#stop();
    this.#socket.onclose = null;
    this.#socket.onmessage = null;
    this.#socket.close(1000);
  }

  #look(): void {
    if (!this.#isOpen) return;
    this.#looks++;
    this.#looksWithoutMessage++;
    if (this.#looksWithoutMessage >= DEAD_LOOKS) {
      this.close();
      this.#events.onClosed({ opened: true, code: NO_CLOSE, reason: '' });
    } else if (this.#looks % PING_EVERY === 0) this.#ping();
  }

  #ping(): void {
    this.send({ method: 'ping', data: Math.round(performance.now()) });
  }

  #stop(): void {
    clearInterval(this.#watch);
    this.#lifetime.abort();
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }
}
