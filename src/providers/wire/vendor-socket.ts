import type { ClientRequest, IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Cancel, Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { connectionReason, failed, messageIn, refused, statusError, withoutSecrets } from './vendor-error.js';

export interface VendorSocketOptions {
  /** The vendor's name in errors. */
  provider: string;
  /** `ws:` or `wss:`. It may contain a key and is never shown. */
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Subprotocols to offer. Default none. */
  protocols?: readonly string[];
  /** Keys to redact in errors. */
  secrets: readonly string[];
  clock: Clock;
  /** On abort the socket closes without further events. */
  signal: AbortSignal;
  /** Timeout for connecting, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /** Keep-alive message and interval for an idle connection. Default: none. */
  keepAlive?: { afterMs: number; message: () => string } | undefined;
  /** Timeout for the answer to a ping, in milliseconds. Default 10,000. */
  pingMs?: number;
  /** Maximum send queue in bytes, also while connecting. Default 2 MiB: a minute of 16 kHz audio. */
  maxWaitingBytes?: number;
  /** A larger message closes the connection. Default 1 MiB. */
  maxMessageBytes?: number;
}

export interface VendorSocketEvents {
  /** Connected. Messages sent in this handler precede those that were queued. */
  onOpen?: (socket: VendorSocket) => void;
  onText: (text: string) => void;
  /** Default: ignores binary messages. */
  onBinary?: (data: Buffer) => void;
  /**
   * The connection is closed or failed, other than by `close` or the signal. Called at most once, as the last event.
   * PROVIDER_TIMEOUT, PROVIDER_REFUSED or PROVIDER_FAILED.
   */
  onClosed: (error: ParleyError, code: number | null) => void;
}

/** Timeout for the server's answer to a close. */
const CLOSE_MS = 1000;
/** Close codes for invalid requests (RFC 6455 section 7.4.1). */
const REFUSING_CODES = new Set([1002, 1003, 1007, 1008, 1009]);
const MAX_BODY_CHARS = 4096;

/**
 * A connection to a vendor's WebSocket API. Connects at once; messages sent before that are queued, in order and with a
 * limit. Reports an error once, through `onClosed`, with keys redacted. The operator configures vendors, so the address
 * may be private.
 */
export class VendorSocket {
  readonly #options: VendorSocketOptions;
  readonly #events: VendorSocketEvents;
  #socket: WebSocket | null = null;
  #waiting: (string | Uint8Array)[] = [];
  #waitingBytes = 0;
  #open = false;
  /** No more events are reported. */
  #over = false;
  #closing: Promise<void> | null = null;
  #reason: string | null = null;
  readonly #timers = new Map<'connect' | 'keepAlive' | 'ping', Cancel>();
  /** Something has arrived since the last ping. */
  #alive = true;

  constructor(options: VendorSocketOptions, events: VendorSocketEvents) {
    this.#options = options;
    this.#events = events;
    const { signal, connectTimeoutMs = 5000, provider } = options;
    if (signal.aborted) {
      this.#over = true;
      return;
    }
    signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#after('connect', connectTimeoutMs, () => {
      this.#fail(new ParleyError('PROVIDER_TIMEOUT', { provider, timeoutMs: connectTimeoutMs }));
    });
    this.#dial().catch((error: unknown) => {
      this.#fail(failed(provider, this.#clean(connectionReason(error))));
    });
  }

  /** Connected. */
  get isOpen(): boolean {
    return this.#open && !this.#over;
  }

  /** Nothing more can be sent or received. */
  get isOver(): boolean {
    return this.#over;
  }

  /**
   * Sends now, or as soon as connected. The data must not change afterwards. Does nothing after the connection is
   * closed.
   */
  send(data: string | Uint8Array): void {
    if (this.#over) return;
    const { provider, maxWaitingBytes = 2_097_152 } = this.#options;
    if (!this.#open) {
      this.#waiting.push(data);
      this.#waitingBytes += data.length;
    }
    if (Math.max(this.#waitingBytes, this.#socket?.bufferedAmount ?? 0) > maxWaitingBytes) {
      this.#fail(failed(provider, 'it reads too slowly'));
      return;
    }
    if (this.#open) this.#write(data);
  }

  /** Sends the vendor's goodbye, then closes. Resolves when the connection is closed. Idempotent. */
  close(farewell?: string): Promise<void> {
    if (this.#closing !== null) return this.#closing;
    if (farewell !== undefined && this.isOpen) this.#write(farewell);
    this.#end();
    return this.#hangUp();
  }

  async #dial(): Promise<void> {
    const { url, headers = {}, protocols = [], maxMessageBytes = 1_048_576 } = this.#options;
    const { WebSocket } = await import('ws');
    if (this.#over) return;
    const socket = new WebSocket(url, [...protocols], {
      headers: { 'user-agent': 'parley', ...headers },
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#socket = socket;
    socket.on('open', () => this.#onOpen());
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#onMessage(data, isBinary));
    socket.on('pong', () => (this.#alive = true));
    socket.on('ping', () => (this.#alive = true));
    socket.on('error', (error) => (this.#reason ??= connectionReason(error)));
    socket.on('unexpected-response', (request: ClientRequest, response) => void this.#onRefused(request, response));
    socket.on('close', (code: number, reason: Buffer) => this.#onClose(code, reason.toString('utf8')));
  }

  #onOpen(): void {
    if (this.#over) return;
    this.#open = true;
    this.#timers.get('connect')?.();
    this.#events.onOpen?.(this);
    for (const data of this.#waiting.splice(0)) if (this.isOpen) this.#write(data);
    this.#waitingBytes = 0;
    this.#armKeepAlive();
    this.#armPing();
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (this.#over) return;
    this.#alive = true;
    if (isBinary) this.#events.onBinary?.(data);
    else this.#events.onText(data.toString('utf8'));
  }

  async #onRefused(request: ClientRequest, response: IncomingMessage): Promise<void> {
    const { provider } = this.#options;
    let body = '';
    try {
      for await (const chunk of response.setEncoding('utf8')) {
        body += String(chunk);
        if (body.length > MAX_BODY_CHARS || this.#over) break;
      }
    } catch {
      // The status is enough.
    }
    request.destroy();
    this.#fail(statusError(provider, response.statusCode ?? 0, this.#clean(messageIn(body))));
  }

  #onClose(code: number, reason: string): void {
    const { provider } = this.#options;
    const said = messageIn(reason).trim();
    const text = this.#clean(said !== '' ? said : (this.#reason ?? `it closed the connection (${String(code)})`));
    this.#fail(
      REFUSING_CODES.has(code) ? refused(provider, text) : failed(provider, text),
      code === 1006 ? null : code,
    );
  }

  #write(data: string | Uint8Array): void {
    this.#socket?.send(data);
    if (this.#options.keepAlive !== undefined) this.#armKeepAlive();
  }

  #fail(error: ParleyError, code: number | null = null): void {
    if (this.#over) return;
    this.#end();
    void this.#hangUp();
    this.#events.onClosed(error, code);
  }

  /** Stops all events and timers. */
  #end(): void {
    this.#over = true;
    this.#waiting = [];
    for (const cancel of this.#timers.values()) cancel();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }

  #hangUp(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      const socket = this.#socket;
      if (socket === null || socket.readyState === socket.CLOSED) {
        resolve();
        return;
      }
      const { clock } = this.#options;
      const cancel = clock.schedule(clock.nowMs() + CLOSE_MS, () => socket.terminate());
      socket.once('close', () => {
        cancel();
        resolve();
      });
      // Does not wait for a connection that is not open yet.
      if (socket.readyState === socket.CONNECTING) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.close(1000);
    });
    return this.#closing;
  }

  #armKeepAlive(): void {
    const { keepAlive } = this.#options;
    if (keepAlive === undefined || this.#over) return;
    this.#after('keepAlive', keepAlive.afterMs, () => this.#write(keepAlive.message()));
  }

  #armPing(): void {
    const { pingMs = 10_000, provider } = this.#options;
    this.#after('ping', pingMs, () => {
      if (!this.#alive) {
        this.#fail(failed(provider, `it did not answer a ping within ${String(pingMs)} ms`));
        return;
      }
      this.#alive = false;
      this.#socket?.ping();
      this.#armPing();
    });
  }

  #after(name: 'connect' | 'keepAlive' | 'ping', ms: number, then: () => void): void {
    const { clock } = this.#options;
    this.#timers.get(name)?.();
    this.#timers.set(name, clock.schedule(clock.nowMs() + ms, then));
  }

  #clean(text: string): string {
    return withoutSecrets(text, this.#options.secrets);
  }

  readonly #onAbort = (): void => {
    void this.close();
  };
}

/** The WebSocket URL of a path under an http(s) root; query members that are null are left out. */
export function socketUrl(
  baseUrl: string,
  path: string,
  query: URLSearchParams | Readonly<Record<string, string | null>> = {},
): string {
  const root = baseUrl.replace(/^http/, 'ws').replace(/\/+$/, '');
  const given = [...(query instanceof URLSearchParams ? query : Object.entries(query))];
  const search = new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== null)).toString();
  return `${root}${path}${search === '' ? '' : `?${search}`}`;
}
