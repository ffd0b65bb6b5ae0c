import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

const SHOP = 'https://shop.example';
const CAFE = 'https://cafe.example';

let house: House;
let cakes: string;
beforeAll(async () => {
  house = await House.open({
    allowedOrigins: [CAFE],
    publicAgentConfigFields: ['first_message', 'vad_threshold'],
    regions: { us: 'https://us.example' },
  });
  const { body } = await ask('POST', '/agents', {
    name: 'Cakes',
    config: { first_message: 'Hi.', llm: { model: 'scripted' } },
  });
  cakes = String(body['id']);
});
afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const init = {
    method,
    headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  return (await house.ask(path, init)) as Answer;
}

interface NewKey {
  id: string;
  key: string;
  hint: string;
}

async function make(body: unknown): Promise<NewKey> {
  const answer = await ask('POST', '/keys', body);
  expect(answer.status).toBe(200);
  return answer.body as unknown as NewKey;
}

async function ids(): Promise<unknown[]> {
  return ((await ask('GET', '/keys')).body as unknown as { id: unknown }[]).map(({ id }) => id);
}

const revoke = (id: string) => ask('DELETE', '/keys', { id });
const forbidden = (words: string) => ({ status: 403, body: { detail: expect.stringContaining(words) as string } });

describe('keys', () => {
  it('are made, shown once, listed by name and revoked at once', async () => {
    const made = await ask('POST', '/keys', { kind: 'private', name: 'Ann' });
    expect(made).toEqual({
      status: 200,
      body: {
        id: expect.any(String) as string,
        kind: 'private',
        name: 'Ann',
        agents: [],
        origins: [],
        scopes: ['read', 'write', 'publish', 'calls', 'evals', 'admin'],
        hint: expect.stringMatching(/^.{4}$/) as string,
        created_at: expect.any(Number) as number,
        key: expect.stringMatching(/^sk_.{43}$/) as string,
      },
    });
    const { key, ...entry } = made.body as unknown as NewKey;
    expect(key.endsWith(entry.hint)).toBe(true);
    const listed = await ask('GET', '/keys', undefined, { authorization: key });
    expect(listed.body).toContainEqual(entry);
    expect(JSON.stringify(listed.body)).not.toContain(key);
    expect(await revoke(entry.id)).toEqual({ status: 200, body: { success: true } });
    expect((await ask('GET', '/keys', undefined, { authorization: key })).status).toBe(401);
    expect((await revoke(entry.id)).status).toBe(404);
  });

  it.each<[unknown, (string | number)[]]>([
    [{ kind: 'secret', name: 'a' }, ['kind']],
    [{ kind: 'public' }, ['name']],
    [{ kind: 'public', name: '' }, ['name']],
    [{ kind: 'public', name: 'a', origins: ['shop.example'] }, ['origins', 0]],
    [{ kind: 'public', name: 'a', origins: ['https://shop.example/'] }, ['origins', 0]],
    [{ kind: 'public', name: 'a', agents: ['baker', 'nobody'] }, ['agents', 1]],
    [{ kind: 'private', name: 'a', agents: ['baker'] }, ['agents']],
    [{ kind: 'private', name: 'a', origins: [SHOP] }, ['origins']],
    [{ kind: 'public', name: 'a', scopes: ['read'] }, ['scopes']],
    [{ kind: 'private', name: 'a', scopes: [] }, ['scopes']],
    [{ kind: 'private', name: 'a', scopes: ['everything'] }, ['scopes', 0]],
  ])('are not made of %j', async (body, loc) => {
    const before = await ids();
    expect(await ask('POST', '/keys', body)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', ...loc] }] },
    });
    expect(await ids()).toEqual(before);
  });

  it('allow what their scopes name, on every endpoint', async () => {
    const reader = await make({ kind: 'private', name: 'reader', scopes: ['read'] });
    expect(reader).toMatchObject({ scopes: ['read'] });
    const as = (key: string, method: string, path: string, body?: unknown) =>
      ask(method, path, body, { authorization: key });
    expect((await as(reader.key, 'GET', '/agents')).status).toBe(200);
    const lacks = (scope: string) => ({
      status: 403,
      body: { code: 'AUTH_SCOPE', detail: `The key lacks the scope "${scope}"` },
    });
    expect(await as(reader.key, 'POST', '/agents', { name: 'X', config: {} })).toMatchObject(lacks('write'));
    expect(await as(reader.key, 'POST', '/start_outbound_call', {})).toMatchObject(lacks('calls'));
    expect(await as(reader.key, 'POST', '/evals/runs', {})).toMatchObject(lacks('evals'));
    expect(await as(reader.key, 'POST', '/webrtc/offer', {})).toMatchObject(lacks('calls'));
    expect(await as(reader.key, 'GET', '/keys')).toMatchObject(lacks('admin'));
    // The description of the interface names the scope that each endpoint needs, and the endpoint checks it.
    const writer = await make({ kind: 'private', name: 'no reader', scopes: ['write', 'calls', 'evals', 'admin'] });
    const { paths } = (await ask('GET', '/openapi.json')).body as unknown as {
      paths: Record<string, Record<string, { security: { key?: string[] }[] }>>;
    };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security }]) => ({ path, method, scope: security[0]?.key?.[0] })),
    );
    const scoped = operations.filter(({ scope }) => scope !== undefined);
    expect(scoped.length).toBeGreaterThan(60);
    // With a public key these work too, and this machine reads metrics without any.
    const others = new Set(['/sessions/token', '/metrics']);
    for (const { path, method, scope } of scoped.filter(({ path: of }) => !others.has(of))) {
      const key = scope === 'read' ? writer.key : reader.key;
      const answer = await as(key, method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'));
      expect(answer, `${method} ${path}`).toMatchObject(lacks(String(scope)));
    }
  });

  it('pass on only scopes that they have', async () => {
    const admin = await make({ kind: 'private', name: 'admin', scopes: ['admin', 'read'] });
    const by = (body: unknown) => ask('POST', '/keys', body, { authorization: admin.key });
    expect((await by({ kind: 'private', name: 'a', scopes: ['read'] })).status).toBe(200);
    expect((await by({ kind: 'public', name: 'a' })).status).toBe(200);
    for (const scopes of [['read', 'write'], undefined]) {
      expect(await by({ kind: 'private', name: 'a', scopes })).toMatchObject({
        status: 403,
        body: { code: 'AUTH_SCOPE' },
      });
    }
  });

  it('of the environment are changed there', async () => {
    const [own] = (await ask('GET', '/keys')).body as unknown as { id: string }[];
    const refused = await revoke(own?.id ?? '');
    expect([refused.status, refused.body['detail']]).toEqual([409, expect.stringContaining('PARLEY_')]);
  });
});

