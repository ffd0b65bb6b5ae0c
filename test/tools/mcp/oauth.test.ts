import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nowUnixMs, RealClock } from '../../../src/base/real-clock.js';
import type { McpOAuthSetting } from '../../../src/settings/setting-items.js';
import { MemoryAuthorizations } from '../../../src/tools/mcp/oauth/authorizations.js';
import { McpAuthorizer, type McpServerState } from '../../../src/tools/mcp/oauth/authorizer.js';
import { challengeOf } from '../../../src/tools/mcp/oauth/discovery.js';
import { McpServers } from '../../../src/tools/mcp/tools.js';
import type { ToolResult } from '../../../src/tools/tool.js';
import { httpServer, type LocalServer } from '../../net/local-server.js';
import { browse, ProtectedServer } from './protected-server.js';

const CALLBACK = 'http://127.0.0.1:8080/mcp/oauth/callback';
const WITHIN = { timeout: 20_000, interval: 20 };
const never = new AbortController().signal;

let server: ProtectedServer;
let closing: { close: () => Promise<void> }[];
beforeEach(async () => {
  server = await ProtectedServer.open();
  closing = [server];
});
afterEach(async () => {
  for (const each of closing.toReversed()) await each.close();
});

/** What one process has. */
class Process {
  readonly faults: string[] = [];
  readonly authorizer: McpAuthorizer;
  readonly servers: McpServers;
  aheadMs = 0;

  constructor(oauth?: McpOAuthSetting, store = new MemoryAuthorizations(), document: string | null = null) {
    const settings = { stock: { url: server.url, ...(oauth !== undefined && { oauth }) } };
    const clock = new RealClock();
    this.authorizer = new McpAuthorizer({
      servers: settings,
      store,
      clock,
      nowUnixMs: () => nowUnixMs() + this.aheadMs,
      clientDocument: () => document,
    });
    this.servers = new McpServers({
      servers: settings,
      clock,
      tokens: this.authorizer,
      firstWaitMs: 20_000,
      onFault: (_name, reason) => void this.faults.push(reason),
    });
    closing.push(this.authorizer, this.servers);
  }

  async state(): Promise<McpServerState | undefined> {
    return (await this.authorizer.states())[0];
  }

  /** An operator authorizes parley. */
  async login(): Promise<void> {
    const url = await this.authorizer.begin('stock', CALLBACK, never);
    expect(await this.authorizer.finish(await browse(url), never)).toBe('stock');
  }

  call(name: string): Promise<ToolResult> {
    const tool = this.servers
      .tools(null, new RealClock(), new Set())
      .find(({ spec }) => spec.name === `stock__${name}`);
    if (tool === undefined) throw new Error(`there is no ${name}`);
    return tool.run({ id: 'c', name, arguments: '{}' }, { sessionId: 's', metadata: {}, signal: never });
  }
}

/** A process that is authorized and connected. */
async function authorized(): Promise<Process> {
  const process = new Process();
  await process.login();
  await process.servers.warmUp();
  expect(process.faults).toEqual([]);
  return process;
}

const SEVEN = { ok: true, content: 'count: 7' };

