import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SessionTokens } from '../../../src/daemon/http/session-tokens.js';
import type { Keys } from '../../../src/store/secret-keys.js';
import { sql } from '../../../src/store/sql/statement.js';
import { MemoryTokenUses, SqlTokenUses } from '../../../src/store/token-uses.js';
import { isPostgresInstalled, postgres, type TestDatabase } from '../../store/support/backends.js';
import { House, PUBLIC_KEY } from '../house.js';

const KEYS = [Buffer.alloc(32, 1)] as const;

describe.skipIf(!isPostgresInstalled)('session tokens of nodes', () => {
  let test: TestDatabase;
  beforeEach(async () => {
    test = await postgres.open();
  });
  afterEach(() => test.remove());

  it('open one session each, on any node', async () => {
    const node = (): SessionTokens =>
      new SessionTokens({ keys: KEYS, uses: new SqlTokenUses(test.database, () => 0), nowUnixMs: () => 0 });
    const [one, other] = [node(), node()];
    const { token } = one.mint('k1');
    const all = await Promise.all([one, other, one, other].map((tokens) => tokens.redeem(token)));
    expect(all.filter((claim) => claim !== null)).toEqual([{ keyId: 'k1', pin: null }]);
    expect(await other.redeem(one.mint(null).token)).toEqual({ keyId: null, pin: null });
  });

  it('are forgotten when they have expired on all nodes', async () => {
    let now = 0;
    const uses = new SqlTokenUses(test.database, () => now);
    const count = async (): Promise<number> => (await test.database.all(sql`SELECT id FROM session_token_uses`)).length;
    expect([await uses.use('a', 60_000), await uses.use('a', 60_000)]).toEqual([true, false]);
    now = 120_000;
    expect(await uses.use('a', 60_000)).toBe(false);
    now = 180_001;
    await uses.use('b', 240_000);
    expect(await count()).toBe(1);
  });
});

describe('session tokens', () => {
  const open = (nowUnixMs: () => number = () => 0, keys: Keys = KEYS): SessionTokens =>
    new SessionTokens({ keys, uses: new MemoryTokenUses(nowUnixMs), nowUnixMs });

  it('open one session each, for what their key is for', async () => {
    const tokens = open();
    const { token } = tokens.mint('k1');
    expect(await tokens.redeem(token)).toEqual({ keyId: 'k1', pin: null });
    expect(await tokens.redeem(token)).toBeNull();
    expect(await tokens.redeem(tokens.mint(null).token)).toEqual({ keyId: null, pin: null });
  });

  it('cannot be made up or changed', async () => {
    const tokens = open();
    const { token } = tokens.mint('k1');
    const bytes = Buffer.from(token.slice(3), 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await tokens.redeem(`st_${changed.toString('base64url')}`)).toBeNull();
    }
    for (const text of ['', 'st_', 'st_made_up', token.slice(0, -1), `st_${'A'.repeat(5_000)}`, 'pk_a']) {
      expect(await tokens.redeem(text)).toBeNull();
    }
    expect(await tokens.redeem(token)).toEqual({ keyId: 'k1', pin: null });
  });

  it('expire after 60 s', async () => {
    let now = 1_700_000_000_500;
    const tokens = open(() => now);
    const first = tokens.mint('k1');
    const second = tokens.mint('k1');
    expect(first.expiresAt).toBe(1_700_000_060);
    now += 59_999;
    expect(await tokens.redeem(first.token)).toEqual({ keyId: 'k1', pin: null });
    now += 1;
    expect(await tokens.redeem(second.token)).toBeNull();
  });

  it('are valid with the keys of the process that made them', async () => {
    const [next, old] = [Buffer.alloc(32, 2), KEYS[0]];
    const { token } = open().mint('k1');
    expect(await open(() => 0, [next]).redeem(token)).toBeNull();
    expect(await open(() => 0, [next, old]).redeem(token)).toEqual({ keyId: 'k1', pin: null });
  });
});

describe('POST /sessions/token', () => {
  let house: House;

  beforeAll(async () => {
    house = await House.open({ allowedOrigins: ['https://shop.example'] });
  });

  afterAll(async () => {
    await house.close();
  });

  const mint = (headers: Record<string, string>, body?: string): Promise<{ status: number; body: unknown }> =>
    house.ask('/sessions/token', { method: 'POST', headers, ...(body !== undefined && { body }) });

  it.each([PUBLIC_KEY, `Bearer ${PUBLIC_KEY}`, `bearer  ${PUBLIC_KEY} `])('takes %j', async (authorization) => {
    const { status, body } = await mint({ authorization });
    expect(status).toBe(200);
    expect(body).toEqual({
      token: expect.stringMatching(/^st_[\w-]{80,}$/) as string,
      expires_at: expect.any(Number) as number,
      ice_servers: [],
    });
  });

  it.each(['', 'pk_wrong', 'Bearer', `${PUBLIC_KEY}x`])('refuses %j', async (authorization) => {
    expect(await mint({ authorization })).toMatchObject({ status: 401, body: { code: 'AUTH_REQUIRED' } });
  });

  it('refuses strangers before it looks at what they send', async () => {
    expect((await mint({ authorization: 'pk_wrong', 'content-type': 'application/json' }, '{')).status).toBe(401);
  });

  it('knows the pages that may ask', async () => {
    const ask = async (origin: string): Promise<number> => (await mint({ authorization: PUBLIC_KEY, origin })).status;
    expect(await ask(house.address)).toBe(200);
    expect(await ask('https://shop.example')).toBe(200);
    expect(await ask('https://evil.example')).toBe(403);
    expect(await ask('https://shop.example.evil.example')).toBe(403);
    expect(await ask('null')).toBe(403);
  });

  it('takes an empty object for a body', async () => {
    expect((await mint({ authorization: PUBLIC_KEY, 'content-type': 'application/json' }, '{}')).status).toBe(200);
  });
});
