import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatWithOptions } from 'node:util';
import { runInThisContext } from 'node:vm';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import {
  isParleyError,
  messagesOf,
  Parley,
  ParleyApiError,
  ParleyConnectionError,
  ParleyWebhookError,
  verifyWebhook,
} from '../../packages/client/src/index.js';
import { pauseMs } from '../../packages/client/src/http.js';
import * as client from '../../packages/client/src/index.js';
import { packageFile } from '../../src/package-files.js';
import { House, PRIVATE_KEY } from '../daemon/house.js';

let house: House;
let parley: Parley;
beforeAll(async () => {
  house = await House.open();
  parley = new Parley({ baseUrl: house.address, apiKey: PRIVATE_KEY });
});
afterAll(async () => {
  await house.close();
});

/** Runs a chat that is logged, and returns its text. */
async function chat(content: string): Promise<string> {
  let text = '';
  const messages = [{ role: 'user' as const, content }];
  for await (const { choices } of parley.chat.stream({
    agent: { agent_id: 'baker' },
    messages,
    end_of_session: true,
  })) {
    text += choices[0]?.delta.content ?? '';
  }
  return text;
}

describe('with a daemon', () => {
  test('agents are made, changed, read and deleted', async () => {
    const made = await parley.agents.create({ name: 'Florist', config: { prompt: 'You sell flowers.' } });
    expect(await parley.agents.get(made.id)).toMatchObject({
      name: 'Florist',
      config: { prompt: 'You sell flowers.' },
    });
    await parley.agents.update(made.id, { name: 'The florist' });
    expect((await parley.agents.list()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['The florist', 'Baker']),
    );
    const versions = [];
    for await (const { version } of parley.agents.listVersions(made.id, { limit: 1 })) versions.push(version);
    expect(versions).toEqual([2, 1]);
    expect(await parley.agents.delete(made.id)).toEqual({ success: true });
    await expect(parley.agents.get(made.id)).rejects.toMatchObject({ code: 'NOT_FOUND', status: 404 });
  });

  test('an answer comes as a stream, and calls in pages', async () => {
    for (let each = 0; each < 3; each++) expect(await chat('Do you have bread?')).toBe('We have bread.');
    const all = parley.callLogs.list({ limit: 2, agent_id: 'baker' });
    const sizes = [];
    for await (const { histories } of all.pages()) sizes.push(histories.length);
    expect(sizes).toEqual([2, 1]);
    const ids = [];
    for await (const { session_id: id } of all) ids.push(id);
    expect(new Set(ids).size).toBe(3);
    const { histories, next_cursor: cursor } = await all.page();
    expect(histories.map(({ session_id: id }) => id)).toEqual(ids.slice(0, 2));
    const rest = await parley.callLogs.list({ start_after_ts: cursor }).page();
    expect(rest.histories.map(({ session_id: id }) => id)).toEqual(ids.slice(2));
    expect(messagesOf(histories[0]!)).toMatchObject([
      { role: 'user', content: 'Do you have bread?' },
      { role: 'assistant' },
    ]);
  });

  test('files are uploaded, and texts are read', async () => {
    const file = new File(['Rye bread costs 4 dollars.'], 'menu.txt', { type: 'text/plain' });
    const { object_key: key } = await parley.knowledge.uploadFile(file);
    const stored = await parley.knowledge.createFile({ object_key: key, name: 'menu.txt' });
    expect(await parley.knowledge.listFiles()).toMatchObject([{ id: stored.id, size: file.size }]);
    expect(await parley.operation.getMetrics()).toContain('parley_');
  });

  test('errors have their code, their place and the id of the request', async () => {
    const error: unknown = await parley.agents
      .create({ name: '', config: { vad_threshold: 7 } })
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ParleyApiError);
    if (!isParleyError(error, 'CONFIG_INVALID')) throw error;
    expect(error.status).toBe(422);
    expect(error.faults.map(({ loc }) => loc.join('.'))).toEqual(['body.name', 'body.config.vad_threshold']);
    expect(error.requestId).toMatch(/\S/);
    expect(isParleyError(error, 'NOT_FOUND')).toBe(false);
    const stranger = new Parley({ baseUrl: house.address });
    await expect(stranger.agents.list()).rejects.toMatchObject({ code: 'AUTH_REQUIRED', status: 401 });
    expect(await stranger.operation.getHealth()).toEqual({ status: 'ok' });
  });
});

