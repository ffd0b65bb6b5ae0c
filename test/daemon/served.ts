import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { freePort } from '../../scripts/daemon-process.mjs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import { packageFile } from '../../src/package-files.js';
import { Client, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

const BIN = fileURLToPath(packageFile('bin/parley.js'));
/** Nothing about a daemon's start takes this long, on a busy machine either. */
const START_MS = 30_000;

/** `parley serve` in a process of its own: the build, with a data folder of its own and the demo agent. */
export class Served {
  readonly dataDir: string;
  readonly address: string;
  readonly process: ChildProcess;
  /** The exit code, or the name of the signal that ended it. */
  readonly exit: Promise<number | string>;
  out = '';
  err = '';
  readonly #ownsFolder: boolean;
  readonly #clients: WebSocket[] = [];

  private constructor(port: number, env: Readonly<Record<string, string>>, dataDir: string | undefined) {
    this.#ownsFolder = dataDir === undefined;
    this.dataDir = dataDir ?? mkdtempSync(join(tmpdir(), 'parley-served-'));
    this.address = `http${env['PARLEY_TLS_CERT_PATH'] === undefined ? '' : 's'}://127.0.0.1:${String(port)}`;
    this.process = spawn(process.execPath, [BIN, 'serve', '--port', String(port)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        OLLAMA_HOST: 'http://127.0.0.1:9',
        PARLEY_POCKETSPHINX: 'false',
        PARLEY_DATA_DIR: this.dataDir,
        PARLEY_API_KEY: PRIVATE_KEY,
        PARLEY_PUBLIC_KEY: PUBLIC_KEY,
        ...env,
      },
    });
    this.process.stdout?.on('data', (data: Buffer) => (this.out += data.toString()));
    this.process.stderr?.on('data', (data: Buffer) => (this.err += data.toString()));
    this.exit = once(this.process, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  }

  /** @param dataDir default: a new one, removed by `close` */
  static async start(env: Readonly<Record<string, string>> = {}, dataDir?: string): Promise<Served> {
    return new Served(await freePort(), env, dataDir);
  }

  /** Resolves once a path answers with 200. */
  async until(path: '/healthz' | '/readyz'): Promise<void> {
    const clock = new RealClock();
    let gone = false;
    void this.exit.then(() => (gone = true));
    const isGone = (): boolean => gone || clock.nowMs() > START_MS;
    while (!isGone()) {
      const response = await fetch(this.address + path).catch(() => null);
      await response?.arrayBuffer();
      if (response?.ok === true) return;
      await delay(clock, 10);
    }
    throw new Error(`${path} did not answer: ${this.out}${this.err}`);
  }

  connect(): Client {
    const socket = new WebSocket(`${this.address.replace('http', 'ws')}/talk`, { rejectUnauthorized: false });
    this.#clients.push(socket);
    return new Client(socket);
  }

  /** A client whose session has begun. */
  async talk(): Promise<Client> {
    const client = this.connect();
    await client.initiate({ agent: { agent_id: 'the-crooked-fork' } });
    await client.inbox.find(({ method }) => method === 'onready');
    return client;
  }

  /** Ends the process at once. May be called twice. */
  async close(): Promise<void> {
    for (const client of this.#clients) client.terminate();
    this.process.kill('SIGKILL');
    await this.exit;
    if (this.#ownsFolder) rmSync(this.dataDir, { recursive: true, force: true });
  }
}
