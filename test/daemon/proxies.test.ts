/** A daemon behind real reverse proxies, with the configurations of docs/operation.md. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { packageFile } from '../../src/package-files.js';
import { Client, House } from './house.js';
import { freePort } from '../../scripts/daemon-process.mjs';

const START_MS = 20_000;
let folder = '';
let house: House | null = null;
let proxy: ChildProcess | null = null;

afterEach(async () => {
  await house?.close();
  if (proxy !== null) {
    proxy.kill('SIGKILL');
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
  }
  house = proxy = null;
  rmSync(folder, { recursive: true, force: true });
});

/** The block of the page's example, for this daemon. */
function documented(language: 'nginx' | 'caddy', address: string): string {
  const page = readFileSync(packageFile('docs/operation.md'), 'utf8');
  const block = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? '';
  expect(block).toContain('127.0.0.1:8080');
  return block.replaceAll('127.0.0.1:8080', new URL(address).host);
}

const PROXIES = {
  nginx: (port: number, address: string) => {
    const path = join(folder, 'nginx.conf');
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`);
    writeFileSync(
      path,
      `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr; events {}
      http { access_log off; ${paths.join(' ')}
        server { listen 127.0.0.1:${String(port)}; ${documented('nginx', address)} } }`,
    );
    return ['nginx', '-p', folder, '-c', path];
  },
  caddy: (port: number, address: string) => {
    const path = join(folder, 'Caddyfile');
    const site = documented('caddy', address).replace('calls.example.com', `http://:${String(port)}`);
    writeFileSync(path, `{\n  admin off\n  auto_https off\n}\n${site}`);
    return ['caddy', 'run', '--config', path, '--adapter', 'caddyfile'];
  },
};

async function open(name: keyof typeof PROXIES, requestsPerMinute = 600): Promise<number> {
  folder = mkdtempSync(join(tmpdir(), 'parley-proxy-'));
  const port = await freePort();
  house = await House.open({
    trustedProxies: ['127.0.0.1'],
    limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute },
  });
  const [command = '', ...args] = PROXIES[name](port, house.address);
  const env = { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  proxy = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  let said = '';
  proxy.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  const clock = new RealClock();
  while (!(await listens(port))) {
    if (clock.nowMs() > START_MS || proxy.exitCode !== null) throw new Error(`${name} does not listen: ${said}`);
    await delay(clock, 20);
  }
  return port;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** The status of a request from an address of this machine. */
async function ask(port: number, path: string, from: string, headers: Record<string, string> = {}): Promise<number> {
  const options = { host: '127.0.0.1', port, path, localAddress: from, headers, agent: false };
  const request = get(options);
  const [response] = (await once(request, 'response')) as [{ statusCode: number; resume: () => void }];
  response.resume();
  return response.statusCode;
}

describe.each(['nginx', 'caddy'] as const)('behind %s', (name) => {
  it('a page of the public name talks, a page of another does not', { timeout: 60_000 }, async () => {
    const port = await open(name);
    const host = `calls.test:${String(port)}`;
    const talk = (origin: string): Client =>
      new Client(new WebSocket(`ws://127.0.0.1:${String(port)}/talk`, { headers: { host, origin } }));
    const client = talk(`http://${host}`);
    expect(await client.refused).toBeNull();
    await client.initiate();
    await client.inbox.find(({ method }) => method === 'onready');
    client.socket.terminate();
    expect(await talk('http://evil.test').refused).toBe(403);
    expect(await ask(port, '/metrics', '127.0.0.1')).toBe(401);
  });

  it('each visitor has a limit of their own, and cannot make addresses up', { timeout: 60_000 }, async () => {
    const port = await open(name, 3);
    const page = (from: string, headers = {}): Promise<number> => ask(port, '/page.json', from, headers);
    for (let time = 0; time < 3; time++) expect(await page('127.0.0.2')).toBe(200);
    expect(await page('127.0.0.2')).toBe(429);
    const madeUp = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.10', 'x-real-ip': '203.0.113.11' };
    expect(await page('127.0.0.2', madeUp)).toBe(429);
    expect(await page('127.0.0.3')).toBe(200);
  });
});
