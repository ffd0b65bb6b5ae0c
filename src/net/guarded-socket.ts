import type { Cancel, Clock } from '../base/clock.js';
import type { AddressGuard } from './address-guard.js';

export interface SocketOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The server has to take the connection within this. */
  connectTimeoutMs: number;
  /** A real one. */
  clock: Clock;
  /** A larger message ends the connection. */
  maxMessageBytes: number;
}

export interface SocketEvents {
  onOpen: () => void;
  onText: (text: string) => void;
  /** The connection is over, or never was. Called once, with the reason in words. */
  onClosed: (reason: string) => void;
}

/** A server may take so long to answer the close. */
const CLOSE_MS = 1000;

/** A WebSocket connection to an address that a customer configured. */
export interface GuardedSocket {
  /** Text that waits to be sent, in bytes. */
  readonly waitingBytes: number;
  send(text: string): void;
  /** May be called twice. */
  close(): void;
}

/**
 * Dials an address that passes the guard, and the DNS answer that was checked; redirects are not followed. What goes
 * wrong is told by `onClosed`; binary messages are left out.
 * @throws ParleyError NET_ADDRESS_REFUSED
 */
export async function dialGuarded(
  guard: AddressGuard,
  options: SocketOptions,
  events: SocketEvents,
): Promise<GuardedSocket> {
  const { url, exempt } = guard.check(options.url, ['ws:', 'wss:']);
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(url, {
    headers: { 'user-agent': 'parley', ...options.headers },
    handshakeTimeout: options.connectTimeoutMs,
    maxPayload: options.maxMessageBytes,
    perMessageDeflate: false,
    followRedirects: false,
    ...(!exempt && { lookup: guard.lookup }),
  });
  let reason: string | null = null;
  let over = false;
  socket.on('open', () => events.onOpen());
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (!over && !isBinary) events.onText(data.toString('utf8'));
  });
  socket.on('error', (error) => (reason ??= error.message));
  socket.on('close', (code) => {
    if (over) return;
    over = true;
    events.onClosed(reason ?? `it was closed (${String(code)})`);
  });
  return {
    get waitingBytes() {
      return socket.bufferedAmount;
    },
    send: (text) => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    },
    close: () => {
      if (over) return;
      over = true;
      if (socket.readyState !== socket.OPEN) {
        socket.terminate();
        return;
      }
      // A server that does not answer the close is not waited for long.
      const { clock } = options;
      const cancel: Cancel = clock.schedule(clock.nowMs() + CLOSE_MS, () => socket.terminate());
      socket.once('close', cancel);
      socket.close(1000);
    },
  };
}