describe('a server that wants authorization', { timeout: 60_000 }, () => {
  it('is authorized once by an operator, and connects by itself then', async () => {
    const process = new Process();
    await process.servers.warmUp();
    expect(process.faults).toEqual([expect.stringContaining("the operator's authorization for stock:read")]);
    expect(await process.state()).toMatchObject({ state: 'needed', wanted: ['stock:read'], issuer: null });
    const url = new URL(await process.authorizer.begin('stock', CALLBACK, never));
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: 'stock:read',
      resource: server.url,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    await process.authorizer.finish(await browse(url.href), never);
    expect(await process.state()).toMatchObject({
      state: 'authorized',
      scopes: ['stock:read'],
      wanted: null,
      issuer: new URL(server.url).origin + '/',
    });
    await vi.waitUntil(() => process.servers.tools(null, new RealClock(), new Set()).length === 2, WITHIN);
    expect(await process.call('count')).toEqual(SEVEN);
    // It was reported once, however often it was looked for.
    expect(process.faults).toHaveLength(1);
  });

  it('gets another token in the call that has an expired one, one refresh for all', async () => {
    const process = await authorized();
    server.provider.expire();
    const results = await Promise.all(Array.from({ length: 5 }, () => process.call('count')));
    expect(results).toEqual(Array.from({ length: 5 }, () => SEVEN));
    expect(server.provider.refreshes).toBe(1);
    expect(server.provider.resources).toEqual([server.url]);
  });

  it('gets another token before the old one expires', async () => {
    const process = await authorized();
    process.aheadMs = 3_530_000;
    expect(await process.call('count')).toEqual(SEVEN);
    expect(server.provider.refreshes).toBe(0);
    process.aheadMs = 3_545_000;
    expect(await process.call('count')).toEqual(SEVEN);
    expect(await process.call('count')).toEqual(SEVEN);
    expect(server.provider.refreshes).toBe(1);
  });

  it('tells the model when the operator has to act again', async () => {
    const process = await authorized();
    server.provider.expire();
    server.provider.expireRefresh();
    const lost = await process.call('count');
    expect(lost).toEqual({
      ok: false,
      content: expect.stringContaining('the operator has to authorize it first') as string,
    });
    expect(await process.state()).toMatchObject({ state: 'needed', wanted: ['stock:read'] });
    // Without a token, the server is left in peace.
    expect((await process.call('count')).ok).toBe(false);
    await process.login();
    expect(await process.call('count')).toEqual(SEVEN);
  });

  it('may want more scopes for one tool; the others go on', async () => {
    const process = await authorized();
    expect((await process.call('order')).content).toContain('the operator has to authorize it first');
    expect(await process.state()).toMatchObject({ state: 'needed', wanted: ['stock:read', 'stock:write'] });
    expect(await process.call('count')).toEqual(SEVEN);
    await process.login();
    expect(await process.call('order')).toEqual({ ok: true, content: 'order: 7' });
    expect(await process.state()).toMatchObject({ state: 'authorized', scopes: ['stock:read', 'stock:write'] });
  });

  it('needs no operator with client credentials', async () => {
    const oauth = { grant: 'client_credentials', clientId: 'machine', clientSecret: 's3cret-of-machine' } as const;
    const process = new Process(oauth);
    await process.servers.warmUp();
    expect(process.faults).toEqual([]);
    expect(await process.call('count')).toEqual(SEVEN);
    expect(await process.call('order')).toEqual({ ok: true, content: 'order: 7' });
    server.provider.expire();
    expect(await process.call('count')).toEqual(SEVEN);
    expect(new Set(server.provider.resources)).toEqual(new Set([server.url]));
    const wrong = new Process({ ...oauth, clientSecret: 'another' });
    await wrong.servers.warmUp();
    expect(wrong.faults).toEqual(['invalid_client']);
    const elsewhere = new Process({ ...oauth, issuer: 'https://login.example' });
    await elsewhere.servers.warmUp();
    expect(elsewhere.faults[0]).toContain('not oauth.issuer (https://login.example)');
  });

  it('is forgotten, with its tokens revoked', async () => {
    const process = await authorized();
    expect(await process.authorizer.forget('stock', never)).toBe(true);
    expect(server.provider.revoked).toEqual([expect.stringMatching(/^rt_/)]);
    expect(await process.authorizer.forget('stock', never)).toBe(false);
    expect((await process.call('count')).ok).toBe(false);
    await expect(process.authorizer.forget('other', never)).rejects.toThrow('no MCP server with OAuth "other"');
  });

  it('takes back only what was begun here, from the server that was asked', async () => {
    const process = new Process();
    const url = await process.authorizer.begin('stock', CALLBACK, never);
    const callback = await browse(url);
    const finish = (changes: object) => process.authorizer.finish({ ...callback, ...changes }, never);
    await expect(finish({ state: 'c3RvY2s.other' })).rejects.toThrow('was not begun here');
    await expect(finish({ state: undefined })).rejects.toThrow('was not begun here');
    process.aheadMs = 601_000;
    await expect(finish({})).rejects.toThrow('expired');
    process.aheadMs = 0;
    await expect(finish({ iss: 'https://evil.example' })).rejects.toThrow('not from the authorization server');
    // The answer is used up by the attempt.
    await expect(finish({})).rejects.toThrow('was not begun here');
    const again = await browse(await process.authorizer.begin('stock', CALLBACK, never));
    const refused = { state: again['state'], error: 'access_denied', error_description: 'No.' };
    await expect(process.authorizer.finish(refused, never)).rejects.toThrow('access_denied (No.)');
  });

  it('knows the client that it has registered, and another one for another address', async () => {
    const process = new Process();
    const clientOf = async (callback: string) =>
      new URL(await process.authorizer.begin('stock', callback, never)).searchParams.get('client_id');
    const first = await clientOf(CALLBACK);
    expect(await clientOf(CALLBACK)).toBe(first);
    expect(await clientOf('https://calls.example/mcp/oauth/callback')).not.toBe(first);
    const own = new Process({ clientId: 'by-hand', clientSecret: 'x' });
    const url = new URL(await own.authorizer.begin('stock', CALLBACK, never));
    expect(url.searchParams.get('client_id')).toBe('by-hand');
  });
});

