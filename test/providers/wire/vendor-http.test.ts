import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { VendorHttp, type VendorHttpOptions, type VendorRequest } from '../../../src/providers/wire/vendor-http.js';

const KEY = 'sk-very-secret-1';
const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** A server that answers by `onRequest`, and a client of it below `/v1`. */
async function serve(
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<VendorHttpOptions> = {},
): Promise<VendorHttp> {
  const server = createServer(onRequest).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/v1/`;
  const http = new VendorHttp({ provider: 'vendor', baseUrl, headers: { 'x-key': KEY }, secrets: [KEY], ...options });
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  cleanUps.push(() => http.close());
  return http;
}

const get = (more: Partial<VendorRequest> = {}): VendorRequest => ({
  method: 'GET',
  path: '/models',
  signal: new AbortController().signal,
  ...more,
});

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += chunk.toString('utf8');
  return text;
}

it('asks below its root, with its headers and those of the request', async () => {
  const http = await serve((request, response) => {
    response.writeHead(200, { 'content-type': 'Text/Plain; charset=utf-8' });
    response.end(
      `${request.method ?? ''} ${request.url ?? ''} ${String(request.headers['x-key'])} ${String(request.headers['x-b'])}`,
    );
  });
  const reply = await http.send(get({ method: 'POST', path: '/speech?a=1', headers: { 'x-b': 'b' }, body: 'x' }));
  expect(reply).toMatchObject({ status: 200, contentType: 'text/plain' });
  expect(await textOf(reply.body)).toBe(`POST /v1/speech?a=1 ${KEY} b`);
});

it.each([
  [401, 'PROVIDER_REFUSED'],
  [302, 'PROVIDER_REFUSED'],
  [429, 'PROVIDER_FAILED'],
  [503, 'PROVIDER_FAILED'],
])('tells of status %i without a key, and of no more of its body than is worth it', async (status, code) => {
  const http = await serve((_request, response) => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.end(`key ${KEY} ${'x'.repeat(200_000)}`);
  });
  const error: unknown = await http.send(get()).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code, details: { status } });
  expect((error as Error).message).toContain('key ***');
  expect((error as Error).message.length).toBeLessThan(700);
});

it('sends a request once more where its connection was dead, and not a third time', async () => {
  let asked = 0;
  const http = await serve((request, response) => {
    if (++asked === 1 || request.url === '/v1/never') request.socket.destroy();
    else response.end('there');
  });
  expect(await textOf((await http.send(get())).body)).toBe('there');
  asked = 1;
  await expect(http.send(get({ path: '/never' }))).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
  expect(asked).toBe(3);
});

it('ends with the reason of its signal, before a reply and within it', async () => {
  let seen: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (seen = resolve));
  const http = await serve((request, response) => {
    if (request.url === '/v1/models') response.write('one');
    seen();
  });
  const early = new AbortController();
  const waiting = http.send(get({ path: '/silent', signal: early.signal }));
  await asked;
  early.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  const late = new AbortController();
  const reply = await http.send(get({ signal: late.signal }));
  const read = (async () => {
    for await (const _ of reply.body) late.abort(new Error('barge-in'));
  })();
  await expect(read).rejects.toThrow('barge-in');
});

it('answers nothing once it is closed, which it may be twice', async () => {
  const http = await serve((_request, response) => void response.write('one'));
  const { body } = await http.send(get());
  const read = textOf(body);
  await Promise.all([http.close(), http.close()]);
  await expect(read).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  await expect(http.send(get())).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
});

it.each(['', 'nowhere', 'ftp://vendor'])('refuses the address %j', (baseUrl) => {
  expect(() => new VendorHttp({ provider: 'vendor', baseUrl, headers: {}, secrets: [] })).toThrow(
    /the base URL of vendor must be an http or https address/,
  );
});
