import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

/** Of a request. */
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;

let house: House;

beforeEach(async () => {
  house = await House.open();
});

afterEach(async () => {
  await house.close();
});

describe('health', () => {
  it('is reported from the first moment on, readiness only once the engines are warm', async () => {
    expect(await house.ask('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    expect(await house.ask('/readyz')).toEqual({ status: 503, body: { status: 'warming up' } });
    expect((await house.ask('/page.json')).body).toMatchObject({ ready: false });
    await house.daemon.warmUp();
    expect(await house.ask('/readyz')).toEqual({ status: 200, body: { status: 'ready' } });
    expect((await house.ask('/page.json')).body).toMatchObject({ ready: true });
  });

  it('needs no key', async () => {
    expect((await house.request('/healthz', { headers: { authorization: 'nonsense' } })).status).toBe(200);
  });
});

describe('the page', () => {
  it('is served with everything it loads, under a strict content policy', async () => {
    const response = await house.request('/');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    const html = await response.text();
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    const paths = [...loaded, 'assets/capture-worklet.js', 'assets/playback-worklet.js'];
    expect(loaded).toContain('assets/main.js');
    for (const path of paths) expect((await house.request(`/${path}`)).status, path).toBe(200);
    expect(html).not.toMatch(/<script(?![^>]*src)|style="|\son\w+="/);
  });

  it('learns the public key and the agents', async () => {
    expect((await house.ask('/page.json')).body).toEqual({
      public_key: PUBLIC_KEY,
      agents: [{ id: 'baker', name: 'Baker', warnings: [] }],
      ready: false,
    });
  });

  it.each(['/assets/', '/assets/none.js', '/assets/../main.js', '/assets/%2e%2e/package.json', '/assets/index.html'])(
    'has nothing at %s',
    async (path) => {
      expect((await house.request(path)).status).toBe(404);
    },
  );
});

describe('what is asked wrongly', () => {
  it('gets 404 with a detail', async () => {
    expect(await house.ask('/nothing?x=1')).toEqual({
      status: 404,
      body: { detail: 'No endpoint at GET /nothing', code: 'ROUTE_UNKNOWN', request_id: ID },
    });
  });

  it.each([
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['POST', '/', 'GET, HEAD'],
    ['GET', '/sessions/token', 'POST'],
  ])('%s %s gets 405 and is told what is possible', async (method, path, allow) => {
    const response = await house.request(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
    expect(await response.json()).toEqual({
      detail: `${method} is not allowed here; allowed: ${allow}`,
      code: 'METHOD_NOT_ALLOWED',
      request_id: response.headers.get('x-request-id'),
    });
  });

  const headers = { authorization: PUBLIC_KEY, 'content-type': 'application/json' };

  it.each([
    ['no JSON', '{', { loc: ['body', 1], type: 'json_invalid' }],
    ['an unknown field', '{"voice":"x"}', { loc: ['body', 'voice'], type: 'extra_forbidden' }],
    ['a list', '[]', { loc: ['body'], type: 'dict_type' }],
    ['what JavaScript cannot hold', '{"__proto__":{}}', { loc: ['body', '__proto__'] }],
  ])('%s gets 422 with each fault', async (_name, body, issue) => {
    const answer = await house.ask('/sessions/token', {
      method: 'POST',
      headers: { ...headers, origin: house.address },
      body,
    });
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ detail: [{ msg: expect.any(String) as string, ...issue }] });
  });

  it('gets 413 where it is too long', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(1_100_000) });
    const answer = await house.ask('/sessions/token', {
      method: 'POST',
      headers: { ...headers, origin: house.address },
      body,
    });
    const detail = 'The body is larger than 1048576 bytes';
    expect(answer).toEqual({ status: 413, body: { detail, code: 'BODY_TOO_LARGE', request_id: ID } });
  });

  it.each(['GET // HTTP/1.1', 'GET http://[ HTTP/1.1', 'GET /%zz HTTP/1.1'])('%s upsets nothing', async (line) => {
    for (const upgrade of ['', 'connection: upgrade\r\nupgrade: websocket\r\n']) {
      const { hostname, port } = new URL(house.address);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.write(`${line}\r\nhost: x\r\n${upgrade}\r\n`);
      await once(socket, 'data');
      socket.destroy();
    }
    expect((await house.request('/healthz')).status).toBe(200);
    expect(house.faults).toEqual([]);
  });
});

describe('the end', () => {
  it('may come twice, and with clients that have said nothing yet', async () => {
    const client = house.connect();
    await client.refused;
    await Promise.all([house.daemon.close(), house.daemon.close()]);
    await house.daemon.close();
    await client.inbox.closed;
    await expect(house.request('/healthz')).rejects.toThrow();
  });

  it('ends the sessions that run', async () => {
    const client = house.connect();
    await client.initiate();
    await client.inbox.find((message) => message['method'] === 'onready');
    await house.daemon.close();
    expect(await client.inbox.closed).toMatchObject({ code: 1000 });
    expect(client.inbox.messages.at(-1)).toEqual({ method: 'onsessionended', payload: { status: 'api-ended' } });
    expect(await house.ended).toMatchObject({ status: 'api-ended' });
  });
});

describe('a port that is taken', () => {
  it('is an error, after which the daemon can be closed', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await expect(House.open({ port: (server.address() as AddressInfo).port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    await new Promise((resolve) => server.close(resolve));
  });
});

it('takes the private key for nothing that a public key is for', async () => {
  const answer = await house.ask('/sessions/token', { method: 'POST', headers: { authorization: PRIVATE_KEY } });
  expect(answer).toEqual({
    status: 401,
    body: { detail: 'The key is missing or wrong', code: 'AUTH_REQUIRED', request_id: ID },
  });
});