it('the last private key cannot be revoked', async () => {
  const alone = await House.open({ apiKey: null });
  try {
    const key = alone.daemon.newPrivateKey ?? '';
    const headers = { authorization: key, 'content-type': 'application/json' };
    const [entry] = (await alone.ask('/keys', { headers })).body as [{ id: string }];
    const all = (await alone.ask('/keys', { headers })).body as { id: string; kind: string }[];
    const own = all.find(({ kind }) => kind === 'private')?.id ?? entry.id;
    const answer = await alone.ask('/keys', { method: 'DELETE', headers, body: JSON.stringify({ id: own }) });
    expect(answer).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('last private key that manages keys') as string },
    });
    expect((await alone.ask('/keys', { headers })).status).toBe(200);
  } finally {
    await alone.close();
  }
});

/** What a talk session with the key begins with. */
async function talk(publicKey: string, agent: Record<string, unknown>, headers: Record<string, string> = {}) {
  const client = house.connect(headers);
  const status = await client.refused;
  if (status !== null) return status;
  await client.initiate({ public_key: publicKey, agent });
  const first = await client.inbox.find(({ method }) => method === 'onresponsetext' || method === 'onerror');
  client.socket.close();
  return first['data'];
}

const mint = (authorization: string, origin?: string) =>
  ask('POST', '/sessions/token', undefined, { authorization, ...(origin !== undefined && { origin }) });

