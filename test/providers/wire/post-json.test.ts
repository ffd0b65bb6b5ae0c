import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { postJson } from '../../../src/providers/wire/vendor-http.js';
import { connectionReason } from '../../../src/providers/wire/vendor-error.js';

let server: Server | null = null;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(null));
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/x`;
}

const ask = (url: string, more: object = {}) =>
  postJson({
    provider: 'vendor',
    url,
    headers: { 'x-key': 'secret-12345' },
    body: { a: 1 },
    timeoutMs: 1000,
    secrets: ['secret-12345'],
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...more,
  });

it('posts an object and gives the one that comes back', async () => {
  const url = await serve((request, response) => {
    void (async () => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
      response.end(JSON.stringify({ method: request.method, key: request.headers['x-key'], body: text }));
    })();
  });
  expect(await ask(url)).toEqual({ method: 'POST', key: 'secret-12345', body: '{"a":1}' });
});

it.each([
  [401, '{"message":"no secret-12345"}', 'vendor refused the request: HTTP 401: no ***; check its API key'],
  [503, '<html>busy</html>', 'vendor failed: HTTP 503'],
  [200, '[1]', 'vendor failed: its reply is not a JSON object'],
  [200, 'x'.repeat(300_000), 'vendor failed: its reply is too long'],
])('makes an error of status %i and what comes with it', async (status, body, message) => {
  const url = await serve((_request, response) => response.writeHead(status).end(body));
  await expect(ask(url)).rejects.toThrow(message);
});

it('waits no longer than it may, and not at all when it is aborted', async () => {
  const clock = new VirtualClock();
  let asked: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => (asked = resolve));
  const url = await serve(() => asked());
  const late = ask(url, { clock }).catch((error: unknown) => error);
  await arrived;
  await clock.advanceBy(1000);
  expect(await late).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
  const abort = new AbortController();
  const aborted = ask(url, { signal: abort.signal }).catch((error: unknown) => error);
  abort.abort(new Error('over'));
  expect(await aborted).toMatchObject({ message: 'over' });
});

it('says that nobody is there', async () => {
  await expect(ask('http://127.0.0.1:9/x')).rejects.toMatchObject({
    code: 'PROVIDER_FAILED',
    retryable: true,
    message: 'vendor failed: connect ECONNREFUSED 127.0.0.1:9; start the server, or check the base URL',
  });
});

it.each([
  [
    'a host name with several addresses',
    Object.assign(
      new AggregateError([new Error('connect ECONNREFUSED ::1:9'), new Error('connect ECONNREFUSED 127.0.0.1:9')], ''),
      { code: 'ECONNREFUSED' },
    ),
    'connect ECONNREFUSED ::1:9, connect ECONNREFUSED 127.0.0.1:9; start the server, or check the base URL',
  ],
  [
    'a host name that does not exist',
    Object.assign(new Error('getaddrinfo ENOTFOUND api.example'), { code: 'ENOTFOUND' }),
    'getaddrinfo ENOTFOUND api.example; check the network and the host name in the base URL',
  ],
  [
    'a code without a remedy',
    Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
    'other side closed',
  ],
  ['an empty error', new AggregateError([], ''), 'the connection failed'],
])('gives the reason of a failed connection to %s', (_name, error, reason) => {
  expect(connectionReason(error)).toBe(reason);
});
