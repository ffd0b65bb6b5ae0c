import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { TlsFiles } from '../../../src/daemon/http/tls.js';
import { Client, House } from '../house.js';

let folder: string;
const path = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));
  for (const name of ['one', 'two']) {
    execFileSync('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-keyout',
      path(`${name}.key`),
      '-out',
      path(`${name}.crt`),
      '-subj',
      `/CN=parley ${name}`,
      '-addext',
      'subjectAltName=IP:127.0.0.1',
    ]);
  }
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

let house: House | undefined;
let server: Server | undefined;

afterEach(async () => {
  await house?.close();
  house = undefined;
  server?.close();
  server?.closeAllConnections();
  server = undefined;
});

describe('a daemon with a certificate', () => {
  it('answers over HTTPS, and talks over wss', async () => {
    house = await House.open({ tlsCertPath: path('one.crt'), tlsKeyPath: path('one.key') });
    expect(house.address).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const ca = readFileSync(path('one.crt'));
    const status = await new Promise((resolve, reject) => {
      get(`${String(house?.address)}/healthz`, { ca }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
    expect(status).toBe(200);
    const client = new Client(new WebSocket(`${house.address.replace('https', 'wss')}/talk`, { ca }));
    await client.initiate();
    await client.inbox.heard(10);
    client.socket.close();
    expect(await house.ended).toMatchObject({ status: 'user-ended' });
  });

  it.each([
    ['one of two files', 'one.crt', null, 'CONFIG_INVALID'],
    ['no such file', 'none.crt', 'one.key', 'FILE_NOT_READABLE'],
    ['another key', 'one.crt', 'two.key', 'FILE_NOT_READABLE'],
    ['no certificate', 'one.key', 'one.key', 'FILE_NOT_READABLE'],
  ])('says what is wrong with its files: %s', async (_name, cert, key, code) => {
    await expect(
      House.open({ tlsCertPath: path(cert), tlsKeyPath: key === null ? null : path(key) }),
    ).rejects.toMatchObject({ code });
  });
});

describe('TlsFiles', () => {
  it('gives the server changed files, and leaves connections alone', async () => {
    const clock = new VirtualClock();
    copyFileSync(path('one.crt'), path('now.crt'));
    copyFileSync(path('one.key'), path('now.key'));
    const files = new TlsFiles(path('now.crt'), path('now.key'));
    server = createServer(files.read(), (_request, response) => response.end('ok')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const read: (string | null)[] = [];
    files.watch(server, clock, (fault) => read.push(fault === null ? null : fault.message));
    const before = await connected(server);
    expect(before.getPeerCertificate().subject.CN).toBe('parley one');

    await clock.advanceTo(10_000);
    expect(read).toEqual([]);
    copyFileSync(path('two.crt'), path('now.crt')); // its key comes later
    await clock.advanceTo(20_000);
    expect(read).toHaveLength(1);
    expect((await connected(server)).getPeerCertificate().subject.CN).toBe('parley one');
    copyFileSync(path('two.key'), path('now.key'));
    await clock.advanceTo(30_000);
    expect(read[1]).toBeNull();
    expect((await connected(server)).getPeerCertificate().subject.CN).toBe('parley two');
    writeFileSync(path('now.crt'), 'nothing');
    await clock.advanceTo(50_000);
    expect(read).toHaveLength(3);

    before.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    let answer = '';
    before.on('data', (data: Buffer) => (answer += data.toString()));
    await once(before, 'close');
    expect(answer).toContain('200 OK');
    files.close();
    files.close();
    expect(new TlsFiles(path('one.crt'), path('one.key')).expiresUnixMs).toBeGreaterThan(Date.parse('2026-01-01'));
  });
});

async function connected(to: Server): Promise<TLSSocket> {
  const { port } = to.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}
