/**
 * Every endpoint of the endpoint table with every kind of wrong credential: the answer is 401, 403 or 404, whatever the
 * rest of the request is, and nothing changes. An endpoint that answers without a key has to be listed here.
 */
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../daemon/house.js';
import { type Credentials, makeCredentials, SHOP, STRANGER } from './credentials.js';

/** Without a key; `/metrics` to this machine only, which these requests come from. */
const OPEN = ['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /metrics', 'GET /schemas/{file}'];
/** What a public key, or a token of it, opens beside that. */
const PUBLIC = ['POST /sessions/token', 'POST /webrtc/offer', 'GET /agents/{agent_id}/embed'];
const REFUSED = [401, 403, 404];
const LIFETIME_MS = 61_000;

let house: House;
let credentials: Credentials;
let operations: { name: string; method: 'GET' | 'POST' | 'PUT' | 'DELETE'; path: string }[];
/** Ids of things that are there, by their names in paths. */
let ids: Record<string, string>;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 1e9 } });
  const { paths } = (await house.ask('/openapi.json')).body as { paths: Record<string, Record<string, unknown>> };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase() as 'GET',
      path,
    })),
  );
  credentials = await makeCredentials(house, () => vi.advanceTimersByTime(LIFETIME_MS));
  const made = async (path: string, body: unknown) =>
    ((await house.ask(path, asPrivate('POST', body))).body as { id: string }).id;
  ids = {
    agent_id: 'baker',
    phone: await made('/phones/purchase', {}),
    user: 'somebody',
    file: 'agent.json',
    campaign_id: await made('/campaigns', { name: 'access' }),
  };
});
afterAll(async () => {
  await house.close();
  vi.useRealTimers();
  expect(house.faults).toEqual([]);
});

