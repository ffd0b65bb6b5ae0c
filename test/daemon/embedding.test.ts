/** A daemon in the server of an application: its settings, its base path, its end. */
import express from 'express';
import Fastify from 'fastify';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Daemon, type DaemonOptions, parley, type SettingsFile } from '../../src/daemon/index.js';
import { NO_LOG } from '../../src/daemon/operations/log.js';
import type { DefinedTool } from '../../src/tools/define-tool.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import { Client, House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'parley-embedded-'));
  folders.push(made);
  return made;
};
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

/** What each daemon of these tests has. */
const settings = (more: SettingsFile = {}): SettingsFile => ({
  dataDir: folder(),
  ollamaHost: 'http://127.0.0.1:9',
  apiKey: PRIVATE_KEY,
  publicKey: PUBLIC_KEY,
  ...more,
});
const AGENT = {
  id: 'baker',
  name: 'Baker',
  config: {
    prompt: 'You sell bread.',
    first_message: 'Hello.',
    llm: { model: 'scripted' },
    call_settings: { enable_recording: true },
  },
};
const KEY = { authorization: PRIVATE_KEY };

/** A server of an application. */
class Application {
  readonly server: Server;
  readonly address: string;

  private constructor(server: Server) {
    this.server = server;
    this.address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  }