describe('the examples', () => {
  const pages = ['docs/clients.md', 'packages/client/README.md'];
  const examples = pages.flatMap((path) =>
    [...readFileSync(packageFile(path), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => ({
      path,
      code,
    })),
  );
  const outputs = [/^We\n have\n bread\.\n$/, /content: 'Do you have bread\?'/, /^404 NOT_FOUND \S+$/, /^$/];
  expect(examples).toHaveLength(outputs.length);

  test.each(examples.map((example, at) => ({ ...example, output: outputs[at]! })))(
    'of $path print $output',
    async ({ code, output }) => {
      const { code: plain } = await transform(
        code
          .replace(/^import (.*) from '@parley-voice\/client';$/m, 'const $1 = client;')
          .replace('http://127.0.0.1:8080', house.address),
        { loader: 'ts', format: 'esm' },
      );
      const lines: string[] = [];
      const log = (...parts: unknown[]): void => void lines.push(formatWithOptions({ depth: 9 }, ...parts));
      const run = runInThisContext(`(async (client, console, process) => {${plain}})`) as (
        ...given: unknown[]
      ) => Promise<void>;
      await run(client, { log }, { env: { PARLEY_API_KEY: PRIVATE_KEY } });
      expect(lines.join('\n')).toMatch(output);
    },
  );
});

/** A server whose answers a test decides, one for each request. */
class Fake {
  readonly seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = [];
  readonly #server: Server;
  #answers: ((reply: ServerResponse) => void)[] = [];

  constructor() {
    this.#server = createServer((request, reply) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        this.seen.push({ method, url, headers, body });
        (this.#answers.shift() ?? ((last) => last.writeHead(500).end()))(reply);
      });
    });
  }

  async client(options: Partial<ConstructorParameters<typeof Parley>[0]> = {}): Promise<Parley> {
    if (!this.#server.listening) await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    const { port } = this.#server.address() as AddressInfo;
    return new Parley({ baseUrl: `http://127.0.0.1:${String(port)}/base/`, apiKey: 'k', ...options });
  }

  answer(status: number, body: unknown = {}, headers: Record<string, string> = {}): this {
    this.#answers.push((reply) => {
      reply.writeHead(status, { 'content-type': 'application/json', ...headers });
      reply.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    return this;
  }

  /** Breaks the connection, behind the given text if any. */
  breakOff(text = ''): this {
    this.#answers.push((reply) => {
      if (text === '') reply.destroy();
      else reply.writeHead(200, { 'content-type': 'text/event-stream' }).write(text, () => reply.destroy());
    });
    return this;
  }

  hang(): this {
    this.#answers.push(() => undefined);
    return this;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const refusal = (code: string) => ({ detail: 'No.', code, request_id: 'r1' });
const AT_ONCE = { 'retry-after': '0' };

describe('with a server that fails', () => {
  const fakes: Fake[] = [];
  afterAll(() => fakes.forEach((fake) => fake.close()));
  const newFake = (): Fake => {
    fakes.push(new Fake());
    return fakes.at(-1)!;
  };

  test('what may pass is asked again after the time that the answer names', async () => {
    const fake = newFake()
      .answer(429, refusal('RATE_LIMITED'), AT_ONCE)
      .answer(503, refusal('SESSIONS_FULL'), AT_ONCE)
      .answer(200, []);
    expect(await (await fake.client()).agents.list()).toEqual([]);
    expect(fake.seen.map(({ url }) => url)).toEqual(['/base/agents', '/base/agents', '/base/agents']);
    expect(fake.seen[0]?.headers['authorization']).toBe('Bearer k');
  });

  test('it gives up after maxRetries, and at once if the wait is long or nothing would change', async () => {
    const again = newFake().answer(429, refusal('RATE_LIMITED'), AT_ONCE).answer(429, refusal('RATE_LIMITED'), AT_ONCE);
    await expect((await again.client({ maxRetries: 1 })).agents.list()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(again.seen).toHaveLength(2);
    const late = newFake().answer(429, refusal('LIMIT_MINUTES_PER_DAY'), { 'retry-after': '3600' });
    await expect((await late.client()).agents.list()).rejects.toMatchObject({
      retryAfterMs: 3_600_000,
      requestId: 'r1',
    });
    const wrong = newFake().answer(409, refusal('AGENT_DISABLED'));
    await expect((await wrong.client()).agents.list()).rejects.toMatchObject({ code: 'AGENT_DISABLED' });
    const proxy = newFake().answer(502, '<h1>Bad gateway</h1>', { 'content-type': 'text/html' });
    const error = (await proxy.client({ maxRetries: 0 })).agents.list();
    await expect(error).rejects.toMatchObject({ code: 'HTTP_502', detail: '<h1>Bad gateway</h1>', requestId: null });
  });

  test('a request with an effect is sent twice only under a key that makes it one', async () => {
    const fake = newFake().breakOff();
    await expect((await fake.client()).agents.create({ name: 'A', config: {} })).rejects.toBeInstanceOf(
      ParleyConnectionError,
    );
    expect(fake.seen).toHaveLength(1);
    const call = newFake()
      .answer(502, refusal('CARRIER_SILENT'), AT_ONCE)
      .answer(200, { call_id: 'c', session_id: 's' });
    expect(await (await call.client()).calls.start({ from_phone: '+12025550100', to_phone: '+12025550123' })).toEqual({
      call_id: 'c',
      session_id: 's',
    });
    const keys = call.seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
    const own = newFake().answer(200);
    await (
      await own.client()
    ).calls.start(
      { from_phone: '+12025550100', to_phone: '+12025550123' },
      { idempotencyKey: 'order 7', headers: { 'x-trace': '1' } },
    );
    expect(own.seen[0]?.headers).toMatchObject({ 'idempotency-key': 'order 7', 'x-trace': '1' });
    expect(JSON.parse(own.seen[0]?.body ?? '')).toMatchObject({ to_phone: '+12025550123' });
  });

  test('waits double up to 30 s, and half of them is chance', () => {
    expect([1, 2, 3, 9].map((tries) => pauseMs(tries, null, 1))).toEqual([500, 1000, 2000, 30_000]);
    expect(pauseMs(1, null, 0)).toBe(250);
    expect(pauseMs(1, 1500, 0.5)).toBe(1500);
  });

  test('a request ends with its signal and its deadline', async () => {
    const fake = newFake().hang().hang();
    const client = await fake.client({ maxRetries: 0 });
    const abort = new AbortController();
    const asked = client.agents.list({ signal: abort.signal });
    abort.abort(new Error('the user left'));
    await expect(asked).rejects.toThrow('the user left');
    await expect(client.agents.list({ timeoutMs: 20 })).rejects.toMatchObject({
      name: 'ParleyConnectionError',
      isTimeout: true,
    });
    expect(() => new Parley({ baseUrl: 'calls.example' })).toThrow('baseUrl is the daemon');
  });

  test('paths are escaped', async () => {
    const fake = newFake().answer(200);
    await (await fake.client()).phones.get('+1/..?x');
    expect(fake.seen[0]?.url).toBe('/base/phones/%2B1%2F..%3Fx');
  });

  test('a stream that breaks off goes on behind its last event', async () => {
    const status = (ended: boolean) => JSON.stringify({ session_id: 's', ended });
    const fake = newFake()
      .breakOff(`id: 7\nevent: status\ndata: ${status(false)}\n\n`)
      .answer(503, refusal('DAEMON_DRAINING'), AT_ONCE)
      .answer(200, `: ping\n\nid: 8\r\nevent: status\r\ndata: ${status(true)}\r\n\r\nid: 9\ndata: {}\n\n`, {
        'content-type': 'text/event-stream',
      });
    const seen = [];
    for await (const { event, id, data } of (await fake.client()).events.watchCall('s')) {
      seen.push([event, id, event === 'status' && data.ended]);
    }
    expect(seen).toEqual([
      ['status', '7', false],
      ['status', '8', true],
    ]);
    expect(fake.seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '7', '7']);
  });

  test('a stream is over when what it tells of is deleted, and fails at once when it was never there', async () => {
    const progress = { status: 'started' };
    const gone = newFake()
      .answer(200, `event: progress\ndata: ${JSON.stringify(progress)}\n\n`)
      .answer(404, refusal('NOT_FOUND'));
    const seen = [];
    for await (const { status } of (await gone.client()).campaigns.watch('c')) seen.push(status);
    expect(seen).toEqual(['started']);
    const none = newFake().answer(404, refusal('NOT_FOUND'));
    await expect((await none.client()).campaigns.watch('c').next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('an answer that fails in the middle is an error', async () => {
    const chunk = 'data: {"choices": [{"delta": {"content": "We"}}]}\n\n';
    const failed = newFake().answer(200, `${chunk}data: {"error": {"message": "m", "code": "PROVIDER_FAILED"}}\n\n`);
    const stream = (await failed.client()).chat.stream({ agent: {}, messages: [] });
    expect((await stream.next()).value).toMatchObject({ choices: [{ delta: { content: 'We' } }] });
    await expect(stream.next()).rejects.toMatchObject({ code: 'PROVIDER_FAILED', status: 200 });
    const cut = newFake().breakOff(chunk);
    const half = (await cut.client()).chat.stream({ agent: {}, messages: [] });
    await half.next();
    await expect(half.next()).rejects.toBeInstanceOf(ParleyConnectionError);
  });
});

describe('webhooks', () => {
  const secret = `whsec_${Buffer.from('a secret of 24 bytes ...').toString('base64')}`;
  const body = JSON.stringify({ type: 'call.ended', timestamp: '2026-11-24T12:00:00.000Z', data: { session_id: 's' } });
  const at = new Date(1_795_521_600_000);
  const nowMs = at.getTime();
  const signature = new Webhook(secret).sign('msg_1', at, body);
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(nowMs / 1000), 'webhook-signature': signature };

  test('a signed message is parsed, from any kind of headers', async () => {
    const message = await verifyWebhook(body, headers, secret, { nowMs });
    expect(message).toMatchObject({ type: 'call.ended', data: { session_id: 's' } });
    const bytes = new TextEncoder().encode(body);
    expect(await verifyWebhook(bytes, new Headers(headers), secret, { nowMs })).toEqual(message);
    const many = { ...headers, 'Webhook-Signature': [`v1,${btoa('x')}`, `v2,${signature.slice(3)} ${signature}`] };
    const { 'webhook-signature': _one, ...others } = many;
    expect(await verifyWebhook(body, others, ['whsec_b2xk', secret], { nowMs })).toEqual(message);
  });

  test.each([
    ['another body', { body: `${body} ` }, 'No signature'],
    ['another secret', { secret: 'whsec_b3RoZXI=' }, 'No signature'],
    ['an old message', { nowMs: nowMs + 301_000 }, 'not within 300 s'],
    ['a message of the future', { nowMs: nowMs - 301_000 }, 'not within 300 s'],
    ['no signature', { headers: { 'webhook-id': '1', 'webhook-timestamp': '1' } }, 'no webhook-signature'],
    ['a signature that is no base64', { headers: { ...headers, 'webhook-signature': 'v1,%%' } }, 'No signature'],
    ['a time that is none', { headers: { ...headers, 'webhook-timestamp': 'NaN' } }, 'not within'],
  ])('%s is refused', async (_name, change, why) => {
    const message = { body, headers, secret, nowMs, ...change };
    const verified = verifyWebhook(message.body, message.headers, message.secret, { nowMs: message.nowMs });
    await expect(verified).rejects.toThrow(why);
    await expect(verified).rejects.toBeInstanceOf(ParleyWebhookError);
  });
});
