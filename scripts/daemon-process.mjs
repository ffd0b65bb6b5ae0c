/** What scripts that run daemons of their own share. */
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

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

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const START_MS = 60_000;
const CLOSE_MS = 20_000;
export const PRIVATE_KEY = 'sk_test_0123456789';
export const PUBLIC_KEY = 'pk_test_0123456789';

/**
 * A daemon process with a data folder of its own, ready. `figures` asks the probe in it (security/probe.mjs); `close`
 * ends it, kills it after 20 s, and removes its folder.
 * @param {Record<string, unknown>} [settings] as in a configuration file
 * @param {'error' | 'warn'} [logLevel]
 */
export async function startDaemon(settings = {}, logLevel = 'error') {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-drive-'));
  const config = join(dataDir, 'settings.json');
  writeFileSync(config, JSON.stringify(settings));
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const program = ['bin/parley.js', 'serve', '--port', String(port), '--config', config];
  const child = spawn(process.execPath, ['--expose-gc', '--import', './scripts/security/probe.mjs', ...program], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'],
      OLLAMA_HOST: 'http://127.0.0.1:9',
      PARLEY_POCKETSPHINX: 'false',
      PARLEY_DATA_DIR: dataDir,
      PARLEY_API_KEY: PRIVATE_KEY,
      PARLEY_PUBLIC_KEY: PUBLIC_KEY,
      PARLEY_LOG_LEVEL: logLevel,
    },
  });
  const gone = once(child, 'close');
  const close = async () => {
    child.kill('SIGTERM');
    await Promise.race([gone, wait(CLOSE_MS)]);
    child.kill('SIGKILL');
    await gone;
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await waitForAnswer(`${address}/readyz`, child, START_MS);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    address,
    pid: child.pid ?? 0,
    close,
    /** False once it has ended, for whatever reason. */
    isAlive: () => child.exitCode === null && child.signalCode === null,
    /** @returns {Promise<import('./security/probe.mjs').Figures>} */
    async figures() {
      const answer = once(child, 'message', { signal: AbortSignal.timeout(START_MS) });
      child.send('figures');
      const [figures] = await answer;
      return figures;
    },
    /**
     * @param {string} method
     * @param {string} path
     * @param {unknown} [body]
     */
    async request(method, path, body) {
      const response = await fetch(`${address}${path}`, {
        method,
        headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(START_MS),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text);
    },
  };
}
