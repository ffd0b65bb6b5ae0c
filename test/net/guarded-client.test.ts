import type { LookupFunction } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { GuardedClient, type GuardedClientOptions, type GuardedRequest } from '../../src/net/guarded-client.js';
import { event, httpServer, type LocalServer, tcpServer } from './local-server.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serving(starting: Promise<LocalServer>): Promise<LocalServer> {
  const server = await starting;
  closers.push(() => server.close());
  return server;
}

function clientFor(server: LocalServer, options: Partial<GuardedClientOptions> = {}): GuardedClient {
  const client = new GuardedClient({ clock: new RealClock(), allowUrls: [server.origin], ...options });
  closers.push(() => client.close());
  return client;
}

const asking = (url: string, more: Partial<GuardedRequest> = {}): GuardedRequest => ({
  url,
  timeoutMs: 5_000,
  signal: new AbortController().signal,
  ...more,
});

describe('GuardedClient', () => {
  it('sends method, headers and body and gives back the whole reply', async () => {
    const server = await serving(
      httpServer((request, response, body) => {
        response.setHeader('x-many', ['a', 'b']);
        response.statusCode = 201;
        response.end(JSON.stringify([request.method, request.url, request.headers['x-key'], body]));
      }),
    );
    const reply = await clientFor(server).request(
      asking(`${server.origin}/a/b?c=d#e`, { method: 'PUT', headers: { 'x-key': 'v' }, body: 'hello' }),
    );
    expect(reply.status).toBe(201);
    expect(reply.headers['x-many']).toBe('a, b');
    expect(JSON.parse(reply.body.toString())).toEqual(['PUT', '/a/b?c=d', 'v', 'hello']);
  });

  it('refuses a loopback address that is not listed, without connecting', async () => {
    let connections = 0;
    const server = await serving(tcpServer(() => connections++));
    const client = clientFor(server, { allowUrls: [] });
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]', '0x7f.1', '127.0.0.1.']) {
      await expect(client.request(asking(`http://${host}:${String(server.port)}/`))).rejects.toMatchObject({
        code: 'NET_ADDRESS_REFUSED',
      });
    }
    expect(connections).toBe(0);
  });

  it('refuses a public name that resolves to a closed address, without connecting', async () => {
    let connections = 0;
    const server = await serving(tcpServer(() => connections++));
    const lookup: LookupFunction = (_hostname, _options, callback) => {
      callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const client = clientFor(server, { allowUrls: [], lookup });
    await expect(client.request(asking(`http://rebind.example.com:${String(server.port)}/`))).rejects.toMatchObject({
      code: 'NET_ADDRESS_REFUSED',
    });
    expect(connections).toBe(0);
  });

  it('says that a host name does not exist', async () => {
    const lookup: LookupFunction = (_hostname, _options, callback) => {
      callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
    };
    const client = new GuardedClient({ clock: new RealClock(), lookup });
    closers.push(() => client.close());
    await expect(client.request(asking('http://nowhere.example.com/'))).rejects.toMatchObject({
      code: 'NET_FAILED',
      message: expect.stringContaining('the host name does not exist') as string,
    });
  });

  it('does not follow redirects', async () => {
    const seen: (string | undefined)[] = [];
    const server = await serving(
      httpServer((request, response) => {
        seen.push(request.url);
        response.writeHead(302, { location: '/inside' }).end();
      }),
    );
    const reply = await clientFor(server).request(asking(`${server.origin}/`));
    expect(reply.status).toBe(302);
    expect(seen).toEqual(['/']);
  });

  it('gives up on a slow drip at the deadline of its clock and drops the connection', async () => {
    const dripping = event();
    const dropped = event();
    const server = await serving(
      tcpServer((socket) => {
        socket.on('close', () => {
          dropped.fire();
        });
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx');
          dripping.fire();
        });
      }),
    );
    const clock = new VirtualClock();
    const pending = clientFor(server, { clock }).request(asking(`${server.origin}/`, { timeoutMs: 3_000 }));
    const outcome = expect(pending).rejects.toMatchObject({ code: 'NET_TIMEOUT', details: { timeoutMs: 3_000 } });
    await dripping.happened;
    await clock.advanceBy(2_999);
    expect(clock.pending).toBe(1);
    await clock.advanceBy(1);
    await outcome;
    await dropped.happened;
    expect(clock.pending).toBe(0);
  });

  it('gives up on a server that takes the request and says nothing', async () => {
    const asked = event();
    const server = await serving(
      tcpServer((socket) =>
        socket.once('data', () => {
          asked.fire();
        }),
      ),
    );
    const clock = new VirtualClock();
    const pending = clientFor(server, { clock }).request(asking(`${server.origin}/`));
    const outcome = expect(pending).rejects.toMatchObject({ code: 'NET_TIMEOUT' });
    await asked.happened;
    await clock.advanceBy(5_000);
    await outcome;
  });

  it.each([
    ['that says how long it is', { 'content-length': '100000' }],
    ['that comes in chunks', {}],
  ])('breaks off a huge reply %s', async (_kind, headers) => {
    const dropped = event();
    const server = await serving(
      httpServer((_request, response) => {
        response.on('close', () => {
          dropped.fire();
        });
        response.writeHead(200, headers);
        response.write('x'.repeat(60_000));
      }),
    );
    const client = clientFor(server, { maxBytes: 50_000 });
    await expect(client.request(asking(`${server.origin}/`))).rejects.toMatchObject({ code: 'NET_TOO_LARGE' });
    await dropped.happened;
  });

  it('breaks off a streamed reply of 1 GB after little more than the limit', async () => {
    const dropped = event();
    const chunk = Buffer.alloc(65_536, 'x');
    let sentBytes = 0;
    const server = await serving(
      httpServer((_request, response) => {
        response.on('close', () => {
          dropped.fire();
        });
        const send = (): void => {
          while (sentBytes < 1_000_000_000 && !response.destroyed) {
            sentBytes += chunk.length;
            if (!response.write(chunk)) {
              response.once('drain', send);
              return;
            }
          }
          response.end();
        };
        send();
      }),
    );
    await expect(clientFor(server).request(asking(`${server.origin}/`))).rejects.toMatchObject({
      code: 'NET_TOO_LARGE',
    });
    await dropped.happened;
    expect(sentBytes).toBeLessThan(50_000_000); // the limit, and what the sockets' buffers hold
  });

  it('takes a reply of exactly the limit, and a request may set its own', async () => {
    const server = await serving(httpServer((_request, response) => response.end('x'.repeat(100))));
    const client = clientFor(server, { maxBytes: 100 });
    expect((await client.request(asking(server.origin))).body).toHaveLength(100);
    await expect(client.request(asking(server.origin, { maxBytes: 99 }))).rejects.toMatchObject({
      code: 'NET_TOO_LARGE',
      details: { maxBytes: 99 },
    });
  });

  it.each([
    ['ends before its length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    ['ends inside its headers', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['ends at once', ''],
    ['is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['has endless headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`],
    ['has two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    ['is compressed without being asked', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nab'],
  ])('says that a reply which %s is broken', async (_kind, reply) => {
    const server = await serving(tcpServer((socket) => socket.once('data', () => socket.end(reply))));
    await expect(clientFor(server).request(asking(`${server.origin}/`))).rejects.toMatchObject({ code: 'NET_FAILED' });
  });

  it('says that nobody listens, without the address', async () => {
    const server = await httpServer(() => undefined);
    await server.close();
    await expect(clientFor(server).request(asking(`${server.origin}/`))).rejects.toMatchObject({
      code: 'NET_FAILED',
      message: 'The request failed: the connection was refused',
    });
  });

  it('refuses headers that could break out of their line', async () => {
    const server = await serving(httpServer((_request, response) => response.end()));
    const client = clientFor(server);
    for (const headers of [{ 'x-a': 'b\r\nx-c: d' }, { 'x a': 'b' }, { host: 'other.example.com\r\n' }]) {
      await expect(client.request(asking(server.origin, { headers }))).rejects.toMatchObject({ code: 'NET_FAILED' });
    }
  });

  it("rejects with the signal's reason, before and during the request", async () => {
    const asked = event();
    const server = await serving(
      httpServer(() => {
        asked.fire();
      }),
    );
    const client = clientFor(server);
    const reason = new Error('barge-in');
    await expect(client.request(asking(server.origin, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    const controller = new AbortController();
    const outcome = expect(client.request(asking(server.origin, { signal: controller.signal }))).rejects.toBe(reason);
    await asked.happened;
    controller.abort(reason);
    await outcome;
  });

  it('breaks off what is under way when it is closed, and refuses what comes later', async () => {
    const asked = event();
    const server = await serving(
      httpServer(() => {
        asked.fire();
      }),
    );
    const client = clientFor(server);
    const outcome = expect(client.request(asking(server.origin))).rejects.toMatchObject({ code: 'NET_FAILED' });
    await asked.happened;
    await client.close();
    await outcome;
    await client.close();
    await expect(client.request(asking(server.origin))).rejects.toMatchObject({ code: 'NET_FAILED' });
  });

  it('keeps no deadline or listener once a reply is there', async () => {
    const server = await serving(httpServer((_request, response) => response.end('ok')));
    const clock = new VirtualClock();
    const client = clientFor(server, { clock });
    const controller = new AbortController();
    for (let count = 0; count < 20; count++) await client.request(asking(server.origin, { signal: controller.signal }));
    expect(clock.pending).toBe(0);
  });
});
