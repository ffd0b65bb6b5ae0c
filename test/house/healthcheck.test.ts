import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server = undefined;
});

const answer: RequestListener = (request, response) => response.writeHead(request.url === '/healthz' ? 200 : 404).end();

async function portOf(made: Server, host = '127.0.0.1'): Promise<number> {
  server = made;
  await new Promise<void>((resolve) => void made.listen(0, host, resolve));
  return (made.address() as AddressInfo).port;
}

/** The exit code of the container's health check. */
function check(port: number, host = '0.0.0.0'): Promise<number> {
  const env = { ...process.env, PARLEY_PORT: String(port), PARLEY_HOST: host };
  return new Promise((resolve) => {
    execFile(process.execPath, [fileURLToPath(packageFile('deploy/healthcheck.mjs'))], { env }, (error) =>
      resolve(error === null ? 0 : Number(error.code)),
    );
  });
}

it('calls a daemon healthy that answers by HTTP', async () => {
  expect(await check(await portOf(createServer(answer)))).toBe(0);
});

it('asks where the daemon listens', async () => {
  expect(await check(await portOf(createServer(answer), '127.0.0.2'), '127.0.0.2')).toBe(0);
});

it('calls a daemon healthy that answers by HTTPS, whatever name its certificate has', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-health-'));
  const [key, cert] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'].concat([
      '-keyout',
      key,
      '-out',
      cert,
      '-subj',
      '/CN=calls.example.com',
    ]),
    { stdio: 'ignore' },
  );
  const tls = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  expect(await check(await portOf(createTlsServer(tls, answer)))).toBe(0);
});

it('calls a daemon unhealthy that answers with an error, or not at all', async () => {
  const failing = await portOf(createServer((_request, response) => response.writeHead(500).end()));
  expect(await check(failing)).toBe(1);
  server?.close();
  expect(await check(failing)).toBe(1);
});

it('keeps this machine’s modules and builds out of the image', () => {
  const ignored = readFileSync(packageFile('.dockerignore'), 'utf8').split('\n');
  expect(ignored).toEqual(expect.arrayContaining(['.git', '**/node_modules', 'dist', 'native/build']));
});
