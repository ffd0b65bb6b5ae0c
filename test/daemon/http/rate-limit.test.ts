import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { RateLimit } from '../../../src/daemon/http/rate-limit.js';
import { House } from '../house.js';

describe('the request limit', () => {
  it('lets a minute of requests through at once, then one as each becomes due', () => {
    let nowMs = 0;
    const limit = new RateLimit(60, () => nowMs);
    for (let request = 0; request < 60; request++) limit.take('a');
    expect(() => limit.take('a')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED', details: { seconds: 1 } }));
    nowMs = 1000;
    limit.take('a');
    expect(() => limit.take('a')).toThrow();
  });

  it('counts each caller alone', () => {
    const limit = new RateLimit(1, () => 0);
    limit.take('a');
    limit.take('b');
    expect(() => limit.take('a')).toThrow(expect.objectContaining({ details: { seconds: 60 } }));
  });

  it('stays bounded however many call', () => {
    const limit = new RateLimit(1, () => 0);
    for (let caller = 0; caller < 60_000; caller++) limit.take(String(caller));
    expect(() => limit.take('59999')).toThrow();
    limit.take('0'); // long forgotten
  });
});

describe('a daemon with a request limit', () => {
  it('answers 429 with Retry-After, and never to who watches its health', async () => {
    const house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 2 } });
    try {
      const ask = (path: string): Promise<Response> => fetch(`${house.address}${path}`);
      expect([(await ask('/page.json')).status, (await ask('/page.json')).status]).toEqual([200, 200]);
      const refused = await ask('/page.json');
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('Too many requests') as string });
      expect((await ask('/healthz')).status).toBe(200);
    } finally {
      await house.close();
    }
  });
});
