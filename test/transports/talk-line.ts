import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { TalkSocketTransport, type TalkSocketOptions } from '../../src/transports/talk-socket.js';
import type { TransportSink } from '../../src/transports/transport.js';
import { Inbox } from './inbox.js';

/** What a sink got, in order. */
export interface Reported {
  samples: number[];
  digits: string[];
  texts: string[];
  forms: { id: string; value: unknown }[];
  closed: (Error | undefined)[];
}

/** A talk transport with a real client at the other end of a real socket; only the clock is virtual. */
export class TalkLine {
  readonly clock: VirtualClock;
  readonly reported: Reported = { samples: [], digits: [], texts: [], forms: [], closed: [] };
  readonly inbox: Inbox;
  /** Resolves when the sink learns that the line is gone. */
  readonly closed: Promise<Error | undefined>;
  #settles = 0;
  #tellClosed!: (error: Error | undefined) => void;

  private constructor(
    readonly server: WebSocketServer,
    readonly client: WebSocket,
    readonly transport: TalkSocketTransport,
    clock: VirtualClock,
  ) {
    this.clock = clock;
    this.inbox = new Inbox(client);
    this.closed = new Promise((resolve) => (this.#tellClosed = resolve));
  }

  static async open(options: Omit<TalkSocketOptions, 'clock'> = {}): Promise<TalkLine> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
    await once(server, 'listening');
    const connected = once(server, 'connection') as Promise<[WebSocket]>;
    const client = new WebSocket(`ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
    client.on('error', () => undefined);
    const [socket] = await connected;
    const clock = new VirtualClock();
    const transport = new TalkSocketTransport(socket, { clock, ...options });
    if (client.readyState !== client.OPEN) await once(client, 'open');
    return new TalkLine(server, client, transport, clock);
  }

  start(): void {
    const { reported } = this;
    const sink: TransportSink = {
      audio: (samples) => reported.samples.push(...samples),
      digits: (digits) => reported.digits.push(digits),
      text: (text) => reported.texts.push(text),
      formResult: (id, value) => reported.forms.push({ id, value }),
      closed: (error) => {
        reported.closed.push(error);
        this.#tellClosed(error);
      },
    };
    this.transport.start(sink);
  }

  /** Resolves when all that the client has sent until now was taken: the server answers messages in order. */
  async settled(): Promise<void> {
    const data = `settled ${String(this.#settles++)}`;
    this.client.send(JSON.stringify({ method: 'ping', data }));
    await this.inbox.find((message) => message['method'] === 'pong' && message['data'] === data);
  }

  async end(): Promise<void> {
    this.client.terminate();
    await this.transport.close();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
