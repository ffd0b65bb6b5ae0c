/** What scripts that run daemons of their own share. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * A free port of the loopback interface.
 * @param {'tcp' | 'udp'} protocol
 * @returns {Promise<number>}
 */
export async function freePort(protocol = 'tcp') {
  const socket = protocol === 'udp' ? createSocket('udp4').bind(0, '127.0.0.1') : createServer().listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (socket.address());
  socket.close();
  await once(socket, 'close');
  return port;
}

/**
 * Waits until a daemon answers a path with success. Throws when it has exited, or after `timeoutMs`.
 * @param {string} url
 * @param {import('node:child_process').ChildProcess} daemon
 * @param {number} timeoutMs
 */
export async function waitForAnswer(url, daemon, timeoutMs) {
  const untilMs = performance.now() + timeoutMs;
  while (performance.now() < untilMs && daemon.exitCode === null && daemon.signalCode === null) {
    const response = await fetch(url).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === true) return;
    await wait(20);
  }
  throw new Error(`${url} did not answer`);
}

/**
 * Numbers in [0, 1) that follow from the seed (Mulberry32).
 * @param {number} seed
 */
export function mulberry(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
