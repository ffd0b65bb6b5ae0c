import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SessionTokens } from '../../../src/daemon/http/session-tokens.js';
import { House, PUBLIC_KEY } from '../house.js';

const KEY = { id: 'k1', agents: ['baker'], origins: [] };

describe('session tokens', () => {
  it('open one session each, for what their key is for', () => {
    const tokens = new SessionTokens(() => 0);
    const { token } = tokens.mint(KEY);
    expect(tokens.redeem(token)).toBe(KEY);
    expect(tokens.redeem(token)).toBeNull();
    expect(tokens.redeem('st_made_up')).toBeNull();
  });

  it('expire after 60 s', () => {
    let now = 1_700_000_000_500;
    const tokens = new SessionTokens(() => now);
    const first = tokens.mint(KEY);
    const second = tokens.mint(KEY);
    expect(first.expiresAt).toBe(1_700_000_060);
    now += 59_999;
    expect(tokens.redeem(first.token)).toBe(KEY);
    now += 1;
    expect(tokens.redeem(second.token)).toBeNull();
  });

  it('are no more than 10,000 at once: the oldest give way', () => {
    const tokens = new SessionTokens(() => 0);
    const minted = Array.from({ length: 10_001 }, () => tokens.mint(KEY).token);
    expect(tokens.redeem(minted[0] ?? '')).toBeNull();
    expect(tokens.redeem(minted[1] ?? '')).toBe(KEY);
    expect(new Set(minted).size).toBe(10_001);
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
      token: expect.stringMatching(/^st_.{32}$/) as string,
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
