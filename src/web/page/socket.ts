import type { TalkClientMessage, TalkInitiate, TalkServerMessage } from '../../transports/talk-protocol.js';
import type { Closing } from './endings.js';

export interface TalkSocketOptions {
  /** Address of the daemon, without a slash at the end. */
  base: string;
  /** What `initiate` says. */
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
  /** Microphone chunks left out because the network did not take them. */
  droppedChunks: number;
}

const PING_EVERY_MS = 15_000;
/** Microphone audio that may wait for the network: 2 s. Older audio helps nobody. */
const MAX_WAITING_BYTES = 64_000;

/** The talk socket, see docs/talk-socket.md. */
export class TalkSocket {
  readonly stats: TalkSocketStats = { sentChunks: 0, droppedChunks: 0 };
  readonly #socket: WebSocket;
  readonly #pings: number;

  /** Opens it and sends `initiate`; `onready` is a message. */
  constructor({ base, initiate }: TalkSocketOptions, events: TalkSocketEvents) {
    const address = new URL(`${base}/talk`);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let opened = false;
    socket.onopen = (): void => {
      opened = true;
      const message: TalkInitiate = { method: 'initiate', data: initiate };
      socket.send(JSON.stringify(message));
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>): void => {
      if (typeof data === 'string') events.onMessage(JSON.parse(data) as TalkServerMessage);
      else events.onAudio(new Int16Array(data, 0, data.byteLength >> 1));
    };
    socket.onclose = ({ code, reason }): void => {
      clearInterval(this.#pings);
      events.onClosed({ opened, code, reason });
    };
    this.#pings = setInterval(() => {
      this.send({ method: 'ping', data: Math.round(performance.now()) });
    }, PING_EVERY_MS);
  }

  send(message: TalkClientMessage): void {
    if (this.#isOpen) this.#socket.send(JSON.stringify(message));
  }

  /** 20 ms of the microphone. */
  sendAudio(samples: Int16Array<ArrayBuffer>): void {
    if (!this.#isOpen) return;
    if (this.#socket.bufferedAmount > MAX_WAITING_BYTES) {
      this.stats.droppedChunks++;
      return;
    }
    this.stats.sentChunks++;
    this.#socket.send(samples);
  }

  /** Hangs up. May be called twice. */
  close(): void {
    clearInterval(this.#pings);
    this.#socket.onclose = null;
    this.#socket.onmessage = null;
    this.#socket.close(1000);
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }
}
