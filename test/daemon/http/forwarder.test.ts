import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import { ParleyError } from '../../../src/base/errors.js';
import { nowUnixMs, RealClock } from '../../../src/base/real-clock.js';
import { Access } from '../../../src/daemon/http/access.js';
import { Api } from '../../../src/daemon/http/api.js';
import { Clients } from '../../../src/daemon/http/clients.js';
import { EventStream } from '../../../src/daemon/http/event-stream.js';
import { Forwarder } from '../../../src/daemon/http/forwarder.js';
import { Mount } from '../../../src/daemon/http/mount.js';
import { NodePasses } from '../../../src/daemon/http/node-pass.js';
import { errorReplies } from '../../../src/daemon/http/replies.js';
import { SessionTokens } from '../../../src/daemon/http/session-tokens.js';
import { refuseUpgrade } from '../../../src/net/refuse-upgrade.js';
import { type Upgrade, Upgrades } from '../../../src/daemon/http/upgrades.js';
import { ThisNode } from '../../../src/daemon/nodes/this-node.js';
import { KEY_SCOPES, type StoredKey } from '../../../src/store/keys.js';
import { MemoryTokenUses } from '../../../src/store/token-uses.js';
import { Client } from '../house.js';

const KEYS: StoredKey[] = (['private', 'public'] as const).map((kind) => ({
  id: kind,
  kind,
  name: 'test',
  hint: 'test',
  createdAt: 0,
  agents: [],
  origins: ['*'],
  scopes: kind === 'private' ? KEY_SCOPES : [],
  ofEnvironment: false,
}));
const SHARED_KEY = Buffer.alloc(32, 7);
const asked = { authorization: 'private', 'content-type': 'application/json' };
const anyNode = z.unknown();

/** A server with endpoints that tell who answers. */
class House {
  readonly node = new ThisNode();
  readonly app: FastifyInstance = Fastify({
    trustProxy: false,
    rewriteUrl: ({ url = '' }) => this.#mount.below(url) ?? '/outside',
  });
  readonly #mount = new Mount('/parley', (request, response) => this.app.routing(request, response));
  readonly forwarder: Forwarder;
  readonly passes: NodePasses;
  readonly tokens = new SessionTokens({ keys: [SHARED_KEY], uses: new MemoryTokenUses(nowUnixMs), nowUnixMs });
  readonly clock = new RealClock();
  address = '';
  streams = 0;
  /** Added to the time of passes, ms. */
  skewMs = 0;

