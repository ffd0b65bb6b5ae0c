/**
 * Sits between a daemon and PostgreSQL and drops a share of the notifications, so that only the poll finds the changes.
 * Reads messages as the frontend/backend protocol defines them: a type, a length, a body.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** NotificationResponse */
const NOTIFICATION = 0x41;
const HEADER_BYTES = 5;

/**
 * @param {string} url of the server
 * @param {() => boolean} drops whether the next notification is dropped
 * @returns {Promise<{ url: string, dropped: () => number, cut: () => void, close: () => Promise<void> }>} `cut` breaks all
 *   connections
 */
export async function openPostgresProxy(url, drops) {
  const target = new URL(url);
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  let dropped = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of /** @type {const} */ ([
      [client, upstream],
      [upstream, client],
    ])) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    /** Of a message that has not come whole. */
    let rest = Buffer.alloc(0);
    upstream.on('data', (data) => {
      const bytes = rest.length === 0 ? data : Buffer.concat([rest, data]);
      const kept = [];
      let at = 0;
      while (bytes.length - at >= HEADER_BYTES) {
        const end = at + 1 + bytes.readUInt32BE(at + 1);
        if (end > bytes.length) break;
        if (bytes[at] === NOTIFICATION && drops()) dropped++;
        else kept.push(bytes.subarray(at, end));
        at = end;
      }
      rest = bytes.subarray(at);
      client.write(Buffer.concat(kept));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  const own = new URL(url);
  own.port = String(address.port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: own.href,
    dropped: () => dropped,
    cut,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
