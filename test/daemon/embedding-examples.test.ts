/** The examples of docs/embedding.md: applications of three kinds with a daemon in them. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { start as startExpress } from '../../examples/embedding/express.js';
import { start as startFastify } from '../../examples/embedding/fastify.js';
import { start as startHttp } from '../../examples/embedding/http.js';
import { Client, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

type Started = Awaited<ReturnType<typeof startHttp>>;

let dataDir = '';
let app: Started | null = null;
afterEach(async () => {
  await app?.close();
  app = null;
  rmSync(dataDir, { recursive: true, force: true });
});

/** The origin of an application's server. */
async function open(start: (typeof STARTS)[number]['start']): Promise<string> {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-embedded-'));
  const ollamaHost = 'http://127.0.0.1:9';
  app = await start({ dataDir, ollamaHost, apiKey: PRIVATE_KEY, publicKey: PUBLIC_KEY, logLevel: 'silent' });
  app.server.listen(0, '127.0.0.1');
  await once(app.server, 'listening');
  return `http://127.0.0.1:${String((app.server.address() as AddressInfo).port)}`;
}

const STARTS = [
  { name: 'node:http', start: startHttp, socket: null },
  { name: 'Express', start: startExpress, socket: '/socket' },
  { name: 'Fastify', start: startFastify as typeof startHttp, socket: '/socket' },
];

describe.each(STARTS)('an application of $name', ({ start, socket }) => {
  it('keeps its own routes and sockets, and passes on what is below the base path', async () => {
    const origin = await open(start);
    const ask = async (path: string): Promise<[number, string]> => {
      const response = await fetch(origin + path, { redirect: 'manual' });
      return [response.status, await response.text()];
    };
    expect(await ask('/hello')).toEqual([200, 'Hello from the application.']);
    for (const path of ['/healthz', '/agents', '/parleyx', '/parleyx/healthz']) {
      expect([path, (await ask(path))[0]]).toEqual([path, 404]);
    }
    expect(await ask('/parley/healthz')).toEqual([200, '{"status":"ok"}']);
    const { headers, status } = await fetch(`${origin}/parley?a=1`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([308, 'parley/?a=1']);
    expect(await ask('/parley/')).toEqual([200, expect.stringContaining('<title>')]);
    expect(await ask('/parley/nothing')).toEqual([404, expect.stringContaining('"ROUTE_UNKNOWN"')]);

    if (socket !== null) {
      const own = new WebSocket(origin.replace('http', 'ws') + socket);
      expect(String((await once(own, 'message'))[0])).toBe('Hello from the application.');
      own.terminate();
    }
  });

  it('holds conversations, in which its function is called', async () => {
    const origin = await open(start);
    const chat = await fetch(`${origin}/parley/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PRIVATE_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'baker', messages: [{ role: 'user', content: 'Where is my order?' }] }),
    });
    expect(await chat.json()).toMatchObject({ choices: [{ message: { content: 'Your order is in the oven.' } }] });

    const client = new Client(new WebSocket(`${origin.replace('http', 'ws')}/parley/talk`));
    await client.initiate();
    await client.inbox.find(({ method }) => method === 'onready');
    await client.inbox.find(({ method, data }) => method === 'onresponsetext' && data === 'Hello, this is the bakery.');
    // The application closes while the conversation goes on.
    await app?.close();
    await client.inbox.closed;
    await app?.close();
  });
});
