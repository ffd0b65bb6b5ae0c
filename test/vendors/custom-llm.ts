import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';

/** A custom LLM server as docs/custom-llm.md describes it, strict about everything that it is sent. */

const id = z.string().regex(/^[1-9]\d*$/);
const line = z.strictObject({ role: z.enum(['user', 'assistant', 'system']), content: z.string().min(1) });
const messageSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('start_call'),
    data: z.strictObject({
      stream_id: id,
      agent_id: z.string().nullable(),
      call_sid: z.string().nullable(),
      session_id: z.string().min(1),
      metadata: z.record(z.string(), z.unknown()),
      voip: z.strictObject({ from: z.string(), to: z.string() }).nullable(),
    }),
  }),
  z.strictObject({
    type: z.literal('stream_request'),
    data: z.strictObject({ stream_id: id, transcript: z.array(line) }),
  }),
  z.strictObject({
    type: z.literal('partial_transcript'),
    data: z.strictObject({ session_id: z.string().min(1), transcript: z.string(), is_final: z.boolean() }),
  }),
  z.strictObject({
    type: z.literal('playback_finished'),
    data: z.strictObject({ session_id: z.string().min(1), stream_id: id }),
  }),
  z.strictObject({ type: z.literal('interrupt'), data: z.strictObject({ stream_id: id }) }),
]);

export type Received = z.infer<typeof messageSchema>;
type Of<Type extends Received['type']> = Extract<Received, { type: Type }>;

/** What a test's server does; what it leaves out is not done. */
export interface Behaviour {
  onStart?: (say: Say, data: Of<'start_call'>['data'], connection: number) => void;
  onRequest?: (say: Say, data: Of<'stream_request'>['data'], connection: number) => void;
  onConnect?: (socket: WebSocket, connection: number) => void;
}

/** Answers the stream that was asked for. */
export interface Say {
  response(
    content: string,
    more?: { flush?: boolean; pause?: number; end_of_stream?: boolean; stream_id?: string | number },
  ): void;
  endCall(type?: 'end_call' | 'terminate_call'): void;
  transfer(destination: string): void;
  raw(text: string): void;
  drop(): void;
}

export class CustomLlmServer {
  readonly received: Received[] = [];
  readonly headers: Readonly<Record<string, unknown>>[] = [];
  /** What broke the protocol. */
  readonly violations: string[] = [];
  readonly #server: WebSocketServer;
  readonly #behaviour: Behaviour;
  readonly #waiting = new Set<() => void>();
  #connections = 0;
  /** Streams that were started in any connection: ids are never used twice. */
  readonly #streams = new Set<string>();

  private constructor(server: WebSocketServer, behaviour: Behaviour) {
    this.#server = server;
    this.#behaviour = behaviour;
    server.on('connection', (socket, request) => {
      this.headers.push(request.headers);
      this.#onConnection(socket, ++this.#connections);
    });
  }

  static async open(behaviour: Behaviour): Promise<CustomLlmServer> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    return new CustomLlmServer(server, behaviour);
  }

  get url(): string {
    return `ws://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  get connections(): number {
    return this.#connections;
  }

  of<Type extends Received['type']>(type: Type): Of<Type>['data'][] {
    return this.received.flatMap((message) => (message.type === type ? [message.data as Of<Type>['data']] : []));
  }

  /** Resolves when `isThere` has come true, looked at whenever something arrives. */
  async until(isThere: () => boolean, what: string): Promise<void> {
    const deadline = AbortSignal.timeout(15_000);
    while (!isThere()) {
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
        deadline.addEventListener('abort', () =>
          reject(new Error(`${what} did not come; there was ${JSON.stringify(this.received)}`)),
        );
      });
    }
  }

  async close(): Promise<void> {
    for (const client of this.#server.clients) client.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #onConnection(socket: WebSocket, connection: number): void {
    let started = false;
    this.#behaviour.onConnect?.(socket, connection);
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      const message = isBinary ? null : messageSchema.safeParse(JSON.parse(data.toString('utf8')));
      if (message === null || !message.success) {
        this.violations.push(`no message of the protocol: ${data.toString('utf8').slice(0, 500)}`);
        return;
      }
      const { type, data: body } = message.data;
      if (type === 'start_call' ? started : !started) this.violations.push(`${type} at the wrong time`);
      if (type === 'start_call' || type === 'stream_request') {
        if (this.#streams.has(body.stream_id)) this.violations.push(`stream ${body.stream_id} twice`);
        this.#streams.add(body.stream_id);
      } else if ('stream_id' in body && !this.#streams.has(body.stream_id)) {
        this.violations.push(`${type} of an unknown stream`);
      }
      started = true;
      this.received.push(message.data);
      if (type === 'start_call') this.#behaviour.onStart?.(sayer(socket, body.stream_id), body, connection);
      if (type === 'stream_request') this.#behaviour.onRequest?.(sayer(socket, body.stream_id), body, connection);
      for (const wake of this.#waiting) wake();
    });
  }
}

function sayer(socket: WebSocket, streamId: string): Say {
  const send = (type: string, data: unknown): void => socket.send(JSON.stringify({ type, data }));
  return {
    response: (content, more = {}) => {
      const data = { stream_id: streamId, content, flush: false, pause: 0, end_of_stream: false, ...more };
      send('stream_response', data);
    },
    endCall: (type = 'end_call') => send(type, { stream_id: streamId }),
    transfer: (destination) => send('transfer_call', { stream_id: streamId, destination }),
    raw: (text) => socket.send(text),
    drop: () => socket.terminate(),
  };
}
