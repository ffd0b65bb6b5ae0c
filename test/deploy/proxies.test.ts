/** Two daemons behind the real proxies, with the files of deploy/cluster. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../scripts/daemon-process.mjs';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import { hasTool } from '../../scripts/system-tools.mjs';
import { packageFile } from '../../src/package-files.js';
import { Client, PRIVATE_KEY, PUBLIC_KEY } from '../daemon/house.js';
import { Served } from '../daemon/served.js';

const PATIENT = { timeout: 20_000, interval: 50 };
let folder = '';
let proxy: ChildProcess | null = null;
let nodes: Served[] = [];
const sockets: WebSocket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  if (proxy !== null) {
    proxy.kill('SIGKILL');
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
  }
  await Promise.all(nodes.map((node) => node.close()));
  [proxy, nodes] = [null, []];
  rmSync(folder, { recursive: true, force: true });
});

const shipped = (file: string): string => readFileSync(fileURLToPath(packageFile(`deploy/cluster/${file}`)), 'utf8');

/** The command of each, and the address at which it serves. */
const PROXIES = {
  async nginx([one, two]: readonly string[]): Promise<[command: string[], address: string, env: object]> {
    const [port, plain] = [await freePort(), await freePort()];
    const [key, cert] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', [...made, '-keyout', key, '-out', cert, '-subj', '/CN=localhost'], { stdio: 'ignore' });
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`);
    const text = shipped('nginx.conf')
      .replace('127.0.0.1:8081', one ?? '')
      .replace('127.0.0.1:8082', two ?? '')
      .replace('listen 80;', `listen 127.0.0.1:${String(plain)};`)
      .replace('listen 443 ssl;', `listen 127.0.0.1:${String(port)} ssl;`)
      .replaceAll('/etc/nginx/tls', folder)
      .replace('http {', `http {\n access_log off; ${paths.join(' ')}`);
    const path = join(folder, 'nginx.conf');
    writeFileSync(path, text);
    const globals = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;`;
    execFileSync('nginx', ['-t', '-q', '-p', folder, '-c', path, '-g', globals], { stdio: 'pipe' });
    return [['nginx', '-p', folder, '-c', path, '-g', globals], `https://127.0.0.1:${String(port)}`, {}];
  },
  async caddy(addresses: readonly string[]): Promise<[command: string[], address: string, env: object]> {
    const address = `http://127.0.0.1:${String(await freePort())}`;
    const env = { PUBLIC_HOST: address, NODES: addresses.join(' '), HOME: folder, XDG_DATA_HOME: folder };
    const path = join(folder, 'Caddyfile');
    writeFileSync(path, `{\n\tadmin off\n}\n${shipped('Caddyfile')}`);
    const args = ['--config', path, '--adapter', 'caddyfile'];
    execFileSync('caddy', ['validate', ...args], { stdio: 'pipe', env: { ...process.env, ...env } });
    return [['caddy', 'run', ...args], address, env];
  },
};

describe.each(['nginx', 'caddy'] as const)('two nodes behind %s', (name) => {
  it.skipIf(!hasTool(name))(
    'share its clients; one that drains keeps its own, and gets no others',
    async () => {
      folder = mkdtempSync(join(tmpdir(), 'parley-proxy-'));
      const env = { PARLEY_TRUSTED_PROXIES: '127.0.0.1', PARLEY_ALLOW_MISSING_ORIGIN: 'true' };
      nodes = await Promise.all([Served.start(env), Served.start(env)]);
      await Promise.all(nodes.map((node) => node.until('/readyz')));
      const [command, address, more] = await PROXIES[name](nodes.map((node) => new URL(node.address).host));
      const [program = '', ...args] = command;
      proxy = spawn(program, args, {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { PATH: process.env['PATH'], ...more },
      });
      let errors = '';
      proxy.stderr?.on('data', (text: Buffer) => (errors += text.toString()));
      await expect.poll(() => statusOf(`${address}/readyz`), PATIENT).toBe(200);
      expect(await statusOf(`${address}/metrics`)).toBe(404);

      let refusals = 0;
      /** As the page does: where a node refuses, it tries again. */
      const talk = async (): Promise<Client> => {
        const socket = new WebSocket(`${address.replace('http', 'ws')}/talk`, { rejectUnauthorized: false });
        const client = new Client(socket);
        if ((await client.refused) !== null) {
          refusals++;
          await delay(new RealClock(), 100);
          return talk();
        }
        sockets.push(socket);
        await client.initiate({ agent: { agent_id: 'the-crooked-fork' } });
        await client.inbox.find(({ method }) => method === 'onready');
        return client;
      };
      const clients = [await talk(), await talk()];
      expect(await Promise.all(nodes.map(sessionsOf)), errors).toEqual([1, 1]);

      const [drained, other] = nodes as [Served, Served];
      drained.process.kill('SIGTERM');
      await expect.poll(() => statusOf(`${drained.address}/readyz`), PATIENT).toBe(503);
      // nginx asks for a talk socket again at the other node; Caddy knows by its next look at /readyz.
      clients.push(await talk(), await talk());
      expect(await Promise.all(nodes.map(sessionsOf)), errors).toEqual([1, 3]);
      if (name === 'nginx') expect(refusals).toBe(0);
      // What may not be repeated is refused once at most.
      const token = (): Promise<number> => statusOf(`${address}/sessions/token`, 'POST');
      await expect.poll(token, PATIENT).toBe(200);
      for (let count = 0; count < 6; count++) expect(await token()).toBe(200);

      for (const [at, client] of clients.entries()) {
        await client.send({ method: 'text', data: 'When are you open?' });
        const heard = client.inbox.find(({ method, data }) => method === 'onresponsetext' && /five/.test(String(data)));
        expect(await heard, `client ${String(at)}`).toBeDefined();
      }
      for (const socket of sockets.splice(0)) socket.close();
      expect(await drained.exit).toBe(0);
      await expect.poll(() => sessionsOf(other), PATIENT).toBe(0);
      expect(await statusOf(`${address}/readyz`)).toBe(200);
    },
    180_000,
  );
});

async function sessionsOf(node: Served): Promise<number> {
  const response = await fetch(`${node.address}/metrics`, { headers: { authorization: PRIVATE_KEY } });
  return Number(/^parley_sessions (\d+)/m.exec(await response.text())?.[1]);
}

/** 0 without an answer. */
function statusOf(url: string, method = 'GET'): Promise<number> {
  const options = { method, rejectUnauthorized: false, agent: false as const, headers: { authorization: PUBLIC_KEY } };
  return new Promise((resolve) => {
    const sent = (url.startsWith('https') ? requestTls : request)(url, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', () => resolve(0));
    sent.end();
  });
}
