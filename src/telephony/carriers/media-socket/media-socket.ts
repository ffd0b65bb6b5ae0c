import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { refuseUpgrade } from '../../../net/refuse-upgrade.js';

/** A carrier's media socket. */
export interface MediaSocket {
  /** Never throws; no effect on a closed socket. */
  send(text: string): void;
  /** Bytes that `send` has buffered. */
  readonly bufferedBytes: number;
  /** Call it once; earlier events are delivered now. */
  listen(events: MediaSocketEvents): void;
  /** May be called twice. */
  close(): void;
}

export interface MediaSocketEvents {
  onText(text: string): void;
  /** Once, also after `close`. */
  onClosed(): void;
}

/** Deadline for the peer's answer to the close. */
const CLOSE_MS = 2_000;

/** A peer that sends nothing, not even an answer to a ping, for one to two times this long is disconnected. */
const SILENCE_MS = 10_000;

/** Largest message: 30 s of audio, which Telnyx allows. */
const MAX_MESSAGE_BYTES = 1_400_000;

/** The media sockets that carriers open. */
export class MediaSockets {
  readonly #clock: Clock;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param take gets the socket; null = it is refused (403) */
  open(
    { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
    take: ((socket: MediaSocket) => void) | null,
  ): void {
    if (take === null) refuseUpgrade(socket, new ParleyError('LINK_INVALID', { reason: 'no call expects it' }));
    else this.#server.handleUpgrade(request, socket, head, (client) => take(mediaSocketOf(client, this.#clock)));
  }

  /** Refuses further sockets. May be called twice. */
  close(): void {
    this.#server.close();
  }
}

/** A `ws` WebSocket that a server has accepted. A connection that has died silently closes within 20 s. */
export function mediaSocketOf(socket: WebSocket, clock: Clock): MediaSocket {
  socket.pause();
  socket.on('error', () => undefined); // a close always follows
  watch(socket, clock);
  return {
    send: (text) => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    },
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
    listen: (events) => {
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (!isBinary) events.onText(data.toString('utf8'));
      });
      let isReported = false;
      const tell = (): void => {
        if (!isReported) events.onClosed();
        isReported = true;
      };
      socket.on('close', tell);
      if (socket.readyState === socket.CLOSED) queueMicrotask(tell);
      socket.resume();
    },
    close: () => {
      if (socket.readyState === socket.CLOSED) return;
      socket.close(1000);
      const cancel = clock.schedule(clock.nowMs() + CLOSE_MS, () => socket.terminate());
      socket.once('close', cancel);
    },
  };
}

function watch(socket: WebSocket, clock: Clock): void {
  let isHeard = true;
  const hear = (): void => void (isHeard = true);
  const look = (): void => {
    // A paused socket is not being read.
    if (!isHeard && !socket.isPaused) {
      socket.terminate();
      return;
    }
    isHeard = false;
    if (socket.readyState === socket.OPEN) socket.ping();
    cancel = clock.schedule(clock.nowMs() + SILENCE_MS, look);
  };
  let cancel = clock.schedule(clock.nowMs() + SILENCE_MS, look);
  for (const event of ['message', 'pong', 'ping'] as const) socket.on(event, hear);
  socket.once('close', () => cancel());
}
