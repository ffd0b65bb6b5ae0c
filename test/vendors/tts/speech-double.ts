import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { VoiceList } from './voice-lists.js';

/** What a vendor's double does beside what it is asked for. */
export interface Faults {
  /** Answers every connection or request with this status, and repeats the key in the body, as some do. */
  refuse?: number;
  /** Never says anything to an utterance. */
  stall?: boolean;
  /** Stops in the middle of an utterance, and … */
  stopAfter?: 'stall' | 'drop' | 'error' | 'garbage';
  /** Pieces that it lets through before that. Default 1. */
  pieces?: number;
  /** Says nothing to so many connections' first utterance but closes them: they were dead. */
  deadConnections?: number;
}

export const KEY = 'vendor-key-0123456789';

/** The ground of the doubles of vendors of speech: a server on loopback that counts, waits and misbehaves. */
export abstract class SpeechDouble {
  faults: Faults = {};
  /** The voices of the account, for those who ask. */
  readonly voiceList: VoiceList | null = null;
  /** What broke the protocol. A test ends with none. */
  readonly violations: string[] = [];
  /** Texts that were asked for, in order. */
  readonly spoken: string[] = [];
  /** Utterances that were taken back. */
  cancelled = 0;
  connections = 0;
  /** Utterances in the middle of which it fell silent. */
  stalled = 0;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();
  readonly #server: Server;
  readonly #webSockets = new WebSocketServer({ noServer: true });
  url = '';

  constructor() {
    this.#server = createServer((request, response) => this.#onRequest(request, response));
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.changed();
      });
    });
    this.#server.on('upgrade', (request, socket, head) => {
      const { refuse } = this.faults;
      const problem = refuse === undefined ? this.connectProblem(request) : null;
      const status = refuse ?? problem?.status;
      if (status !== undefined) {
        const body = JSON.stringify({ detail: { message: problem?.reason ?? `not with ${KEY}` } });
        socket.end(
          `HTTP/1.1 ${String(status)} no\r\ncontent-type: application/json\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\nconnection: close\r\n\r\n${body}`,
        );
        return;
      }
      this.#webSockets.handleUpgrade(request, socket, head, (line) => {
        line.on('error', () => undefined);
        this.onLine(line, new URL(request.url ?? '/', 'http://double'));
      });
    });
  }

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
    return this;
  }

  /** Breaks every connection off. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Connections that stand. */
  get standing(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    this.dropAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Resolves when `isThere` has come true, looked at whenever something happens. */
  async until(isThere: () => boolean, what: string): Promise<void> {
    const deadline = AbortSignal.timeout(10_000);
    while (!isThere()) {
      await new Promise<void>((resolve, reject) => {
        const late = (): void => reject(new Error(`${what} did not happen`));
        const wake = (): void => {
          this.#waiting.delete(wake);
          deadline.removeEventListener('abort', late);
          resolve();
        };
        this.#waiting.add(wake);
        deadline.addEventListener('abort', late, { once: true });
      });
    }
  }

  changed(): void {
    for (const wake of this.#waiting) wake();
  }

  violation(what: string): void {
    this.violations.push(what);
  }

  /** What is wrong with a connection: null = nothing. */
  protected connectProblem(_request: IncomingMessage): { status: number; reason: string } | null {
    return { status: 404, reason: 'no sockets here' };
  }

  protected onLine(line: WebSocket, _url: URL): void {
    line.close(1011);
  }

  protected onHttp(_request: IncomingMessage, body: string, response: ServerResponse): void {
    this.violation(`a request over HTTP: ${body.slice(0, 200)}`);
    response.writeHead(404).end();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { refuse } = this.faults;
      if (refuse !== undefined) {
        response.writeHead(refuse, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: `not with ${KEY}` } }));
      } else {
        const list = this.voiceList?.(request) ?? null;
        if (list === null) this.onHttp(request, body, response);
        else response.writeHead(list.status, { 'content-type': 'application/json' }).end(JSON.stringify(list.body));
      }
      this.changed();
    });
  }

  /**
   * Hands out pieces one after another, each after the last has been written, with the faults that are set.
   * @returns how it ended: null = `cancel` was called, or the line has gone
   */
  pour<T>(
    pieces: readonly T[],
    faulty: { send: (piece: T) => void; drop: () => void; error: () => void; garbage: () => void },
    done: () => void,
  ): () => void {
    const { stall = false, stopAfter, pieces: before = 1 } = this.faults;
    let next = 0;
    let isCancelled = stall;
    const step = (): void => {
      if (isCancelled) return;
      if (stopAfter !== undefined && next >= before) {
        if (stopAfter === 'stall') this.stalled++;
        else faulty[stopAfter]();
        this.changed();
        return;
      }
      const piece = pieces[next++];
      if (piece === undefined) {
        done();
        this.changed();
        return;
      }
      faulty.send(piece);
      this.changed();
      setImmediate(step);
    };
    setImmediate(step);
    return () => (isCancelled = true);
  }
}
