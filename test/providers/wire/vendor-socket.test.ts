import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { ParleyError } from '../../../src/base/errors.js';
import {
  VendorSocket,
  type VendorSocketEvents,
  type VendorSocketOptions,
} from '../../../src/providers/wire/vendor-socket.js';

const KEY = 'sk-very/secret=1';
const cleanUps: (() => Promise<unknown> | void)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A server whose connections `onConnection` gets; `status` refuses them. */
async function serve(onConnection: (socket: WebSocket) => void, status?: [number, string]): Promise<string> {
  const http: Server = createServer();
  const server = new WebSocketServer({
    server: http,
    verifyClient: (_info, done) => (status === undefined ? done(true) : done(false, ...status)),
  });
  server.on('connection', onConnection);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  cleanUps.push(async () => {
    for (const client of server.clients) client.terminate();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return `ws://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
}

function dial(url: string, options: Partial<VendorSocketOptions> = {}, events: Partial<VendorSocketEvents> = {}) {
  const texts: string[] = [];
  let tell: (error: ParleyError) => void;
  const closed = new Promise<ParleyError>((resolve) => (tell = resolve));
  const socket = new VendorSocket(
    {
      provider: 'vendor',
      url,
      secrets: [KEY],
      clock: new RealClock(),
      signal: new AbortController().signal,
      ...options,
    },
    { onText: (text) => texts.push(text), onClosed: (error) => tell(error), ...events },
  );
  cleanUps.push(() => socket.close());
  return { socket, texts, closed };
}

it('sends what waited in order, and what onOpen sends before it', async () => {
  const got: string[] = [];
  const arrived = new Promise<void>((resolve) => {
    void serve((server) => {
      server.on('message', (data: Buffer) => {
        got.push(data.toString('utf8'));
        if (got.length === 3) resolve();
      });
    }).then((url) => {
      const { socket } = dial(url, {}, { onOpen: (line) => line.send('hello') });
      socket.send('one');
      socket.send(Buffer.from('two'));
    });
  });
  await arrived;
  expect(got).toEqual(['hello', 'one', 'two']);
});

it.each([
  [401, 'PROVIDER_REFUSED', false, '; check its API key'],
  [404, 'PROVIDER_REFUSED', false, '; check the model, the voice and the base URL'],
  [429, 'PROVIDER_FAILED', true, '; wait, or ask the vendor for a higher limit'],
  [503, 'PROVIDER_FAILED', true, ''],
])('names status %i and its remedy, without the key in the body', async (status, code, retryable, remedy) => {
  const url = await serve(() => undefined, [status, `{"error":{"message":"not with ${KEY}, Bearer abcdefghij"}}`]);
  const error = await dial(url).closed;
  expect(error).toMatchObject({ code, retryable, details: { status } });
  expect(error.message).toBe(
    `vendor ${status === 401 || status === 404 ? 'refused the request' : 'failed'}: ` +
      `HTTP ${String(status)}: not with ***, Bearer ***${remedy}`,
  );
});

it.each([
  [1008, 'PROVIDER_REFUSED', 'key?'],
  [1011, 'PROVIDER_FAILED', 'busy'],
  [4000, 'PROVIDER_FAILED', ''],
])('names close code %i', async (closeCode, code, reason) => {
  const url = await serve((server) => server.close(closeCode, reason));
  const error = await dial(url).closed;
  expect(error.code).toBe(code);
  expect(error.message).toContain(reason === '' ? String(closeCode) : reason);
});

it('gives up a server that does not take the connection', async () => {
  const http = createServer();
  http.on('upgrade', (_request, socket) => cleanUps.push(() => void socket.destroy()));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const clock = new VirtualClock();
  const upgrade = once(http, 'upgrade');
  const { closed } = dial(`ws://127.0.0.1:${String((http.address() as AddressInfo).port)}`, { clock });
  await upgrade;
  await clock.advanceBy(5000);
  expect(await closed).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 5000 } });
  http.close();
});

it('says that nobody is there', async () => {
  expect(await dial('ws://127.0.0.1:9').closed).toMatchObject({
    code: 'PROVIDER_FAILED',
    retryable: true,
    message: 'vendor failed: connect ECONNREFUSED 127.0.0.1:9; start the server, or check the base URL',
  });
});

it('bounds what waits for a connection', async () => {
  const { socket, closed } = dial('ws://127.0.0.1:9', { maxWaitingBytes: 10 });
  socket.send('123456');
  socket.send('789012');
  expect(await closed).toMatchObject({ message: 'vendor failed: it reads too slowly' });
  expect(socket.isOver).toBe(true);
});

it('keeps a quiet connection alive, and finds one that is dead', async () => {
  const clock = new VirtualClock();
  const got: string[] = [];
  let server: WebSocket | undefined;
  const url = await serve((socket) => {
    server = socket;
    socket.on('message', (data: Buffer) => got.push(data.toString('utf8')));
  });
  let opened: () => void;
  const open = new Promise<void>((resolve) => (opened = resolve));
  const keepAlive = { afterMs: 3000, message: () => 'still here' };
  const { closed } = dial(url, { clock, keepAlive, pingMs: 10_000 }, { onOpen: () => opened() });
  await open;
  const pinged = once(server!, 'ping');
  await clock.advanceBy(10_000);
  await pinged;
  expect(got).toEqual(['still here', 'still here', 'still here']);
  server!.pause();
  await clock.advanceBy(30_000);
  expect(await closed).toMatchObject({ message: 'vendor failed: it did not answer a ping within 10000 ms' });
});

it('tells nothing after close, which says goodbye and may be called twice', async () => {
  let tell: (got: string[]) => void;
  const server = new Promise<string[]>((resolve) => (tell = resolve));
  const url = await serve((socket) => {
    const got: string[] = [];
    socket.on('message', (data: Buffer) => got.push(data.toString('utf8')));
    socket.on('close', () => tell(got));
  });
  let opened: () => void;
  const open = new Promise<void>((resolve) => (opened = resolve));
  const events: string[] = [];
  const { socket } = dial(url, {}, { onOpen: () => opened(), onClosed: () => events.push('closed') });
  await open;
  await Promise.all([socket.close('bye'), socket.close('bye')]);
  expect(await server).toEqual(['bye']);
  expect(events).toEqual([]);
});

it('closes when its signal is aborted, also before it stands', async () => {
  const abort = new AbortController();
  const { socket } = dial(await serve(() => undefined), { signal: abort.signal });
  abort.abort();
  expect(socket.isOver).toBe(true);
  await socket.close();
});