  constructor(
    readonly houses: House[],
    key = SHARED_KEY,
  ) {
    const clients = new Clients({ trustedProxies: ['127.0.0.1'], forwardedHeader: 'x-forwarded-for' });
    const access = new Access({
      keys: {
        find: (text) => KEYS.find(({ id }) => id === text) ?? null,
        get: (id) => KEYS.find((one) => one.id === id) ?? null,
        latest: async (id) => KEYS.find((one) => one.id === id) ?? null,
        list: () => KEYS,
      },
      tokens: this.tokens,
      clients,
      publicUrl: null,
      allowedOrigins: [],
      allowMissingOrigin: true,
      ownPublicKeys: new Set(),
      loopback: true,
    });
    const { node, app, clock } = this;
    app.setErrorHandler(errorReplies(() => undefined));
    const passTime = (): number => nowUnixMs() + this.skewMs;
    this.passes = new NodePasses({ node, keys: [key], nowUnixMs: passTime, access, clients });
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      this.passes.admit(raw);
      done();
    });
    const nodes = {
      addressOf: async (id: string) => houses.find((house) => house.node.id === id)?.address ?? null,
    };
    this.forwarder = new Forwarder({ node, nodes, passes: this.passes, clock });
    const upgrades = new Upgrades(this.#mount, this.passes);
    app.server.on('upgrade', (request, socket, head) => upgrades.dispatch(request, socket, head));
    const sockets = new WebSocketServer({ noServer: true });
    upgrades.at(
      (path) => path.startsWith('/sound/'),
      (upgrade) => void this.#socket(upgrade, sockets, clients),
    );
    const api = new Api(app, { access, passes: this.passes, forwarder: this.forwarder });
    const ask = { tag: 't', summary: 's', answer: anyNode };
    api.add({
      ...ask,
      id: 'echo',
      method: 'POST',
      path: '/echo/{owner}',
      params: { owner: z.string() },
      query: { needed: z.boolean().default(true) },
      body: z.object({ text: z.string() }),
      owner: ({ params, query }) => ({ nodeId: params.owner, what: 'call', isNeeded: query.needed }),
      handle: ({ body, key, request }) => ({
        by: node.id,
        text: body.text,
        key: key?.id,
        client: clients.of(request.raw).address,
        host: clients.of(request.raw).host,
        isPassed: this.passes.has(request.raw),
      }),
    });
    api.add({
      ...ask,
      id: 'enter',
      method: 'POST',
      path: '/enter/{owner}',
      params: { owner: z.string() },
      gate: async (request) => void (await access.tokenHolder(request.raw)),
      owner: ({ params }) => ({ nodeId: params.owner, what: 'call', isNeeded: true }),
      handle: ({ request }) => ({ by: node.id, holder: access.identityOf(request.raw).holder?.id }),
    });
    api.add({
      ...ask,
      id: 'watch',
      method: 'GET',
      path: '/watch/{owner}',
      params: { owner: z.string() },
      content: 'text/event-stream',
      owner: ({ params }) => ({ nodeId: params.owner, what: 'call', isNeeded: true }),
      handle: ({ reply }) => {
        const stream = new EventStream(reply, clock);
        stream.begin();
        this.streams++;
        stream.left.addEventListener('abort', () => this.streams--);
        return reply;
      },
    });
  }

  async #socket(upgrade: Upgrade, sockets: WebSocketServer, clients: Clients): Promise<void> {
    const [, , owner = ''] = upgrade.path.split('/');
    if (await this.forwarder.pipe({ nodeId: owner, what: 'call', isNeeded: false }, upgrade)) return;
    if (upgrade.path.endsWith('/refused')) {
      refuseUpgrade(upgrade.socket, new ParleyError('LINK_INVALID', { reason: 'no call expects it' }));
      return;
    }
    sockets.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, (client) => {
      this.streams++;
      client.on('close', () => this.streams--);
      const say = (text: string): void => client.send(JSON.stringify(text));
      client.on('message', (data: Buffer) => say(`${this.node.id} ${data.toString()}`));
      say(clients.of(upgrade.request).address);
    });
  }

  async open(): Promise<this> {
    this.address = `${await this.app.listen({ port: 0, host: '127.0.0.1' })}/parley`;
    return this;
  }

  async close(): Promise<void> {
    await this.forwarder.close();
    this.app.server.closeAllConnections(); // clients may keep theirs
    await this.app.close();
  }
}