  /** @param daemons get what they take, in turn */
  static async listen(listener: RequestListener, ...daemons: Daemon[]): Promise<Application> {
    const server = createServer(listener);
    server.on('upgrade', (request, socket, head) => {
      if (!daemons.some((daemon) => daemon.upgrade(request, socket, head))) socket.destroy();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Application(server);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

describe('a daemon below /parley', () => {
  let daemon: Daemon;
  let app: Application;
  const faults: Error[] = [];
  beforeAll(async () => {
    daemon = await Daemon.open({
      settings: settings({ basePath: '/parley' }),
      agents: [AGENT],
      log: NO_LOG,
      onError: (error) => faults.push(error),
    });
    app = await Application.listen(daemon.handler, daemon);
  });
  afterAll(async () => {
    await daemon.close();
    await app.close();
  });
  afterEach(() => expect(faults.splice(0)).toEqual([]));
  const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(app.address + path, init);

  it('is ready when it is open', async () => {
    expect(daemon.ready).toBe(true);
    expect([(await ask('/parley/readyz')).status, (await ask('/readyz')).status]).toEqual([200, 404]);
  });

  it('names its address in the OpenAPI document, as one that can be asked', async () => {
    const { servers } = (await (await ask('/parley/openapi.json')).json()) as { servers: { url: string }[] };
    expect(servers.map(({ url }) => url)).toEqual(['/parley/']);
    const agents = new URL('agents', new URL(servers[0]?.url ?? '', `${app.address}/parley/openapi.json`));
    expect((await fetch(agents, { headers: KEY })).status).toBe(200);
  });

  it('sends links to recordings that hold', async () => {
    const client = new Client(new WebSocket(`${app.address.replace('http', 'ws')}/parley/talk`));
    await client.initiate();
    await client.inbox.heard(10);
    const [session] = daemon.sessions;
    expect(daemon.session(session?.id ?? '')).toBe(session);
    expect(daemon.session('nobody')).toBeNull();
    await session?.addMessage({ role: 'system', content: 'They are a regular customer.' });
    client.socket.close();
    const page = async () =>
      (await (await ask('/parley/call-logs', { headers: KEY })).json()) as {
        histories: { session_id: string; recording: { recording_url: string } | null }[];
      };
    await expect
      .poll(async () => (await page()).histories[0]?.recording?.recording_url, { timeout: 20_000 })
      .toBeDefined();
    const [call] = (await page()).histories;
    const url = call?.recording?.recording_url ?? '';
    expect(url).toMatch(`${app.address}/parley/call-logs/${call?.session_id ?? ''}/recording?`);
    const recording = await fetch(url);
    expect([recording.status, recording.headers.get('content-type')]).toEqual([200, 'audio/wav']);
    await recording.arrayBuffer();
  });

  it('says where MCP clients find its description', async () => {
    const refusal = await ask('/parley/mcp', { method: 'POST', body: '{}' });
    expect(refusal.status).toBe(401);
    const found = /resource_metadata="([^"]+)"/.exec(refusal.headers.get('www-authenticate') ?? '')?.[1] ?? '';
    expect(found).toMatch(`${app.address}/parley/`);
    expect(await (await fetch(found)).json()).toMatchObject({ resource: `${app.address}/parley/mcp` });
  });

  it('calls its own endpoints for MCP', async () => {
    const answer = await ask('/parley/mcp', {
      method: 'POST',
      headers: { ...KEY, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_agents', arguments: {} },
      }),
    });
    expect(JSON.stringify(await answer.json())).toContain('Baker');
  });

  it("answers OpenAI's clients in their form, also about paths that it does not have", async () => {
    const models = await ask('/parley/v1/models', { headers: { authorization: `Bearer ${PRIVATE_KEY}` } });
    expect(await models.json()).toMatchObject({ data: [{ id: 'baker' }] });
    const refusal = await ask('/parley/v1/nothing', { headers: { authorization: `Bearer ${PRIVATE_KEY}` } });
    expect(await refusal.json()).toMatchObject({ error: { code: 'unknown_url' } });
    expect(await (await ask('/v1/models', { headers: KEY })).json()).toMatchObject({ code: 'ROUTE_UNKNOWN' });
  });

  it("says where a call of OpenAI's Realtime client is hung up", async () => {
    const caller = new WeriftCaller({ addresses: ['127.0.0.1'], ipv6: false });
    const form = new FormData();
    form.append('sdp', await caller.offer());
    form.append('session', JSON.stringify({ type: 'realtime', model: 'baker' }));
    const headers = { authorization: `Bearer ${PRIVATE_KEY}` };
    const response = await ask('/parley/v1/realtime/calls', { method: 'POST', headers, body: form });
    const location = response.headers.get('location') ?? '';
    expect([response.status, location]).toEqual([
      201,
      expect.stringMatching(/^\/parley\/v1\/realtime\/calls\/[\w-]+$/),
    ]);
    await caller.accept(await response.text());
    await caller.connected;
    const hangUp = (): Promise<Response> => ask(`${location}/hangup`, { method: 'POST', headers });
    await expect.poll(async () => (await hangUp()).status, { timeout: 20_000 }).toBe(200);
    await caller.close();
  });

  it('answers pages of its own origin, and preflights', async () => {
    const token = await ask('/parley/sessions/token', {
      method: 'POST',
      headers: { authorization: PUBLIC_KEY, origin: app.address },
    });
    expect([token.status, token.headers.get('access-control-allow-origin')]).toEqual([200, app.address]);
    await token.arrayBuffer();
    const preflight = await ask('/parley/webrtc/offer', { method: 'OPTIONS', headers: { origin: app.address } });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, POST']);
    const stranger = await ask('/parley/sessions/token', {
      method: 'POST',
      headers: { authorization: PUBLIC_KEY, origin: 'https://other.example' },
    });
    expect(stranger.status).toBe(403);
  });

  it('leaves sockets to the application that are not its own', async () => {
    for (const path of ['/talk', '/parley/other', '/parleyx/talk']) {
      const socket = new WebSocket(app.address.replace('http', 'ws') + path);
      const [error] = (await once(socket, 'error')) as [Error];
      expect([path, error.message]).toEqual([path, 'socket hang up']);
    }
    const refused = new Client(new WebSocket(`${app.address.replace('http', 'ws')}/parley/v1/realtime?model=baker`));
    expect(await refused.refused).toBe(401);
  });

  it('refuses a folder to a second daemon, and goes on', async () => {
    const taken = settings({ basePath: '/two' });
    const first = await Daemon.open({ settings: taken, log: NO_LOG });
    await expect(Daemon.open({ settings: taken, log: NO_LOG })).rejects.toMatchObject({ code: 'DATA_FOLDER_IN_USE' });
    const both = await Application.listen((request, response) => {
      daemon.handler(request, response, () => first.handler(request, response));
    });
    const agents = async (path: string): Promise<unknown> =>
      (await fetch(both.address + path, { headers: KEY })).json();
    expect(await agents('/parley/agents')).toMatchObject([{ id: 'baker' }]);
    expect(await agents('/two/agents')).toEqual([]);
    expect(await agents('/three/agents')).toMatchObject({ code: 'ROUTE_UNKNOWN' });
    await first.close();
    expect(await agents('/two/agents')).toMatchObject({ code: 'DAEMON_DRAINING' });
    expect(await agents('/parley/agents')).toMatchObject([{ id: 'baker' }]);
    await both.close();
  });

  it('works in a router of Express, and says what is wrong when a parser has read the body', async () => {
    const host = express();
    const router = express.Router();
    router.use('/parley', daemon.handler);
    host.use('/late', express.json());
    host.use(router);
    host.use(express.json(), daemon.handler);
    const early = await Application.listen(host);
    const chat = { model: 'baker', messages: [{ role: 'user', content: 'Hello' }] };
    const body = JSON.stringify(chat);
    const post = { method: 'POST', body, headers: { ...KEY, 'content-type': 'application/json' } };
    expect((await fetch(`${early.address}/parley/v1/chat/completions`, post)).status).toBe(200);
    await early.close();

    const late = express();
    late.use(express.json(), daemon.handler);
    const second = await Application.listen(late);
    const refusal = await fetch(`${second.address}/parley/v1/chat/completions`, post);
    expect([refusal.status, await refusal.json()]).toMatchObject([500, { code: 'BODY_ALREADY_READ' }]);
    expect(faults.splice(0).map(({ message }) => message)).toEqual([
      expect.stringContaining('has read the body of POST /parley/v1/chat/completions:') as string,
    ]);
    await second.close();
  });

  it('says what is missing when requests for sockets come as plain requests, and names the whole path', async () => {
    const host = createServer(express().use(daemon.handler));
    await once(host.listen(0, '127.0.0.1'), 'listening');
    const { port } = host.address() as AddressInfo;
    const answer = await new Promise<[number | undefined, string]>((resolve, reject) => {
      const headers = { connection: 'Upgrade', upgrade: 'websocket' };
      const asked = httpRequest({ host: '127.0.0.1', port, path: '/parley/talk?x=1', headers }, (response) => {
        text(response).then((body) => resolve([response.statusCode, body]), reject);
      });
      asked.on('error', reject).end();
    });
    expect(answer).toEqual([426, expect.stringContaining('/parley/talk has come as a plain request: pass the events')]);
    const unknown = await (await fetch(`http://127.0.0.1:${String(port)}/parley/nowhere`)).json();
    expect(unknown).toMatchObject({ detail: 'No endpoint at GET /parley/nowhere' });
    host.close();
    host.closeAllConnections();
  });
});

it('ends streams and conversations when it closes, which it may do twice', async () => {
  const daemon = await Daemon.open({ settings: settings(), agents: [AGENT], log: NO_LOG });
  const app = await Application.listen(daemon.handler, daemon);
  const events = await fetch(`${app.address}/events`, { headers: KEY });
  const client = new Client(new WebSocket(`${app.address.replace('http', 'ws')}/talk`));
  await client.initiate();
  await client.inbox.find(({ method }) => method === 'onready');
  const closing = daemon.close();
  expect(daemon.close()).toBe(closing);
  await closing;
  await client.inbox.closed;
  await events.text().catch(() => 'cut off');
  expect((await fetch(`${app.address}/healthz`)).status).toBe(503);
  await app.close();
  await daemon.close();
});

describe('the settings', () => {
  const open = async (options: DaemonOptions, work: (daemon: Daemon) => Promise<void> | void): Promise<void> => {
    const daemon = await Daemon.open({ log: NO_LOG, warmUp: false, ...options });
    try {
      await work(daemon);
    } finally {
      await daemon.close();
    }
  };
  const answers = async (daemon: Daemon, path: string): Promise<number> => {
    const app = await Application.listen(daemon.handler);
    const { status } = await fetch(app.address + path, { headers: KEY });
    await app.close();
    return status;
  };

  it('come from the object, from no environment unless it is given, and then the object counts', async () => {
    vi.stubEnv('PARLEY_API_KEY', PRIVATE_KEY);
    vi.stubEnv('PARLEY_BASE_PATH', '/stubbed');
    try {
      const bare = { dataDir: folder(), ollamaHost: 'http://127.0.0.1:9' };
      await open({ settings: bare }, async (daemon) => {
        expect(daemon.newPrivateKey).toMatch(/^sk_/);
        expect(await answers(daemon, '/agents')).toBe(401);
      });
    } finally {
      vi.unstubAllEnvs();
    }
    const env = { PARLEY_API_KEY: PRIVATE_KEY, PARLEY_BASE_PATH: '/env', PARLEY_DATA_DIR: '/nowhere' };
    const { dataDir, ollamaHost } = settings();
    await open({ env, settings: { dataDir, ollamaHost } }, async (daemon) => {
      expect(await answers(daemon, '/env/agents')).toBe(200);
    });
  });

  it('may be undefined, as the value of a variable that is not set', async () => {
    await open({ settings: { ...settings(), publicUrl: undefined, tts: undefined } }, (daemon) =>
      expect(daemon.newPrivateKey).toBeNull(),
    );
  });

  it('that are wrong are refused, with the reason, and leave nothing open', async () => {
    const own = settings();
    const wrong: [given: unknown, reason: string][] = [
      [{ port: 'x', basePath: '/a/' }, 'settings.port: Input should be a number; settings.basePath: Input should be'],
      [{ basePath: 'parley' }, 'settings.basePath: Input should be a path such as /parley'],
      [{ basePath: '/..' }, 'settings.basePath'],
      [{ hosts: 'a' }, 'settings.hosts'],
      [{ limits: { sessions: 0 } }, 'settings.limits.sessions'],
      [{ basePath: '/parley', publicUrl: 'https://calls.example' }, 'such as https://calls.example/parley'],
      [{ basePath: '/parley', nodeUrl: 'http://10.0.0.1:8080/other' }, 'should have the path /parley, as basePath'],
      [{ stt: 'nobody' }, 'stt (PARLEY_STT)'],
      [{ apiKey: 'sk_1', host: '0.0.0.0' }, 'apiKey (PARLEY_API_KEY) can be guessed'],
      [{ plugins: ['/nowhere.mjs'] }, 'there is no such file'],
    ];
    for (const [given, reason] of wrong) {
      const opened = Daemon.open({ settings: { ...own, ...(given as SettingsFile) }, log: NO_LOG });
      await expect(opened, JSON.stringify(given)).rejects.toThrow(reason);
    }
    await open({ settings: own }, (daemon) => expect(daemon.newPrivateKey).toBeNull());
  });

  it('allow a public address with the base path at its end', async () => {
    const publicUrl = 'https://calls.example/voice/parley/';
    await open({ settings: settings({ basePath: '/parley', publicUrl }) }, async (daemon) => {
      const app = await Application.listen(daemon.handler);
      const { servers } = (await (await fetch(`${app.address}/parley/openapi.json`)).json()) as { servers: unknown };
      expect(servers).toMatchObject([{ url: publicUrl }]);
      await app.close();
    });
  });

  it('have beside them functions and plug-ins in code, which are checked', async () => {
    const fault = (options: DaemonOptions): Promise<void> =>
      open({ settings: settings(), ...options }, () => undefined);
    await expect(fault({ tools: [{ name: 'x' } as unknown as DefinedTool] })).rejects.toThrow('plugins: functions[0]');
    const plugin = { name: 'acme', llm: { 'acme-1': () => ({}) as never } };
    await expect(fault({ plugins: [plugin, { ...plugin, name: 'other' }] })).rejects.toThrow(
      'other and acme both have llm acme-1',
    );
  });

  it('may be left to a signal', async () => {
    const signal = AbortSignal.abort(new Error('the application stops'));
    await expect(Daemon.open({ settings: settings(), log: NO_LOG, signal })).rejects.toThrow('the application stops');
  });
});

describe('the plug-in of Fastify', () => {
  it('has its prefix as base path, runs hooks of the application, and closes with it', async () => {
    const app = Fastify({ logger: false });
    const seen: string[] = [];
    app.addHook('onRequest', (request, _reply, done) => {
      seen.push(request.url);
      done();
    });
    app.setErrorHandler((_error, _request, reply) => void reply.code(418).send());
    let daemon: Daemon | null = null;
    await app.register(
      async (scope) => {
        await scope.register(parley, {
          prefix: '/parley',
          settings: settings(),
          log: NO_LOG,
          onOpen: (opened) => (daemon = opened),
        });
      },
      { prefix: '/voice' },
    );
    app.post('/echo', (request) => request.body);
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    expect((await fetch(`${address}/voice/parley/healthz`)).status).toBe(200);
    expect((await fetch(`${address}/parley/healthz`)).status).toBe(404);
    const made = await fetch(`${address}/voice/parley/agents`, {
      method: 'POST',
      headers: { ...KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Baker', config: { prompt: 'You sell bread.' } }),
    });
    expect(await made.json()).toMatchObject({ name: 'Baker' });
    const echo = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' };
    expect(await (await fetch(`${address}/echo`, echo)).json()).toEqual({ a: 1 });
    expect(seen).toContain('/voice/parley/healthz');
    expect(daemon).toBeInstanceOf(Daemon);

    const socket = address.replace('http', 'ws');
    expect(await new Client(new WebSocket(`${socket}/elsewhere`)).refused).toBe(404);
    const client = new Client(new WebSocket(`${socket}/voice/parley/talk`));
    expect(await client.refused).toBeNull();
    await app.close();
    await client.inbox.closed;
  });

  it('does not start with a base path that is not its prefix, and leaves nothing open', async () => {
    const app = Fastify();
    const registered = app.register(parley, { prefix: '/a', settings: settings({ basePath: '/b' }), log: NO_LOG });
    await expect(registered).rejects.toThrow('basePath is /b, but the prefix of the plug-in is /a');
    await app.close();
  });

  it('closes its daemon when another plug-in fails', async () => {
    const app = Fastify();
    let daemon: Daemon | null = null;
    const onOpen = (opened: Daemon): void => void (daemon = opened);
    await app.register(parley, { settings: settings(), log: NO_LOG, onOpen });
    app.register(() => Promise.reject(new Error('no database')));
    await expect(app.ready()).rejects.toThrow('no database');
    await app.close();
    expect(daemon).not.toBeNull();
  });
});

it('a daemon with a server of its own has the base path, too', async () => {
  const house = await House.open({ basePath: '/voice' });
  expect(house.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/voice$/);
  const statuses = await Promise.all(
    [house.address, `${house.address}/healthz`, new URL('/healthz', house.address).href].map(
      async (url) => (await fetch(url)).status,
    ),
  );
  expect(statuses).toEqual([200, 200, 404]);
  expect(await house.connect().refused).toBeNull();
  const outside = new Client(new WebSocket(`${new URL(house.address).origin.replace('http', 'ws')}/talk`));
  expect(await outside.refused).toBe(404);
  await house.close();
});