describe('a public key that is bound', () => {
  let bound: NewKey;
  beforeAll(async () => {
    bound = await make({ kind: 'public', name: 'shop', agents: [cakes], origins: [SHOP] });
  });

  it('opens sessions with its agents only, and so do its tokens', async () => {
    expect(await talk(bound.key, { agent_id: cakes }, { origin: SHOP })).toBe('Hi.');
    expect(await talk(bound.key, { agent_id: 'baker' }, { origin: SHOP })).toContain('not for the agent "baker"');
    expect(await talk(bound.key, { agent_id: 'nobody' }, { origin: SHOP })).toContain('not for the agent "nobody"');
    const token = async () => String((await mint(bound.key, SHOP)).body['token']);
    expect(await talk(await token(), { agent_id: 'baker' }, { origin: SHOP })).toContain('not for the agent');
    expect(await talk(await token(), { agent_id: cakes }, { origin: SHOP })).toBe('Hi.');
  });

  it('is for its origins only', async () => {
    expect((await mint(bound.key, SHOP)).status).toBe(200);
    for (const origin of [CAFE, house.address, 'https://evil.example', 'null']) {
      expect(await mint(bound.key, origin), origin).toMatchObject(forbidden('may not talk here'));
    }
    expect(await talk(bound.key, { agent_id: cakes }, { origin: CAFE })).toContain('may not talk here');
    expect(await talk(bound.key, { agent_id: cakes }, { origin: 'https://evil.example' })).toBe(403);
    const { token } = (await mint(bound.key, SHOP)).body;
    expect(await talk(String(token), { agent_id: cakes }, { origin: CAFE })).toContain('may not talk here');
    // Its origins are no other key's.
    expect((await mint(PUBLIC_KEY, CAFE)).status).toBe(200);
    expect((await mint(PUBLIC_KEY, SHOP)).status).toBe(403);
    expect(await talk(PUBLIC_KEY, { agent_id: cakes }, { origin: SHOP })).toContain('may not talk here');
  });

  it('takes its tokens along when it is revoked', async () => {
    const other = await make({ kind: 'public', name: 'gone' });
    const { token } = (await mint(other.key)).body;
    await revoke(other.id);
    expect(await talk(String(token), { agent_id: cakes })).toBe('The key is missing or wrong');
    expect((await mint(other.key)).status).toBe(401);
  });

  it('reads how the widget of its agents looks', async () => {
    const looks = {
      titles: { idle: 'Talk' },
      size: 64,
      transcript: true,
      region: 'us',
      buttonCss: 'color: red',
      formCss: 'color: blue',
    };
    expect(await ask('POST', `/agents/${cakes}/embed`, looks)).toEqual({ status: 200, body: { success: true } });
    const read = (authorization: string, origin: string, id = cakes) =>
      ask('GET', `/agents/${id}/embed`, undefined, { authorization, origin });
    const nothing = { idle: null, connecting: null, running: null };
    expect(await read(bound.key, SHOP)).toEqual({
      status: 200,
      body: {
        titles: { ...nothing, idle: 'Talk' },
        icons: nothing,
        background: null,
        buttonCss: 'color: red',
        formCss: 'color: blue',
        size: 64,
        transcript: true,
        region: 'us',
        name: 'Cakes',
        base_url: 'https://us.example',
      },
    });
    expect((await read(PRIVATE_KEY, SHOP, 'baker')).body).toMatchObject({
      titles: nothing,
      size: null,
      base_url: null,
    });
    expect((await read(bound.key, SHOP, 'baker')).status).toBe(403);
    expect((await read(bound.key, 'https://evil.example')).status).toBe(403);
    expect((await read('pk_wrong', SHOP)).status).toBe(401);
    for (const [body, loc] of [
      [{ region: 'eu' }, ['region']],
      [{ titles: { busy: 'x' } }, ['titles', 'busy']],
      [{ size: 6.5 }, ['size']],
      [{ colour: 'red' }, ['colour']],
    ] as const) {
      const answer = await ask('POST', `/agents/${cakes}/embed`, body);
      expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', ...loc] }] } });
    }
    const { status } = await ask('POST', `/agents/${cakes}/embed`, looks, { authorization: bound.key, origin: SHOP });
    expect(status).toBe(403);
  });
});

