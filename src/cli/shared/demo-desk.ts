import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AgentConfig } from '../../agent/agent.js';

/**
 * The address to which the demo agent (`examples/restaurant`) sends bookings. Each parley process replaces it with a desk
 * of its own on a free port, so that several processes can run side by side.
 */
export const DEMO_DESK_URL = 'http://127.0.0.1:8089/bookings';
const PATH = '/bookings';

/** A booking as the demo agent sent it. */
type Booking = Readonly<Record<string, unknown>>;

export interface DemoDesk {
  /** The exact address to allow in the engine. */
  readonly url: string;
  close(): Promise<void>;
}

/** Whether an agent sends bookings to the demo's address. */
export function usesDemoDesk(agent: AgentConfig): boolean {
  return (agent.tools ?? []).some((tool) => tool.webhook === DEMO_DESK_URL);
}

/** The agent, with this desk's address. */
export function atDesk(agent: AgentConfig, desk: DemoDesk | null): AgentConfig {
  if (desk === null || agent.tools == null) return agent;
  const tools = agent.tools.map((tool) => (tool.webhook === DEMO_DESK_URL ? { ...tool, webhook: desk.url } : tool));
  return { ...agent, tools };
}

/** Serves the demo's booking webhook on loopback; it answers each booking with a reference. */
export async function openDemoDesk(onBooking?: (booking: Booking) => void): Promise<DemoDesk> {
  let taken = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    });
    request.on('end', () => {
      const booking = request.url === PATH && request.method === 'POST' ? parse(chunks) : null;
      if (booking === null) {
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"no booking"}');
        return;
      }
      taken++;
      onBooking?.(booking);
      const reference = `R${String(100 + taken)}`;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ reference }));
    });
  });
  server.unref();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}${PATH}`, close: () => closeServer(server) };
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

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
