import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nowUnixMs, RealClock } from '../../src/base/real-clock.js';
import { McpAuthorizationStore } from '../../src/store/mcp-authorizations.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { sql } from '../../src/store/sql/statement.js';
import type { McpAuthorization } from '../../src/tools/mcp/oauth/authorizations.js';
import { McpAuthorizer } from '../../src/tools/mcp/oauth/authorizer.js';
import { browse, ProtectedServer } from '../tools/mcp/protected-server.js';
import { backends, type TestDatabase } from './support/backends.js';

const never = new AbortController().signal;
const box = new SecretBox(Buffer.alloc(32, 1));

describe.each(backends)('authorizations at MCP servers on $name', (backend) => {
  let test: TestDatabase;
  beforeAll(async () => {
    test = await backend.open();
  });
  afterAll(() => test.remove());

  const node = (): McpAuthorizationStore => new McpAuthorizationStore(test.database, box);
  const record: McpAuthorization = {
    resource: 'https://stock.example/mcp',
    facts: null,
    client: null,
    tokens: { access: 'at_secret', refresh: null, expiresAtMs: null, obtainedAtMs: 0, scopes: [] },
    wanted: null,
    pending: null,
  };

  it('are kept, encrypted', async () => {
    const [one, other] = [node(), node()];
    expect(await one.get('stock')).toBeNull();
    await one.set('stock', record);
    expect(await other.get('stock')).toEqual(record);
    const [row] = await test.database.all<{ record: string }>(sql`SELECT record FROM mcp_authorizations`);
    expect(row?.record).toMatch(/^v1\./);
    await other.set('stock', null);
    expect(await one.get('stock')).toBeNull();
  });

  it('are changed by one node at a time', async () => {
    const [one, other] = [node(), node()];
    expect([await one.claim('crm', 60_000), await other.claim('crm', 60_000)]).toEqual([true, false]);
    await other.release('crm'); // it is not its own
    expect(await other.claim('crm', 60_000)).toBe(false);
    await one.release('crm');
    expect(await other.claim('crm', 0)).toBe(true);
    // A claim ends by itself, if its node does not come back.
    expect(await one.claim('crm', 60_000)).toBe(true);
  });

  it('are refreshed once by nodes that find the token expired at the same time', async () => {
    const server = await ProtectedServer.open();
    let aheadMs = 0;
    const nodes = [0, 1, 2].map(
      () =>
        new McpAuthorizer({
          servers: { shared: { url: server.url } },
          store: node(),
          clock: new RealClock(),
          nowUnixMs: () => nowUnixMs() + aheadMs,
        }),
    );
    try {
      const [first] = nodes as [McpAuthorizer];
      await first.finish(await browse(await first.begin('shared', 'http://127.0.0.1/callback', never)), never);
      aheadMs = 3_599_000;
      const grants = await Promise.all(nodes.map((one) => one.grant('shared', never)));
      expect(new Set(grants.map((grant) => JSON.stringify(grant))).size).toBe(1);
      expect(grants[0]).toMatchObject({ kind: 'token' });
      expect(server.provider.refreshes).toBe(1);
    } finally {
      for (const one of nodes) await one.close();
      await server.close();
    }
  });
});
