import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { browse, ProtectedServer } from '../../tools/mcp/protected-server.js';
import { parley } from '../../cli/support.js';
import { House, PRIVATE_KEY } from '../house.js';

let house: House;
let server: ProtectedServer;
afterEach(async () => {
  await house.close();
  await server.close();
  expect(house.faults).toEqual([]);
});

async function open(dataDir?: string): Promise<void> {
  const mcpServers = { stock: { url: server.url }, own: { url: server.url, headers: { Authorization: 'Bearer x' } } };
  house = await House.open({ mcpServers, ...(dataDir !== undefined && { dataDir }) });
}

const ask = async (method: string, path: string, key = PRIVATE_KEY) => {
  const { status, body } = await house.ask(path, { method, headers: { authorization: key } });
  return { status, body: body as Record<string, unknown> };
};

it('an operator authorizes the daemon once, and it stays authorized', async () => {
  server = await ProtectedServer.open();
  await open();
  const state = { server: 'stock', url: server.url, state: 'open', issuer: null, scopes: [], wanted: null };
  expect((await ask('GET', '/mcp/servers')).body).toMatchObject([state]);
  expect(await ask('POST', '/mcp/servers/own/authorize')).toMatchObject({ status: 404 });
  const begun = await ask('POST', '/mcp/servers/stock/authorize');
  const url = new URL(String(begun.body['url']));
  expect(url.searchParams.get('redirect_uri')).toBe(`${house.address}/mcp/oauth/callback`);
  const callback = new URLSearchParams(await browse(url.href));
  const odd = await house.request('/mcp/oauth/callback?state=%3Cscript%3E&code=1');
  expect([odd.status, await odd.text()]).toEqual([502, expect.stringContaining('was not begun here')]);
  const page = await house.request(`/mcp/oauth/callback?${String(callback)}`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('authorized at “stock”')]);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect((await ask('GET', '/mcp/servers')).body).toMatchObject([{ state: 'authorized', scopes: ['stock:read'] }]);

  const { dataDir } = house;
  const [token = ''] = server.provider.access.keys();
  await house.daemon.close();
  const stored = ['parley.db', 'parley.db-wal'].map((name) => {
    try {
      return readFileSync(join(dataDir, name), 'latin1');
    } catch {
      return '';
    }
  });
  expect(stored.join('')).not.toContain(token);
  await open(dataDir);
  expect((await ask('GET', '/mcp/servers')).body).toMatchObject([{ state: 'authorized' }]);
  expect((await ask('DELETE', '/mcp/servers/stock/authorization')).body).toEqual({ success: true });
  expect((await ask('GET', '/mcp/servers')).body).toMatchObject([{ state: 'open' }]);
  expect((await ask('GET', '/mcp/oauth/client.json')).status).toBe(404);
});

it('parley mcp login prints the address and waits for the browser', async () => {
  server = await ProtectedServer.open();
  await open();
  const env = { PARLEY_URL: house.address, PARLEY_API_KEY: PRIVATE_KEY };
  expect((await parley(['mcp', 'servers'], { env })).out).toBe(`stock  ${server.url}  open\n`);
  let browser: Promise<unknown> = Promise.resolve();
  const onOutput = (text: string): void => {
    if (!text.startsWith('http')) return;
    browser = browse(text.trim()).then((query) =>
      house.request(`/mcp/oauth/callback?${String(new URLSearchParams(query))}`),
    );
  };
  const done = await parley(['mcp', 'login', 'stock'], { env, onOutput });
  await browser;
  expect(done).toMatchObject({ code: 0, err: expect.stringContaining('authorized at stock for stock:read') as string });
  expect(JSON.parse((await parley(['mcp', 'servers', '--json'], { env })).out)).toMatchObject([
    { state: 'authorized' },
  ]);
  expect((await parley(['mcp', 'logout', 'stock'], { env })).err).toContain('is forgotten');
  expect((await parley(['mcp', 'logout', 'stock'], { env })).err).toContain('was not authorized');
  expect(await parley(['mcp', 'login', 'nobody'], { env })).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no MCP server') as string,
  });
  for (const args of [['login'], ['servers', 'x'], ['logon', 'x']]) {
    expect((await parley(['mcp', ...args], { env })).code, args.join(' ')).toBe(2);
  }
});