describe('agent_config under a public key', () => {
  const config = (agentConfig: unknown) => talk(PUBLIC_KEY, { agent_id: cakes, agent_config: agentConfig });

  it('sets the fields that the operator allows', async () => {
    expect(await config({ first_message: 'Bonjour.' })).toBe('Bonjour.');
    expect(await config({})).toBe('Hi.');
    expect(await config(null)).toBe('Hi.');
  });

  it.each<[unknown, string]>([
    [{ prompt: 'Be rude.' }, 'agent_config.prompt needs a private key'],
    [{ first_message: 'Ho.', status: 'active' }, 'agent_config.status needs a private key'],
    [{ vad_threshold: 7 }, 'vad_threshold: Input should be less than or equal to 1'],
    ['junk', 'agent_config: Input should be an object'],
  ])('%j is refused', async (agentConfig, words) => {
    expect(await config(agentConfig)).toContain(words);
  });
});

describe('clients without an Origin', () => {
  it.each([
    ['127.0.0.1', null, 200],
    ['127.0.0.1', false, 403],
    ['0.0.0.0', null, 403],
    ['0.0.0.0', true, 200],
  ])('where the daemon listens on %s and the operator says %s', async (host, allowMissingOrigin, status) => {
    const daemon = await House.open({ host, allowMissingOrigin });
    daemon.address = daemon.address.replace('0.0.0.0', '127.0.0.1');
    const headers = { authorization: PUBLIC_KEY };
    expect((await daemon.ask('/sessions/token', { method: 'POST', headers })).status).toBe(status);
    await daemon.close();
  });
});

describe('the request limit', () => {
  const limits = { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 3 };

  it("is each private key's own, and each address's without one", async () => {
    const busy = await House.open({ limits });
    const statuses = async (headers: Record<string, string>, times: number) => {
      const found: number[] = [];
      for (let time = 0; time < times; time++) found.push((await busy.request('/agents', { headers })).status);
      return found;
    };
    expect(await statuses({ authorization: PRIVATE_KEY }, 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses({ authorization: PUBLIC_KEY }, 4)).toEqual([403, 403, 403, 429]);
    // Wrong keys are no one's: guessing counts against the address.
    expect(await statuses({ authorization: 'a' }, 2)).toEqual([401, 401]);
    expect(await statuses({ authorization: 'b' }, 2)).toEqual([401, 429]);
    expect(await statuses({}, 1)).toEqual([429]);
    await busy.close();
  });
});

describe('pages of other origins', () => {
  const preflight = (path: string, origin: string) =>
    house.request(path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });

  it('may read their answers where they may talk', async () => {
    await make({ kind: 'public', name: 'shop', origins: [SHOP] });
    for (const path of ['/sessions/token', '/webrtc/offer', '/agents/baker/embed']) {
      for (const origin of [SHOP, CAFE]) {
        const { status, headers } = await preflight(path, origin);
        expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([
          204,
          origin,
          'origin',
        ]);
        expect(headers.get('access-control-allow-headers')).toBe('authorization, content-type, x-openai-agents-sdk');
      }
    }
    const headers = { authorization: PUBLIC_KEY, origin: CAFE };
    const answer = await house.request('/sessions/token', { method: 'POST', headers });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, CAFE]);
  });

  it('are refused on other paths, and for everything that is for servers', async () => {
    for (const [path, origin] of [
      ['/sessions/token', 'https://evil.example'],
      ['/agents', CAFE],
      ['/agents/baker', CAFE],
    ] as const) {
      const { status, headers } = await preflight(path, origin);
      expect([status, headers.get('access-control-allow-origin')], path).toEqual([405, null]);
    }
  });
});

it('the page can be left out', async () => {
  const bare = await House.open({ page: false });
  expect([(await bare.request('/')).status, (await bare.request('/page.json')).status]).toEqual([404, 404]);
  expect((await bare.request('/healthz')).status).toBe(200);
  await bare.close();
});
