import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network to a server that can fall silent: it closes no connection and carries no more bytes. */
export class Network {
  readonly #sockets = new Set<Socket>();
  readonly #server;
  #isCut = false;
  #lastWords: string | null = null;
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
      near.on('data', (bytes: Buffer) => {
        if (this.#lastWords === null || !bytes.includes(this.#lastWords)) return;
        this.#lastWords = null;
        near.unpipe(far);
        far.unpipe(near);
        far.end(bytes);
        near.destroy();
      });
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

  /** The next bytes with this text arrive; then their connection breaks, and no answer comes. */
  breakAfter(text: string): void {
    this.#lastWords = text;
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
