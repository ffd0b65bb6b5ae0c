import { createServer, type Server } from 'node:http';
import type { AgentConfig } from '../config/agent.js';

/** Where the demo agent (`examples/restaurant`) sends its bookings. */
export const DEMO_DESK_URL = 'http://127.0.0.1:8089/bookings';

/** A booking as the demo agent sent it. */
export type Booking = Readonly<Record<string, unknown>>;

export interface DemoDesk {
  readonly bookings: readonly Booking[];
  close(): Promise<void>;
}

/** Whether an agent writes into the demo's book, so that its address is to be allowed and answered. */
export function usesDemoDesk(agent: AgentConfig): boolean {
  return (agent.tools ?? []).some((tool) => tool.webhook === DEMO_DESK_URL);
}

/**
 * The restaurant's book: takes bookings on loopback and answers with a reference. Where something else listens at the
 * address already (a test's double, another parley), that one is left to answer, and null is returned.
 */
export async function openDemoDesk(onBooking?: (booking: Booking) => void): Promise<DemoDesk | null> {
  const { port, hostname, pathname } = new URL(DEMO_DESK_URL);
  const bookings: Booking[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    });
    request.on('end', () => {
      const booking = request.url === pathname && request.method === 'POST' ? parse(chunks) : null;
      if (booking === null) {
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"no booking"}');
        return;
      }
      bookings.push(booking);
      onBooking?.(booking);
      const reference = `R${String(100 + bookings.length)}`;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ reference }));
    });
  });
  server.unref();
  const listening = await listen(server, Number(port), hostname);
  return listening ? { bookings, close: () => closeServer(server) } : null;
}

const MAX_BODY_BYTES = 65_536;

function parse(chunks: readonly Buffer[]): Booking | null {
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Booking) : null;
  } catch {
    return null;
  }
}

function listen(server: Server, port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, host, () => {
      resolve(true);
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
