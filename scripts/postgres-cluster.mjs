/** A PostgreSQL server of one's own on loopback, for tests and benchmarks. */
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './daemon-process.mjs';

/** Until another process has started the server. */
const START_TIMEOUT_MS = 60_000;

/** In a folder that several processes use: the server's own folder, and files with its URL once it runs or its fault. */
const SERVER = 'server';
const URL_FILE = 'url';
const FAULT_FILE = 'fault';

/** Where Debian and others install the server's programs, the newest version first. */
function serverPrograms() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(root, version, 'bin')), '/usr/local/bin', '/usr/bin'];
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

/** A PostgreSQL server in a temporary folder. */
export class PostgresCluster {
  /** The folder of the server's programs; null = PostgreSQL is not installed. */
  static programs = serverPrograms();
  /** Of a database that every server has; its user may create others. */
  url;
  #folder;

  /**
   * @param {string} folder
   * @param {string} url
   */
  constructor(folder, url) {
    this.#folder = folder;
    this.url = url;
  }

  /**
   * Creates and starts a server in an empty folder.
   * @param {string} folder
   */
  static async start(folder) {
    // PostgreSQL refuses to run as root.
    if (process.getuid?.() === 0) chownSync(folder, ...unprivileged());
    const port = await freePort();
    const data = join(folder, 'data');
    run('initdb', ['-D', data, '-U', 'parley', '--auth=trust', '--no-sync', '--locale=C.UTF-8', '--encoding=UTF8']);
    const cluster = new PostgresCluster(folder, `postgres://parley@127.0.0.1:${String(port)}/postgres`);
    cluster.restart();
    return cluster;
  }

  /**
   * The server in a folder that several processes use. The first that asks starts it.
   * @param {string} folder
   */
  static async shared(folder) {
    const own = join(folder, SERVER);
    const failed = join(folder, FAULT_FILE);
    if (isFirst(own)) {
      try {
        writeWhole(join(folder, URL_FILE), (await PostgresCluster.start(own)).url);
      } catch (error) {
        writeWhole(failed, String(error));
      }
    }
    const untilMs = performance.now() + START_TIMEOUT_MS;
    while (PostgresCluster.sharedIn(folder) === null && !existsSync(failed) && performance.now() < untilMs) {
      await wait(20);
    }
    const cluster = PostgresCluster.sharedIn(folder);
    if (cluster !== null) return cluster;
    const fault = existsSync(failed) ? readFileSync(failed, 'utf8') : 'it takes too long';
    throw new Error(`PostgreSQL did not start: ${fault}`);
  }

  /**
   * The server that a process has started with `shared`; null = there is none.
   * @param {string} folder
   */
  static sharedIn(folder) {
    const url = join(folder, URL_FILE);
    return existsSync(url) ? new PostgresCluster(join(folder, SERVER), readFileSync(url, 'utf8')) : null;
  }

  /** Starts it after `crash()`. */
  restart() {
    // Nothing has to survive a power failure here.
    const address = `-p ${new URL(this.url).port} -h 127.0.0.1 -k ${this.#folder}`;
    const settings = `${address} -c fsync=off -c full_page_writes=off -c max_connections=200`;
    run('pg_ctl', [...this.#control, '-l', join(this.#folder, 'log'), '-t', '30', '-o', settings, 'start']);
  }

  /** Ends it as a crash does: its connections break, transactions under way are lost. */
  crash() {
    run('pg_ctl', [...this.#control, '-m', 'immediate', 'stop']);
  }

  get #control() {
    return ['-D', join(this.#folder, 'data'), '-w'];
  }
}

/** @param {string} folder */
function isFirst(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/**
 * Others see the whole file or none.
 * @param {string} path
 * @param {string} text
 */
function writeWhole(path, text) {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const path = join(PostgresCluster.programs ?? '', program);
  const [uid, gid] = process.getuid?.() === 0 ? unprivileged() : [process.getuid?.(), process.getgid?.()];
  execFileSync(path, args, { stdio: 'ignore', timeout: 60_000, cwd: '/', uid, gid });
}

/** @returns {[uid: number, gid: number]} */
function unprivileged() {
  const id = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return [id('-u'), id('-g')];
}
