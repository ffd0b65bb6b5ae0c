import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../src/package-files.js';

/** `parley serve` as its own process, by default with the demo agent, on a free port, with a data folder of its own. */
export class ServedDaemon {
  readonly address: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #log: string[];

  private constructor(address: string, child: ChildProcess, folder: string, log: string[]) {
    this.address = address;
    this.#process = child;
    this.#folder = folder;
    this.#log = log;
  }

  /**
   * @param agentFile an agent to serve in place of the demo
   * @param env further settings
   */
  static async start(
    port = '0',
    agentFile?: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<ServedDaemon> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-served-'));
    // Nothing of the machine's own settings and keys: what is tested is what a newcomer gets.
    const args = ['serve', '--port', port, ...(agentFile === undefined ? [] : ['--agent', agentFile])];
    const child = spawn(process.execPath, [fileURLToPath(packageFile('bin/parley.js')), ...args], {
      env: { PATH: process.env['PATH'], PARLEY_DATA_DIR: folder, PARLEY_PUBLIC_KEY: 'pk_served', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log: string[] = [];
    child.stderr.on('data', (data: Buffer) => log.push(data.toString()));
    const address = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (data: Buffer) => {
        log.push(data.toString());
        const found = /Talk to it: (http:\/\/[\d.:]+)/.exec(log.join(''));
        if (found?.[1] !== undefined) resolve(found[1]);
      });
      child.once('exit', (code) => {
        reject(new Error(`parley serve ended with ${String(code)}:\n${log.join('')}`));
      });
    });
    return new ServedDaemon(address, child, folder, log);
  }

  /** Everything that it printed. */
  get log(): string {
    return this.#log.join('');
  }

  /** The private key that it made at its first start. */
  get privateKey(): string {
    return /sk_\S+/.exec(this.log)?.[0] ?? '';
  }

  /** How many UDP sockets it has open (Linux). */
  get udpSockets(): number {
    const folder = `/proc/${String(this.#process.pid)}`;
    const udp = ['udp', 'udp6'].flatMap((name) => readFileSync(`${folder}/net/${name}`, 'utf8').split('\n').slice(1));
    const inodes = new Set(udp.map((line) => `socket:[${line.trim().split(/\s+/)[9] ?? ''}]`));
    return readdirSync(`${folder}/fd`).filter((fd) => inodes.has(linkOf(`${folder}/fd/${fd}`))).length;
  }

  /** Ends it without a chance to say goodbye. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await once(this.#process, 'exit');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Stops it as Ctrl-C does. Returns its exit code. May be called twice. */
  async stop(): Promise<number | null> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGTERM');
      await once(this.#process, 'exit');
    }
    rmSync(this.#folder, { recursive: true, force: true });
    return this.#process.exitCode;
  }
}

/** Where a link leads; '' where it has gone meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
