import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { RealClock } from '../../../src/base/real-clock.js';

/** What can go wrong with a vendor; a test changes it at any time. */
export interface Faults {
  /** Connections are answered so in place of being taken. */
  refuse: [status: number, body: string, headers?: Readonly<Record<string, string>>] | null;
  /** It takes everything and says nothing. */
  stalled: boolean;
  /** Sent in place of the next messages. */
  garbage: string[];
  /** Every message comes in pieces, cut in the middle of characters. */
  split: boolean;
  /** Everything comes so much later. */
  lateMs: number;
}

export const NO_FAULTS: Readonly<Faults> = { refuse: null, stalled: false, garbage: [], split: false, lateMs: 0 };

export interface DoubleRequest {
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
}

/** What a double says on one connection. */
export interface DoubleLine {
  readonly request: DoubleRequest;
  /** An object as JSON, a Buffer as binary. */
  say(message: object | Buffer): void;
  /** A text that is no JSON. */
  text(text: string): void;
  close(code: number, reason?: string): void;
  violation(what: string): void;
  /** What was asked for, whatever a vendor calls it: tests look at it. */
  asked(what: Partial<Asked>): void;
}

export interface Asked {
  model: string;
  language: string | null;
  keywords: string[];
}

export interface DoubleConversation {
  text(message: string): void;
  binary(data: Buffer): void;
}

export interface DoubleProtocol {
  /** A refusal before the connection is taken, as a status and a body; null = it is taken. */
  refuses(request: DoubleRequest): [status: number, body: string] | null;
  converse(line: DoubleLine): DoubleConversation;
  /** Further HTTP requests of the protocol. */
  http?(request: IncomingMessage, body: string): { status: number; body: object } | null;
}

/** A vendor's WebSocket server: connections, faults, and what has broken the protocol; the words are its protocol's. */
export class SocketDouble {
  readonly faults: Faults = { ...NO_FAULTS, garbage: [] };
  readonly violations: string[] = [];
  readonly asked: Asked[] = [];
  /** Bytes and messages that clients sent. */
  received = 0;
  readonly #http: Server;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #protocol: DoubleProtocol;
  readonly #watchers = new Set<() => void>();
  readonly #clock = new RealClock();
  connections = 0;
  /** Connections that were closed, with their codes. */
  readonly closed: number[] = [];

  constructor(protocol: DoubleProtocol) {
    this.#protocol = protocol;
    this.#http = createServer((request, response) => void this.#onHttp(request, response));
    this.#http.on('upgrade', (request, socket, head) => this.#onUpgrade(request, socket, head));
  }

  /** Resolves to its http address. */
  async listen(): Promise<string> {
    this.#http.listen(0, '127.0.0.1');
    await once(this.#http, 'listening');
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#http.address() as AddressInfo).port)}`;
  }

  get openConnections(): number {
    return this.#server.clients.size;
  }

  /** Says something of a test's own to everybody, and closes where a code is given. */
  interject(message: object | string | null, close?: [code: number, reason: string]): void {
    for (const client of this.#server.clients) {
      if (message !== null) client.send(typeof message === 'string' ? message : JSON.stringify(message));
      if (close !== undefined) client.close(...close);
    }
  }

  /** Breaks every connection off. */
  drop(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  /** Resolves when `isThere` has come true; looked at whenever something happens here. */
  async until(isThere: () => boolean, what: string): Promise<void> {
    const deadline = AbortSignal.timeout(5000);
    while (!isThere()) {
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#watchers.delete(wake);
          resolve();
        };
        this.#watchers.add(wake);
        deadline.addEventListener('abort', () => reject(new Error(`${what} did not come`)), { once: true });
      });
    }
  }

  async close(): Promise<void> {
    this.drop();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #onHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
    const refusal = this.faults.refuse;
    if (this.faults.stalled) return;
    const answer = this.#protocol.http?.(request, body) ?? { status: 404, body: { message: 'no such path' } };
    const [status, text, headers] = refusal ?? [answer.status, JSON.stringify(answer.body)];
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? '/', 'http://double');
    const asked = { path: url.pathname, query: url.searchParams, headers: request.headers };
    const refusal = this.faults.refuse ?? this.#protocol.refuses(asked);
    if (refusal !== null) {
      const [status, body, headers = {}] = refusal;
      const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const length = String(Buffer.byteLength(body));
      socket.end(
        `HTTP/1.1 ${String(status)} Refused\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${more.join('')}\r\n${body}`,
      );
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client, asked));
  }

  #serve(client: WebSocket, request: DoubleRequest): void {
    this.connections++;
    const wanted: Asked = { model: '', language: null, keywords: [] };
    this.asked.push(wanted);
    const conversation = this.#protocol.converse({
      request,
      say: (message) => this.#sayInTime(client, Buffer.isBuffer(message) ? message : JSON.stringify(message)),
      text: (text) => this.#sayInTime(client, text),
      close: (code, reason) => client.close(code, reason),
      violation: (what) => this.violations.push(what),
      asked: (what) => Object.assign(wanted, what),
    });
    client.on('error', () => undefined);
    client.on('message', (data: Buffer, isBinary: boolean) => {
      this.received++;
      if (!this.faults.stalled) {
        if (isBinary) conversation.binary(data);
        else conversation.text(data.toString('utf8'));
      }
      this.#wake();
    });
    client.on('close', (code) => {
      this.closed.push(code);
      this.#wake();
    });
    this.#wake();
  }

  #sayInTime(client: WebSocket, message: string | Buffer): void {
    const { lateMs } = this.faults;
    if (lateMs === 0) this.#say(client, message);
    else this.#clock.schedule(this.#clock.nowMs() + lateMs, () => this.#say(client, message));
  }

  #say(client: WebSocket, message: string | Buffer): void {
    if (this.faults.stalled || client.readyState !== client.OPEN) return;
    const isBinary = Buffer.isBuffer(message);
    const garbage = this.faults.garbage.shift();
    const data = garbage ?? message;
    if (!this.faults.split) {
      client.send(data, { binary: isBinary });
      return;
    }
    const bytes = Buffer.from(data);
    const pieces = [bytes.subarray(0, 1), bytes.subarray(1, bytes.length - 7), bytes.subarray(bytes.length - 7)];
    for (const [at, piece] of pieces.entries()) {
      client.send(piece, { binary: isBinary, fin: at === pieces.length - 1 });
    }
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/** Whether a query holds only what the vendor knows. */
export function unknownIn(query: URLSearchParams, known: readonly string[]): string | null {
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  return unknown === undefined ? null : `unknown parameter ${unknown}`;
}

/** A message of the client's with a `type`; anything else is a violation. */
export function typed(text: string, line: DoubleLine): Record<string, unknown> & { type: string } {
  try {
    const message = JSON.parse(text) as Record<string, unknown>;
    if (typeof message['type'] === 'string') return message as Record<string, unknown> & { type: string };
  } catch {
    // reported below
  }
  line.violation(`no message of the protocol: ${text.slice(0, 200)}`);
  return { type: '' };
}
