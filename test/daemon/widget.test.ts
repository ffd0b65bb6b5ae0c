import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

const SHOP = 'https://shop.example';
let house: House;

beforeAll(async () => {
  const regions = { eu: 'https://eu.example/voice' };
  house = await House.open({ page: false, allowedOrigins: ['https://all.example'], regions });
});

afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

describe("the widget's files", () => {
  it.each([
    '/widget.js',
    '/web-sdk.js',
    '/assets/capture-worklet.js',
    '/assets/playback-worklet.js',
    '/assets/icon.svg',
  ])('%s is for pages of all origins, also where the daemon has no page of its own', async (path) => {
    const { status, headers } = await house.request(path, { headers: { origin: SHOP } });
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each([
    ['gzip, deflate, br', true],
    ['GZIP;q=1.0', true],
    ['br;q=1, gzip;q=0.5', true],
    ['gzip;q=0, identity', false],
    ['identity', false],
  ])('go to a browser that accepts %j packed: %s', async (accepted, isPacked) => {
    const { headers } = await house.request('/widget.js', { method: 'HEAD', headers: { 'accept-encoding': accepted } });
    expect(headers.get('content-encoding')).toBe(isPacked ? 'gzip' : null);
    expect(headers.get('vary')).toBe('accept-encoding');
  });

  it('are the same packed and plain, and do not go to a browser that has them', async () => {
    const plain = await house.request('/widget.js', { headers: { 'accept-encoding': 'identity' } });
    const body = Buffer.from(await plain.arrayBuffer());
    const packed = await house.request('/widget.js'); // fetch unpacks it
    expect(Buffer.from(await packed.arrayBuffer()).equals(body)).toBe(true);
    const etag = plain.headers.get('etag') ?? '';
    const again = await house.request('/widget.js', { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('are not served to those who write', async () => {
    expect((await house.request('/widget.js', { method: 'POST' })).status).toBe(405);
  });
});

describe("the widget's frame", () => {
  const framers = async (query: string): Promise<string> => {
    const { status, headers } = await house.request(`/widget${query}`);
    expect(status).toBe(200);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'");
    expect(policy).toContain('https://eu.example');
    return /frame-ancestors (.*)$/.exec(policy)?.[1] ?? '';
  };

  it('may be shown by pages of the origins that its key is for', async () => {
    const body = JSON.stringify({ kind: 'public', name: 'shop', origins: [SHOP, house.address] });
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const { key } = (await house.ask('/keys', { method: 'POST', headers, body })).body as { key: string };
    expect(await framers(`?agent_id=baker&public_key=${key}`)).toBe(`'self' ${SHOP} ${house.address}`);
    // The frame's own requests come from the daemon's origin, which the key is for as well.
    const mint = (origin: string) =>
      house.ask('/sessions/token', { method: 'POST', headers: { authorization: key, origin } });
    expect((await mint(house.address)).status).toBe(200);
  });

  it("may be shown by the operator's origins with a key that is for all of them", async () => {
    expect(await framers(`?public_key=${PUBLIC_KEY}`)).toBe("'self' https://all.example");
  });

  it.each(['', '?public_key=pk_wrong', `?public_key=a&public_key=b`, `?public_key=${PRIVATE_KEY}`])(
    'may be shown by all where there is no key in %j that opens anything',
    async (query) => {
      expect(await framers(query)).toBe('*');
    },
  );
});
