/** Daemons on one PostgreSQL, and a reverse proxy before them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort, PRIVATE_KEY, PUBLIC_KEY, waitForAnswer } from '../daemon-process.mjs';

const BIN = fileURLToPath(new URL('../../bin/parley.js', import.meta.url));
const START_MS = 120_000;
const REQUEST_MS = 30_000;
const DRAIN_S = 30;
/** 32 bytes that all nodes share; of no secret here. */
const KEY = Buffer.alloc(32, 7).toString('base64');

/** One daemon. It can be killed, drained and started again, each time as a new node. */
export class Node {
  name;
  #options;
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null;
  #errors = '';

  /** @param {{ name: string, folder: string, port: number, databaseUrl: string | null, settings: object }} options
   *   `databaseUrl`: null = SQLite */
  constructor(options) {
    this.name = options.name;
    this.#options = options;
  }

  get address() {
    return `http://127.0.0.1:${String(this.#options.port)}`;
  }

  /** The last lines that it has logged. */
  get errors() {
    return this.#errors;
  }

  async start() {
    const { folder, port, databaseUrl, settings } = this.#options;
    const dataDir = join(folder, this.name);
    mkdirSync(dataDir, { recursive: true });
    const config = join(dataDir, 'settings.json');
    writeFileSync(config, JSON.stringify(settings));
    const child = spawn(process.execPath, [BIN, 'serve', '--port', String(port), '--config', config], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        OLLAMA_HOST: 'http://127.0.0.1:9',
        PARLEY_DATA_DIR: dataDir,
        ...(databaseUrl !== null && { PARLEY_DATABASE_URL: databaseUrl }),
        PARLEY_SECRET_KEY: KEY,
        PARLEY_SIGNING_KEY: KEY,
        PARLEY_API_KEY: PRIVATE_KEY,
        PARLEY_PUBLIC_KEY: PUBLIC_KEY,
        PARLEY_LOG_LEVEL: 'warn',
        PARLEY_DRAIN_S: String(DRAIN_S),
      },
    });
    child.stderr.on('data', (data) => (this.#errors = `${this.#errors}${String(data)}`.slice(-8000)));
    this.#child = child;
    await waitForAnswer(`${this.address}/readyz`, child, START_MS).catch((error) => {
      throw new Error(`${this.name}: ${String(error)}: ${this.#errors}`, { cause: error });
    });
  }

  /** Ends it with SIGKILL. */
  kill() {
    return this.#end('SIGKILL');
  }

  /** Ends it with SIGTERM: its calls go on to their end. Resolves with its exit code. */
  drain() {
    return this.#end('SIGTERM');
  }

  async close() {
    await Promise.race([this.#end('SIGTERM'), wait(5000)]);
    await this.#end('SIGKILL');
  }

  /** @param {'SIGKILL' | 'SIGTERM'} signal @returns {Promise<number | null>} */
  async #end(signal) {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  }
}

/**
 * nginx before the nodes. A request whose node does not answer is answered with 502: clients ask again.
 * @param {string} folder
 * @param {readonly Node[]} nodes
 */
export async function startProxy(folder, nodes) {
  const port = await freePort();
  const path = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const servers = nodes.map(({ address }) => `server ${new URL(address).host} max_fails=1 fail_timeout=1s;`);
  writeFileSync(
    path,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit; events {}
    http { access_log off; ${temporary.join(' ')}
      upstream nodes { ${servers.join(' ')} }
      server { listen 127.0.0.1:${String(port)};
        location / { proxy_pass http://nodes; proxy_http_version 1.1; proxy_set_header Host $host;
          proxy_set_header Connection ""; proxy_connect_timeout 2s; proxy_next_upstream error timeout http_503; } } }`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', path], { stdio: ['ignore', 'ignore', 'inherit'] });
  const address = `http://127.0.0.1:${String(port)}`;
  await waitForAnswer(`${address}/readyz`, child, START_MS);
  return {
    address,
    async close() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** A refusal of the cluster. */
export class Refusal extends Error {
  status;

  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * A request with the private key.
 * @param {string} base
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string> }} [options]
 * @returns {Promise<any>}
 * @throws Refusal for any answer but success
 */
export async function request(base, method, path, { body, headers = {} } = {}) {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Refusal(response.status, `${method} ${path}: ${String(response.status)} ${text}`);
  return JSON.parse(text);
}

/**
 * Asks until the cluster grants it, as a careful client does: again after a broken connection, 429 and 5xx.
 * @param {() => Promise<any>} ask
 * @param {number} forMs
 */
export async function persist(ask, forMs = 120_000) {
  const untilMs = performance.now() + forMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isFinal = error instanceof Refusal && error.status < 500 && error.status !== 429;
      if (isFinal || performance.now() > untilMs) throw error;
      await wait(200);
    }
  }
}
