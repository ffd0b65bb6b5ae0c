import type { TalkClientMessage, TalkInitiate, TalkServerMessage } from '../../transports/talk-protocol.js';

export interface TalkSocketEvents {
  onMessage(message: TalkServerMessage): void;
  /** 16 kHz mono. */
  onAudio(samples: Int16Array<ArrayBuffer>): void;
  /** The socket is closed; called once, not after `close`. `reason` is the server's, or null where there is none. */
  onClosed(reason: string | null): void;
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
  constructor(keyOrToken: string, agentId: string, events: TalkSocketEvents) {
    const address = new URL('/talk', location.href);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = (): void => {
      const initiate: TalkInitiate = {
        method: 'initiate',
        data: { public_key: keyOrToken, agent: { agent_id: agentId } },
      };
      socket.send(JSON.stringify(initiate));
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>): void => {
      if (typeof data === 'string') events.onMessage(JSON.parse(data) as TalkServerMessage);
      else events.onAudio(new Int16Array(data, 0, data.byteLength >> 1));
    };
    socket.onclose = ({ reason }): void => {
      clearInterval(this.#pings);
      events.onClosed(reason === '' ? null : reason);
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
