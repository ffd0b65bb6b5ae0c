import type { Cancel, Clock } from '../base/clock.js';
import type { AddressGuard } from './address-guard.js';

export interface SocketOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  connectTimeoutMs: number;
  /** A real clock. */
  clock: Clock;
  /** A larger message closes the connection. */
  maxMessageBytes: number;
}

export interface SocketEvents {
  onOpen: () => void;
  onText: (text: string) => void;
  /** The connection is closed or could not be opened. Called once, with the reason as text. */
  onClosed: (reason: string) => void;
}

/** Timeout for the server's answer to a close. */
const CLOSE_MS = 1000;

/** A WebSocket connection to an address that a customer configured. */
export interface GuardedSocket {
  /** Buffered outgoing data, in bytes. */
  readonly waitingBytes: number;
  send(text: string): void;
  close(): void;
}

/**
 * Connects to an address that passes the guard, using the DNS answer that was checked; does not follow redirects.
 * Reports errors through `onClosed`; ignores binary messages.
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
    lookup: exempt ? undefined : guard.lookup,
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
      // Does not wait long for a server's answer to a close.
      const { clock } = options;
      const cancel: Cancel = clock.schedule(clock.nowMs() + CLOSE_MS, () => socket.terminate());
      socket.once('close', cancel);
      socket.close(1000);
    },
  };
}