describe('requests that another node answers', () => {
  const houses: House[] = [];
  let near: House;
  let far: House;

  beforeEach(async () => {
    for (let count = 0; count < 3; count++) houses.push(await new House(houses).open());
    [near, far] = houses as [House, House, House];
  });

  afterEach(async () => {
    for (const house of houses.splice(0)) await house.close();
  });

  async function echo(owner: string, more = ''): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${near.address}/echo/${owner}${more}`, {
      method: 'POST',
      headers: { ...asked, 'x-forwarded-for': '192.0.2.9' },
      body: JSON.stringify({ text: 'good evening' }),
    });
    return { status: response.status, body: await response.json() };
  }

  it('arrive with their body, and with what the first node knows of the client', async () => {
    const host = new URL(near.address).host;
    const known = { text: 'good evening', key: 'private', client: '192.0.2.9', host };
    expect(await echo(far.node.id)).toEqual({ status: 200, body: { ...known, by: far.node.id, isPassed: true } });
    expect(await echo(near.node.id)).toEqual({ status: 200, body: { ...known, by: near.node.id, isPassed: false } });
  });

  it('take a session token once, on the first node', async () => {
    const enter = async (token: string): Promise<{ status: number; body: unknown }> => {
      const headers = { authorization: token, origin: 'https://shop.example' };
      const response = await fetch(`${near.address}/enter/${far.node.id}`, { method: 'POST', headers });
      return { status: response.status, body: await response.json() };
    };
    const { token } = near.tokens.mint('public');
    expect(await enter(token)).toEqual({ status: 200, body: { by: far.node.id, holder: 'public' } });
    expect(await enter(token)).toMatchObject({ status: 401 });
  });

  it('keep errors of the other node', async () => {
    const response = await fetch(`${near.address}/echo/${far.node.id}`, { method: 'POST', headers: asked, body: '{}' });
    // The first node has checked it already.
    expect([response.status, await response.json()]).toMatchObject([422, { detail: [{ loc: ['body', 'text'] }] }]);
    const { status } = await fetch(`${near.address}/echo/${far.node.id}`, { method: 'POST', body: '{}' });
    expect(status).toBe(401);
  });

  it('fail with a reason if the node is gone, or are answered here if that is possible', async () => {
    const gone = { status: 503, body: { code: 'NODE_UNREACHABLE' } };
    expect(await echo('nobody')).toMatchObject(gone);
    expect(await echo('nobody', '?needed=false')).toMatchObject({ status: 200, body: { by: near.node.id } });
    const { id } = far.node;
    await far.close();
    expect(await echo(id)).toMatchObject(gone);
  });

  it('go no further than one node', async () => {
    // The far node believes that a third one has it.
    const { address } = far;
    far.address = houses[2]?.address ?? '';
    expect(await echo(far.node.id)).toMatchObject({ status: 403, body: { code: 'NODE_REFUSED' } });
    far.address = address;
    const header = near.passes.headerFor(far.node.id, null, {
      method: 'POST',
      url: `/echo/${near.node.id}`,
      body: Buffer.from('{"text":"hi"}'),
    });
    const response = await fetch(`${far.address}/echo/${near.node.id}`, {
      method: 'POST',
      headers: { ...asked, 'x-parley-node': header },
      body: '{"text":"hi"}',
    });
    expect(await response.json()).toMatchObject({ by: far.node.id, isPassed: true });
  });

  it('stream both ways: the head at once, and the end of the client', async () => {
    const leave = new AbortController();
    const { status, headers } = await fetch(`${near.address}/watch/${far.node.id}`, {
      headers: asked,
      signal: leave.signal,
    });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect([near.streams, far.streams]).toEqual([0, 1]);
    leave.abort();
    await vi.waitUntil(() => far.streams === 0, { timeout: 5_000 });
  });

  it('end when the other node dies', async () => {
    const response = await fetch(`${near.address}/watch/${far.node.id}`, { headers: asked });
    far.app.server.closeAllConnections();
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('carry WebSockets, both ways and to their ends', async () => {
    const open = (path: string): Client =>
      new Client(
        new WebSocket(near.address.replace('http', 'ws') + path, { headers: { 'x-forwarded-for': '192.0.2.9' } }),
      );
    const client = open(`/sound/${far.node.id}`);
    const heard: string[] = [];
    client.socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString()) as string));
    expect(await client.refused).toBeNull();
    client.socket.send('hello');
    await vi.waitUntil(() => heard.length === 2);
    expect(heard).toEqual(['192.0.2.9', `${far.node.id} hello`]);
    expect([near.streams, far.streams]).toEqual([0, 1]);
    client.socket.terminate();
    await vi.waitUntil(() => far.streams === 0, { timeout: 5_000 });
    expect(await open(`/sound/${far.node.id}/refused`).refused).toBe(403);
    const here = open('/sound/nobody');
    expect(await here.refused).toBeNull();
    expect(near.streams).toBe(1);
    here.socket.terminate();
    const { id } = far.node;
    const { address } = far;
    await far.close();
    far.address = address;
    expect(await open(`/sound/${id}`).refused).toBe(503);
  });

  it('are refused with a pass that is forged, old or for another request', async () => {
    const url = `/echo/${far.node.id}`;
    const body = Buffer.from('{"text":"hi"}');
    const good = { method: 'POST', url, body };
    const send = async (header: string, sent = body): Promise<unknown> => {
      const headers = { 'content-type': 'application/json', 'x-parley-node': header };
      const response = await fetch(far.address + url, { method: 'POST', headers, body: sent });
      return response.json();
    };
    const refused = (detail: RegExp): object => ({
      code: 'NODE_REFUSED',
      detail: expect.stringMatching(detail) as unknown,
    });
    const stranger = new House([], Buffer.alloc(32, 8));
    expect(await send(stranger.passes.headerFor(far.node.id, null, good))).toMatchObject(refused(/signature is wrong/));
    expect(await send('nonsense')).toMatchObject(refused(/signature is wrong/));
    expect(await send(near.passes.headerFor('other', null, good))).toMatchObject(refused(/for another node/));
    const elsewhere = near.passes.headerFor(far.node.id, null, { ...good, url: '/stop' });
    expect(await send(elsewhere)).toMatchObject(refused(/another request/));
    near.skewMs = -31_000;
    expect(await send(near.passes.headerFor(far.node.id, null, good))).toMatchObject(refused(/expired/));
    near.skewMs = 3_000;
    // A node's own request has no key: the endpoint refuses it as it refuses anybody without one.
    expect(await send(near.passes.headerFor(far.node.id, null, good))).toMatchObject({ code: 'AUTH_REQUIRED' });
    const changed = await fetch(far.address + url, {
      method: 'POST',
      headers: { ...asked, 'x-parley-node': near.passes.headerFor(far.node.id, null, good) },
      body: '{"text":"ha"}',
    });
    expect(await changed.json()).toMatchObject(refused(/body has changed/));
  });
});