describe('an authorization server that is not right', () => {
  let fake: LocalServer;
  let resource: Record<string, unknown>;
  let issuer: Record<string, unknown>;
  beforeEach(async () => {
    fake = await httpServer((request, response) => {
      const found: Record<string, unknown> = {
        '/.well-known/oauth-protected-resource/mcp': resource,
        '/.well-known/oauth-authorization-server/tenant': issuer,
      };
      const body = found[request.url ?? ''];
      response.writeHead(body === undefined ? 401 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? {}));
    });
    closing.push(fake);
    const name = `${fake.origin}/tenant`;
    resource = { resource: `${fake.origin}/mcp`, authorization_servers: [name], scopes_supported: ['a', 'b'] };
    issuer = {
      issuer: name,
      authorization_endpoint: `${name}/authorize`,
      token_endpoint: `${name}/token`,
      code_challenge_methods_supported: ['S256'],
      scopes_supported: ['offline_access'],
      client_id_metadata_document_supported: true,
    };
  });

  function begin(document: string | null = 'https://calls.example/mcp/oauth/client.json'): Promise<string> {
    const authorizer = new McpAuthorizer({
      servers: { stock: { url: `${fake.origin}/mcp` } },
      store: new MemoryAuthorizations(),
      clock: new RealClock(),
      nowUnixMs,
      clientDocument: () => document,
    });
    closing.push(authorizer);
    return authorizer.begin('stock', CALLBACK, never);
  }

  it('is right at first: below a path, with a document as the client', async () => {
    const { searchParams } = new URL(await begin());
    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: 'https://calls.example/mcp/oauth/client.json',
      scope: 'a b offline_access',
    });
  });

  it.each<[string, () => void]>([
    ['is of another resource', () => (resource['resource'] = 'https://other.example/mcp')],
    ['is of another issuer', () => (issuer['issuer'] = 'https://honest.example')],
    ['does not support PKCE', () => (issuer['code_challenge_methods_supported'] = ['plain'])],
    ['has no token_endpoint', () => delete issuer['token_endpoint']],
    ['has no authorization_endpoint', () => delete issuer['authorization_endpoint']],
    ['does not begin with https', () => (resource['authorization_servers'] = ['ftp://login.example'])],
    ['is not valid', () => (resource['authorization_servers'] = ['login'])],
    ['has no metadata', () => (resource['authorization_servers'] = [`${fake.origin}/nowhere`])],
    ['registers no clients', () => delete issuer['client_id_metadata_document_supported']],
  ])('because it %s', async (words, change) => {
    change();
    await expect(begin()).rejects.toThrow(words);
  });
});

it.each([
  ['', { error: null, scopes: [], metadataUrl: null }],
  ['Basic realm="x"', { error: null, scopes: [], metadataUrl: null }],
  [
    'Bearer error="insufficient_scope", scope="a b", resource_metadata="https://a.example/m"',
    { error: 'insufficient_scope', scopes: ['a', 'b'], metadataUrl: 'https://a.example/m' },
  ],
  ['Basic realm="x", bearer scope=a', { error: null, scopes: ['a'], metadataUrl: null }],
])('the challenge %j is understood', (header, challenge) => {
  expect(challengeOf(header)).toEqual(challenge);
});
