import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';

/** Until another worker of the test run has started the server. */
const START_TIMEOUT_MS = 60_000;

/** In a folder that several processes use: the server's own folder, and a file with its URL once it runs. */
const SERVER = 'server';
const URL_FILE = 'url';

/** Where Debian and others install the server's programs, the newest version first. */
function serverPrograms(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(root, version, 'bin')), '/usr/local/bin', '/usr/bin'];
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

/** A PostgreSQL server of its own in a temporary folder, on loopback. */
export class PostgresCluster {
  static readonly programs = serverPrograms();
  /** Of a database that every cluster has; its user may create others. */
  readonly url: string;
  readonly #folder: string;

  private constructor(folder: string, url: string) {
    this.#folder = folder;
    this.url = url;
  }

  /** Creates and starts a server in an empty folder. */
  static async start(folder: string): Promise<PostgresCluster> {
    // PostgreSQL refuses to run as root.
    if (process.getuid?.() === 0) chownSync(folder, ...unprivileged());
    const port = await freePort();
    const data = join(folder, 'data');
    run('initdb', ['-D', data, '-U', 'parley', '--auth=trust', '--no-sync', '--locale=C.UTF-8', '--encoding=UTF8']);
    const cluster = new PostgresCluster(folder, `postgres://parley@127.0.0.1:${String(port)}/postgres`);
    cluster.restart();
    return cluster;
  }

  /** The server in a folder that several processes use. The first that asks starts it. */
  static async shared(folder: string): Promise<PostgresCluster> {
    const own = join(folder, SERVER);
    const failed = join(folder, 'fault');
    if (isFirst(own)) {
      try {
        writeWhole(join(folder, URL_FILE), (await PostgresCluster.start(own)).url);
      } catch (error) {
        writeWhole(failed, String(error));
      }
    }
    const isStarted = (): boolean => PostgresCluster.sharedIn(folder) !== null;
    await vi.waitUntil(() => isStarted() || existsSync(failed), { timeout: START_TIMEOUT_MS, interval: 20 });
    const cluster = PostgresCluster.sharedIn(folder);
    if (cluster === null) throw new Error(`PostgreSQL did not start: ${readFileSync(failed, 'utf8')}`);
    return cluster;
  }

  /** The server that a process has started with `shared`; null = there is none. */
  static sharedIn(folder: string): PostgresCluster | null {
    const url = join(folder, URL_FILE);
    return existsSync(url) ? new PostgresCluster(join(folder, SERVER), readFileSync(url, 'utf8')) : null;
  }

  /** Starts it after `crash()`. */
  restart(): void {
    // Nothing has to survive a power failure here.
    const address = `-p ${new URL(this.url).port} -h 127.0.0.1 -k ${this.#folder}`;
    const settings = `${address} -c fsync=off -c full_page_writes=off -c max_connections=200`;
    run('pg_ctl', [...this.#control, '-l', join(this.#folder, 'log'), '-t', '30', '-o', settings, 'start']);
  }

  /** Ends it as a crash does: its connections break, transactions under way are lost. */
  crash(): void {
    run('pg_ctl', [...this.#control, '-m', 'immediate', 'stop']);
  }

  get #control(): string[] {
    return ['-D', join(this.#folder, 'data'), '-w'];
  }
}

function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** Others see the whole file or none. */
function writeWhole(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

function run(program: string, args: readonly string[]): void {
  const path = join(PostgresCluster.programs ?? '', program);
  const options = { stdio: 'ignore', timeout: 60_000, cwd: '/' } as const;
  const [uid, gid] = process.getuid?.() === 0 ? unprivileged() : [process.getuid?.(), process.getgid?.()];
  execFileSync(path, args, { ...options, uid, gid });
}

function unprivileged(): [number, number] {
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return [id('-u'), id('-g')];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await promisify(server.close.bind(server))();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
