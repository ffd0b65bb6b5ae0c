import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';

/** A server on a free port of the loopback. */
export interface LocalServer {
  origin: string;
  port: number;
  close(): Promise<void>;
}

/** A real HTTP server that answers with `handler`, which is given the whole body. */
export async function httpServer(
  handler: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<LocalServer> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      handler(request, response, body);
    });
  });
  return listen(server, () => {
    server.closeAllConnections();
  });
}

/** A real TCP server, for replies that no HTTP server would send. */
export async function tcpServer(handler: (socket: Socket) => void): Promise<LocalServer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    handler(socket);
  });
  return listen(server, () => {
    for (const socket of sockets) socket.destroy();
  });
}

async function listen(server: Server | TcpServer, drop: () => void): Promise<LocalServer> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${String(port)}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        drop();
      }),
  };
}

/** A promise with its resolver outside: resolves when something that a test waits for has happened. */
export function event<T = void>(): { happened: Promise<T>; fire: (value: T) => void } {
  let fire: (value: T) => void = () => undefined;
  const happened = new Promise<T>((resolve) => {
    fire = resolve;
  });
  return { happened, fire };
}