function asPrivate(method: string, body?: unknown): RequestInit {
  return {
    method,
    headers: { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

const urlOf = (path: string): string => path.replace(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? 'unknown');

/** What the private key sees of everything that requests could have changed. */
async function everything(): Promise<unknown> {
  const paths = ['/agents', '/phones', '/campaigns', '/keys', '/do-not-call', '/call-logs', '/knowledge/list_files'];
  return Promise.all(paths.map(async (path) => (await house.ask(path, asPrivate('GET'))).body));
}

describe('every endpoint', () => {
  it('refuses every wrong credential before it looks at the rest of the request', async () => {
    expect(operations.length).toBeGreaterThan(50);
    const before = await everything();
    const closed = operations.filter(({ name }) => !OPEN.includes(name));
    const answers: string[] = [];
    let asked = 0;
    for (const { name, method, path } of closed) {
      const bodies = method === 'GET' ? [undefined] : [undefined, '{}', '{"'];
      await Promise.all(
        credentials.bad.flatMap(({ name: credential, headers }) =>
          bodies.map(async (body) => {
            // A public key that is for another agent, on a page that it may be used on, does mint tokens for that one.
            if (name === 'POST /sessions/token' && credential === 'a public key of another agent') return;
            const type = body === undefined ? {} : { 'content-type': 'application/json' };
            const init = { method, headers: { ...headers, ...type }, ...(body !== undefined && { body }) };
            const response = await house.request(urlOf(path), init);
            await response.arrayBuffer();
            asked++;
            if (!REFUSED.includes(response.status)) {
              answers.push(`${name} with ${credential}: ${String(response.status)}`);
            }
          }),
        ),
      );
    }
    expect(answers).toEqual([]);
    expect(asked).toBeGreaterThan(closed.length * credentials.bad.length);
    expect(await everything()).toEqual(before);
  });

  it('of the private kind refuses public keys and tokens, wherever they come from', async () => {
    const answers: string[] = [];
    for (const { name, method, path } of operations) {
      if (OPEN.includes(name) || PUBLIC.includes(name)) continue;
      for (const [authorization, origin] of [
        [PUBLIC_KEY, house.address],
        [PUBLIC_KEY, undefined],
        [credentials.boundKey, SHOP],
        [await credentials.freshToken(), house.address],
      ] as const) {
        const response = await house.request(urlOf(path), {
          method,
          headers: { authorization, ...(origin !== undefined && { origin }) },
        });
        await response.arrayBuffer();
        if (!REFUSED.includes(response.status)) answers.push(`${name}: ${String(response.status)}`);
      }
    }
    expect(answers).toEqual([]);
  });

  it('that answers without a key is known to do so', async () => {
    const open: string[] = [];
    for (const { name, method, path } of operations) {
      const response = await house.request(urlOf(path), { method });
      await response.arrayBuffer();
      if (!REFUSED.includes(response.status)) open.push(name);
    }
    expect(open.toSorted()).toEqual(OPEN.toSorted());
  });

  it('opens by no other spelling of its method or path', async () => {
    const answers: string[] = [];
    const client = new Pool(house.address, { connections: 2 });
    onTestFinished(() => client.destroy());
    for (const { name, method, path } of operations) {
      if (OPEN.includes(name)) continue;
      const url = urlOf(path);
      const spellings = [
        `${url}/`,
        `/${url}`,
        `${url}?authorization=${PRIVATE_KEY}&api_key=${PRIVATE_KEY}`,
        url.toUpperCase(),
        url.replace(/[a-z]/, (char) => `%${char.charCodeAt(0).toString(16)}`),
        `${url};key=${PRIVATE_KEY}`,
        `/healthz/..${url}`,
        `/healthz/%2e%2e${url}`,
        `/carriers/..%2f${url.slice(1)}`,
        `/healthz/.${url}`,
        `${url}#/healthz`,
        `http://127.0.0.1${url}`,
        `${url}%00`,
        `${url}%2f`,
      ];
      for (const spelling of spellings) {
        for (const as of [method, 'HEAD', 'GET', 'OPTIONS'] as const) {
          const headers = { authorization: 'sk_wrong' };
          // `fetch` would send the path in its usual spelling.
          const { statusCode: status, body } = await client.request({ path: spelling, method: as, headers });
          await body.dump();
          if (![...REFUSED, 405].includes(status)) answers.push(`${as} ${spelling}: ${String(status)}`);
        }
      }
    }
    expect(answers).toEqual([]);
  });
});

describe('what a public key opens', () => {
  it('is for its agents, its pages and its time', async () => {
    const ask = async (method: string, path: string, authorization: string, origin: string) => {
      const response = await house.request(path, { method, headers: { authorization, origin } });
      await response.arrayBuffer();
      return response.status;
    };
    const { boundKey } = credentials;
    expect(await ask('POST', '/sessions/token', boundKey, SHOP)).toBe(200);
    expect(await ask('GET', '/agents/baker/embed', boundKey, SHOP)).toBe(200);
    for (const origin of [STRANGER, house.address, 'null', `${SHOP}.evil.example`, SHOP.replace('https', 'http')]) {
      expect(await ask('POST', '/sessions/token', boundKey, origin), origin).toBe(403);
      expect(await ask('GET', '/agents/baker/embed', boundKey, origin), origin).toBe(403);
    }
    expect(await ask('GET', '/agents/the-crooked-fork/embed', boundKey, SHOP)).toBe(403);
    expect(await ask('POST', '/webrtc/offer', boundKey, SHOP)).toBe(403);
  });

  it.each(['the talk socket', 'registered calls'])('is refused to wrong credentials at %s', async (place) => {
    for (const { name, headers } of credentials.bad) {
      const { authorization = '', origin } = headers;
      const client = house.connect(origin === undefined ? {} : { origin });
      const status = await client.refused;
      if (status !== null) {
        expect(status, name).toBe(403);
        continue;
      }
      const key = authorization === '' ? {} : { public_key: authorization };
      const data =
        place === 'registered calls' ? { ...key, call_id: 'unknown' } : { ...key, agent: { agent_id: 'baker' } };
      await client.send({ method: 'initiate', data });
      const { method, data: reason } = await client.inbox.find(() => true);
      expect([method, name]).toEqual(['onerror', name]);
      expect(String(reason)).not.toBe('');
      client.socket.terminate();
    }
  });
});

describe('a signed link', () => {
  it('opens nothing with a wrong, foreign or expired signature', async () => {
    const { body } = await house.ask('/voices', asPrivate('GET'));
    const link = /"(http[^"]+expires=[^"]+)"/.exec(JSON.stringify(body))?.[1];
    if (link === undefined) throw new Error('no voice has a preview');
    const url = new URL(link);
    const ask = async (change: (url: URL) => void): Promise<number> => {
      const changed = new URL(`${house.address}${url.pathname}${url.search}`);
      change(changed);
      const response = await fetch(changed);
      await response.arrayBuffer();
      return response.status;
    };
    expect(await ask(() => undefined)).toBe(200);
    const signature = url.searchParams.get('signature') ?? '';
    const wrong: ((url: URL) => void)[] = [
      ({ searchParams }) => searchParams.delete('signature'),
      ({ searchParams }) => searchParams.set('signature', ''),
      ({ searchParams }) =>
        searchParams.set('signature', `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`),
      ({ searchParams }) => searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1)),
      ({ searchParams }) => searchParams.set('expires', 'Infinity'),
      (changed) => (changed.pathname = changed.pathname.replace(/.$/, 'x')),
    ];
    for (const change of wrong) expect(REFUSED).toContain(await ask(change));
    vi.advanceTimersByTime(366 * 86_400_000);
    expect(REFUSED).toContain(await ask(() => undefined));
  });
});
