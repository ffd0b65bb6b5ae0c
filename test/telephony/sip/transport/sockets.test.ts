import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../../../src/base/real-clock.js';
import type { Hop } from '../../../../src/telephony/sip/hop.js';
import { messageBytes } from '../../../../src/telephony/sip/message.js';
import { Sockets, type SocketsOptions } from '../../../../src/telephony/sip/transport/sockets.js';
import { requestOf } from '../transactions/support.js';

let folder = '';
let own = { cert: '', key: '' };
const opened: Sockets[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-sip-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
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
    key,
    '-out',
    cert,
    '-subj',
    '/CN=trunk',
    '-addext',
    'subjectAltName=IP:127.0.0.1,DNS:trunk.example',
  ]);
  own = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
});

afterEach(async () => {
  for (const sockets of opened.splice(0)) await sockets.close();
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function end(protocol: Hop['protocol'], address = '127.0.0.1', more: Partial<SocketsOptions> = {}) {
  const got: { text: string; from: Hop }[] = [];
  const failed: Hop[] = [];
  const refused: string[] = [];
  const waiting: (() => void)[] = [];
  const wake = (): void => {
    for (const look of waiting.splice(0)) look();
  };
  const sockets = await Sockets.open({
    clock: new RealClock(),
    listen: [{ protocol, address, port: 0 }],
    isTrusted: () => true,
    tls: { own, ca: own.cert },
    events: {
      onMessage: (bytes, from) => {
        got.push({ text: Buffer.from(bytes).toString('latin1'), from });
        wake();
      },
      onFailed: (hop) => {
        failed.push(hop);
        wake();
      },
      onRefused: (why) => {
        refused.push(why);
        wake();
      },
    },
    ...more,
  });
  opened.push(sockets);
  /** Something is heard of it; the runner's own deadline ends a wait that is in vain. */
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const hop: Hop = { protocol, address, port: sockets.listening[0]?.port ?? 0 };
  return { sockets, got, failed, refused, until, hop };
}

const bytes = messageBytes(requestOf('OPTIONS'));

describe('sockets', () => {
  it.each<[Hop['protocol'], string]>([
    ['UDP', '127.0.0.1'],
    ['TCP', '127.0.0.1'],
    ['TLS', '127.0.0.1'],
    ['UDP', '::1'],
    ['TCP', '::1'],
  ])('carry messages both ways over %s %s', async (protocol, address) => {
    const [one, other] = [await end(protocol, address), await end(protocol, address)];
    one.sockets.send(bytes, other.hop);
    one.sockets.send(bytes, other.hop);
    await other.until(() => other.got.length === 2);
    const from = other.got[0]?.from as Hop;
    expect([from.protocol, from.address]).toEqual([protocol, address]);
    expect(other.got[0]?.text).toBe(Buffer.from(bytes).toString('latin1'));
    other.sockets.send(bytes, from);
    await one.until(() => one.got.length === 1);
    expect(other.sockets.isOpen(from)).toBe(true);
    expect(one.sockets.localPlace(other.hop)).toEqual({ host: address, port: one.hop.port, bound: address });
  });

  it('report a closed port', async () => {
    const one = await end('TCP');
    one.sockets.send(bytes, { protocol: 'TCP', address: '127.0.0.1', port: 1 });
    await one.until(() => one.failed.length === 1);
    one.sockets.send(bytes, { protocol: 'UDP', address: '127.0.0.1', port: 1 });
    await one.until(() => one.failed.length === 2);
  });

  it('do not talk with a server that cannot prove its name', async () => {
    const server = await end('TLS');
    const stranger = await end('TLS', '127.0.0.1', { tls: { own } });
    stranger.sockets.send(bytes, server.hop);
    await stranger.until(() => stranger.failed.length === 1);
    const misnamed = await end('TLS', '127.0.0.1', { tls: { own, ca: own.cert, nameOf: () => 'other.example' } });
    misnamed.sockets.send(bytes, server.hop);
    await misnamed.until(() => misnamed.failed.length === 1);
    const named = await end('TLS', '127.0.0.1', { tls: { own, ca: own.cert, nameOf: () => 'trunk.example' } });
    named.sockets.send(bytes, server.hop);
    await server.until(() => server.got.length === 1);
  });

  it.each<Hop['protocol']>(['UDP', 'TCP'])('hear nothing of strangers over %s', async (protocol) => {
    const server = await end(protocol, '127.0.0.1', { isTrusted: () => false });
    const stranger = await end(protocol);
    stranger.sockets.send(bytes, server.hop);
    await server.until(() => server.refused.length > 0);
    expect([server.refused[0], server.got]).toEqual(['stranger', []]);
  });

  it('answer a ping, and end a stream that is none of messages', async () => {
    const server = await end('TCP');
    const socket: Socket = connect(server.hop.port, server.hop.address);
    const pong = new Promise<string>((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
    socket.write('\r\n\r\n');
    expect(await pong).toBe('\r\n');
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write('x'.repeat(20_000));
    await server.until(() => server.refused.includes('framing'));
    await closed;
  });

  it('say where they cannot listen', async () => {
    const one = await end('UDP');
    const listen = [{ protocol: 'UDP' as const, address: '127.0.0.1', port: one.hop.port }];
    await expect(end('UDP', '127.0.0.1', { listen })).rejects.toMatchObject({ code: 'SIP_CANNOT_LISTEN' });
  });
});
