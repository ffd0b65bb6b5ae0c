import { createSocket } from 'node:dgram';

/**
 * Whether a UDP port of the range can be had; it is tried out on all addresses. werift would keep a socket of each
 * address that it finds no port for.
 * @param range both included
 */
export async function hasFreePort([from, to]: readonly [number, number]): Promise<boolean> {
  for (let port = from; port <= to; port++) if (await canBind(port)) return true;
  return false;
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => socket.close(() => resolve(false)));
    socket.once('listening', () => socket.close(() => resolve(true)));
    socket.bind(port);
  });
}
