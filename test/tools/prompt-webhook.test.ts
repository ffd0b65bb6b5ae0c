import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { GuardedClient } from '../../src/net/guarded-client.js';
import { askForPrompt, type ExtraPrompt, type PromptRequest } from '../../src/tools/prompt-webhook.js';
import { event, httpServer, type LocalServer } from '../net/local-server.js';

let server: LocalServer;
let clients: GuardedClient[];
let seen: { method: string | undefined; url: URL; headers: Record<string, unknown> }[];
let reply: { status: number; body: string } | null;
let asked: ReturnType<typeof event<void>>;
beforeEach(async () => {
  clients = [];
  seen = [];
  reply = { status: 200, body: '{"metadata":{"tier":"gold"},"extra_prompt":"Be brief."}' };
  asked = event();
  server = await httpServer((request, response) => {
    const url = new URL(request.url ?? '', server.origin);
    seen.push({ method: request.method, url, headers: request.headers });
    asked.fire();
    if (reply !== null) response.writeHead(reply.status).end(reply.body);
  });
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await server.close();
});

function ask(
  more: Partial<PromptRequest> = {},
  clock: RealClock | VirtualClock = new RealClock(),
): Promise<ExtraPrompt> {
  const client = new GuardedClient({ clock, allowUrls: [server.origin] });
  clients.push(client);
  const request = { sessionId: 's-1', agentId: 'a-1', phones: null, metadata: {}, ...more };
  const address = { url: `${server.origin}/brief?key=1&from=x`, headers: { 'x-key': 'k' } };
  return askForPrompt(client, address, { ...request, signal: new AbortController().signal });
}

const query = (): Record<string, string> => Object.fromEntries(seen[0]?.url.searchParams ?? []);

describe('an extra_prompt_webhook', () => {
  it('is asked with GET for metadata and more prompt', async () => {
    expect(await ask()).toEqual({ metadata: { tier: 'gold' }, extraPrompt: 'Be brief.' });
    expect(seen[0]).toMatchObject({ method: 'GET', headers: { 'x-key': 'k' } });
    expect(query()).toEqual({ key: '1', session_id: 's-1', agent_id: 'a-1' });
  });

  it('gets the phones and all metadata, which cannot stand in for the session', async () => {
    const metadata = {
      name: 'Ann & Bob',
      age: 7,
      vip: true,
      none: null,
      tags: ['a'],
      order: { id: 3, at: { day: 1 } },
    };
    await ask({ metadata: { ...metadata, session_id: 'forged', to: 'forged' }, phones: { from: '+1', to: '+2' } });
    expect(query()).toEqual({
      key: '1',
      session_id: 's-1',
      agent_id: 'a-1',
      from: '+1',
      to: '+2',
      name: 'Ann & Bob',
      age: '7',
      vip: 'true',
      tags: '["a"]',
      'order.id': '3',
      'order.at.day': '1',
    });
  });

  it('may have nothing to add', async () => {
    for (const body of ['', '{}', '{"metadata":null,"extra_prompt":null,"other":1}']) {
      reply = { status: 200, body };
      expect(await ask({ agentId: null })).toEqual({ metadata: {}, extraPrompt: '' });
    }
    expect(query()).not.toHaveProperty('agent_id');
  });

  it.each([
    [{ status: 500, body: '' }, /status 500/],
    [{ status: 302, body: '' }, /status 302/],
    [{ status: 200, body: 'hello' }, /not JSON/],
    [{ status: 200, body: '{"extra_prompt":7}' }, /not \{metadata, extra_prompt\}/],
    [{ status: 200, body: '{"metadata":[1]}' }, /not \{metadata, extra_prompt\}/],
    [{ status: 200, body: 'x'.repeat(100_000) }, /larger/],
  ])('that answers %j is a fault', async (answer, words) => {
    reply = answer;
    await expect(ask()).rejects.toThrow(words);
  });

  it('is given two seconds', async () => {
    reply = null;
    const clock = new VirtualClock();
    const refused = expect(ask({}, clock)).rejects.toThrow(/2000 ms/);
    await asked.happened;
    await clock.advanceBy(1_999);
    expect(clock.pending).toBe(1);
    await clock.advanceBy(1);
    await refused;
  });
});
