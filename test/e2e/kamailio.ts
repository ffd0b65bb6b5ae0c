import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/daemon-process.mjs';
import { packageFile } from '../../src/package-files.js';

export const KAMAILIO_CFG = fileURLToPath(packageFile('deploy/kamailio/kamailio.cfg'));

/** The real Kamailio on loopback, with deploy/kamailio/kamailio.cfg as it is. */
export class Kamailio {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #folder: string;
  #errors = '';

  private constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
    const defined = { DISPATCHER_LIST: join(folder, 'dispatcher.list'), CONTROL_SOCKET: this.#control };
    const args = ['-DD', '-E', '-m', '64', '-M', '8', '-f', KAMAILIO_CFG, '-l', `udp:127.0.0.1:${String(port)}`];
    for (const [name, value] of Object.entries(defined)) args.push('-A', `${name}="${value}"`);
    this.#process = spawn('kamailio', [...args, '-A', 'PING_S=1'], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process.stderr?.on('data', (text: Buffer) => (this.#errors += text.toString()));
  }

  /** @param port as `freePort('udp')` gave it @param nodes by their ports @param carriers the preferred one first */
  static start(port: number, nodes: readonly number[], carriers: readonly number[]): Kamailio {
    const folder = mkdtempSync(join(tmpdir(), 'parley-kamailio-'));
    const node = (at: number): string => `1 sip:127.0.0.1:${String(at)}\n`;
    const carrier = (at: number, rank: number): string => `2 sip:127.0.0.1:${String(at)} 0 ${String(9 - rank)}\n`;
    writeFileSync(join(folder, 'dispatcher.list'), [...nodes.map(node), ...carriers.map(carrier)].join(''));
    return new Kamailio(port, folder);
  }

  /** What it complained about. */
  get errors(): string {
    return this.#errors;
  }

  /** How it has a destination, such as `AP`: active (inactive: `IP`), and asked with OPTIONS. */
  stateOf(port: number): string {
    try {
      const list = execFileSync('kamcmd', ['-s', this.#control, 'dispatcher.list'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const flags = [...list.matchAll(/URI: sip:[^:]+:(\d+)\s+FLAGS: (\w+)/g)];
      return flags.find(([, its]) => Number(its) === port)?.[2] ?? '';
    } catch {
      return ''; // it does not listen yet
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #control(): string {
    return `unix:${join(this.#folder, 'control')}`;
  }
}

export interface SippCall {
  /** Its exit code. */
  done: Promise<number | null>;
  port: number;
  callId: string;
  /** What it sent and got. */
  output: () => string;
}

/** sipp with a scenario of scripts/sip/scenarios: one call. */
export function sippCall(scenario: string, port: number, place: string, args: readonly string[] = []): SippCall {
  const callId = randomUUID();
  const file = fileURLToPath(packageFile(`scripts/sip/scenarios/${scenario}.xml`));
  const own = ['-sf', file, '-i', '127.0.0.1', '-mi', '127.0.0.1', '-p', String(port), '-m', '1', '-nostdin'];
  const limits = ['-timeout', '60', '-timeout_error', '-cid_str', callId];
  const child = spawn('sipp', [...own, ...limits, ...args, place], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: tmpdir(),
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr.on('data', (text: Buffer) => (output += text.toString()));
  const done = once(child, 'close').then(([code]) => code as number | null);
  return { done, port, callId, output: () => output };
}

export async function freeUdpPorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort('udp'));
  return [...ports];
}
