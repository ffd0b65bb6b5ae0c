import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network to a server that can fall silent: it closes no connection and carries no more bytes. */
export class Network {
  readonly #sockets = new Set<Socket>();
  readonly #server;
  #isCut = false;
  /** The server's address through this network. */
  url = '';

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      const far = connect(Number(target.port), target.hostname);
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => this.#sockets.delete(socket));
      }
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
      if (this.#isCut) return;
      near.pipe(far);
      far.pipe(near);
    });
  }

  static async open(target: string): Promise<Network> {
    const url = new URL(target);
    const network = new Network(url);
    await new Promise<void>((resolve) => network.#server.listen(0, '127.0.0.1', resolve));
    const own = new URL(target);
    own.port = String((network.#server.address() as AddressInfo).port);
    network.url = own.href;
    return network;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Carries new connections again. Those that were cut are gone. */
  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
