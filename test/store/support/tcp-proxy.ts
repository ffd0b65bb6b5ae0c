import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';

/** Of all connections of a proxy. */
interface State {
  isSilent: boolean;
  isRefusing: boolean;
}

/** A proxy before a server, whose connections can break or fall silent. */
export class TcpProxy {
  /** The server's URL, through the proxy. */
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #state: State;

  private constructor(url: string, server: Server, sockets: Set<Socket>, state: State) {
    this.url = url;
    this.#server = server;
    this.#sockets = sockets;
    this.#state = state;
  }

  static async before(url: string): Promise<TcpProxy> {
    const target = new URL(url);
    const sockets = new Set<Socket>();
    const state: State = { isSilent: false, isRefusing: false };
    const server = createServer((client) => {
      if (state.isRefusing) {
        client.destroy();
        return;
      }
      const far = connect(Number(target.port), target.hostname);
      for (const socket of [client, far]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
      }
      client.on('data', (bytes) => far.write(bytes)).on('close', () => far.destroy());
      far.on('data', (bytes) => void (state.isSilent || client.write(bytes))).on('close', () => client.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const own = new URL(url);
    own.port = String(port);
    return new TcpProxy(own.href, server, sockets, state);
  }

  /** What the server says from now on is lost. */
  silence(): void {
    this.#state.isSilent = true;
  }

  /** Breaks all connections and refuses new ones. */
  cut(): void {
    this.#state.isRefusing = true;
    this.#breakAll();
  }

  /** Accepts connections again. */
  repair(): void {
    this.#state.isRefusing = false;
    this.#state.isSilent = false;
  }

  async close(): Promise<void> {
    this.#breakAll();
    await promisify(this.#server.close.bind(this.#server))();
  }

  #breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}
