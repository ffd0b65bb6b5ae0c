import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { withTimeout } from '../../base/deadlines.js';
import { encodeUrlText } from '../../base/url-text.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { RegisteredCalls } from '../calls/registered-calls.js';
import type { DaemonContext } from '../context.js';
import { type BrowserFiles, serveFile } from '../http/browser-files.js';
import type { Forwarder } from '../http/forwarder.js';
import type { HttpModule } from '../http/http-module.js';
import type { CallQueues } from '../queues/call-queues.js';
import type { Media } from '../media.js';
import type { DaemonModule } from '../module.js';
import { versionPinSchema } from '../agents/requested-agent.js';
import { ChatEndpoint, type ChatPlaces, chatRoutes } from './chat.js';
import { TalkEndpoint } from './talk-routes.js';
import { WebSessions } from './web-sessions.js';
import { peerSettings, WebRtcCalls } from './webrtc-calls.js';
import { webRtcRoutes } from './webrtc-routes.js';
import type { AdmissionControl } from '../admission-control.js';
import type { Access } from '../http/access.js';
import type { Api } from '../http/api.js';
import type { SessionToken, SessionTokens } from '../http/session-tokens.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { PageDescription } from '../../transports/talk-protocol.js';

export interface TalkModuleOptions {
  http: HttpModule;
  agents: AgentRegistry;
  log: CallLog;
  registered: RegisteredCalls;
  media: Media;
  files: BrowserFiles;
  chatPlaces: ChatPlaces;
  /** In which clients wait for sessions. */
  callQueues: CallQueues;
}

export interface TalkModule extends DaemonModule {
  readonly webSessions: WebSessions;
}

/** Pages and the widget, and their conversations: over the talk socket, WebRTC and chat. */
export function talkModule(context: DaemonContext, options: TalkModuleOptions): TalkModule {
  const { settings, engine, clock, nowUnixMs, faults, events, admission, owners, queues } = context;
  const { http, agents, log, registered, media, files, chatPlaces, callQueues } = options;
  const { access, clients, requests, tokens, upgrades, forwarder } = http;
  const onError = faults.report;
  const chats = new ChatEndpoint({
    engine,
    agents,
    log,
    admission,
    clock,
    nowUnixMs,
    onError,
    places: chatPlaces,
  });
  const webSessions = new WebSessions({
    engine,
    agents,
    access,
    log,
    registered,
    admission,
    events,
    publicAgentConfigFields: settings.publicAgentConfigFields,
    queues: callQueues,
    onError,
  });
  const webRtc = new WebRtcCalls({
    webSessions,
    access,
    clock,
    onError,
    peers: peerSettings(settings),
    mediaHost: media,
  });
  const socket = new TalkEndpoint({
    upgrades,
    webSessions,
    access,
    clients,
    requests,
    clock,
    admission,
    onError,
    stored: (sessionId) => queues.idle(sessionId),
    abandonElsewhere: async (sessionId, agentId) => {
      const owner = await owners.ofRunning(sessionId);
      if (owner !== null) await abandonOn(owner.nodeId, { sessionId, agentId }, { forwarder, clock });
    },
    socketsPerAddress: settings.limits.socketsPerAddress,
    leadMs: settings.talkLeadMs,
  });
  return {
    name: 'talk',
    webSessions,
    routes: (api) => {
      sessionTokenRoutes(api, { access, agents, tokens, admission, iceServers: settings.webrtc.iceServers });
      widgetRoutes(http.app, files, { access, regions: settings.regions });
      if (settings.page) {
        pageRoutes(http.app, files, () => ({
          public_key: http.pageKey,
          agents: agents.active().map((agent) => ({
            id: agent.id,
            name: agent.name,
            warnings: agents.modelWarnings(agent).map(({ msg }) => msg),
          })),
          ready: admission.isWarm,
        }));
      }
      chatRoutes(api, chats);
      abandonRoute(http, (sessionId, agentId) => socket.abandon(sessionId, agentId));
      webRtcRoutes(api, { webSessions, access, calls: webRtc, admission, owners });
    },
    resume: () => {
      if (media.isLocal) webRtc.warmUp();
    },
    stop: () => socket.close(),
    close: () => webRtc.close(),
  };
}

/** Until another node has ended a session, with all that it stores. */
const ABANDON_MS = 10_000;

/** Lets another node end a session whose client has lost its connection. */
async function abandonOn(
  nodeId: string,
  { sessionId, agentId }: { sessionId: string; agentId: string | null },
  { forwarder, clock }: { forwarder: Forwarder; clock: Clock },
): Promise<void> {
  const agent = agentId === null ? '' : `?agent_id=${encodeUrlText(agentId)}`;
  const url = `/nodes/self/sessions/${encodeUrlText(sessionId)}/abandon${agent}`;
  await withTimeout(clock, ABANDON_MS, async (signal) => {
    const answer = await forwarder.ask(nodeId, { method: 'POST', url }, signal);
    await answer?.body.dump();
  });
}

/** For other nodes, which have the new connection of a client. */
function abandonRoute(
  { app, passes }: HttpModule,
  abandon: (sessionId: string, agentId: string | null) => Promise<boolean>,
): void {
  app.post('/nodes/self/sessions/:session_id/abandon', {
    onRequest: ({ raw }, _reply, done) => {
      passes.nodesOnly(raw);
      done();
    },
    handler: async ({ params, query }) => {
      const { session_id: sessionId } = params as { session_id: string };
      const { agent_id: agentId = null } = query as { agent_id?: string };
      return { success: await abandon(sessionId, agentId) };
    },
  });
}

const iceServer = z
  .strictObject({ urls: z.string(), username: z.string().exactOptional(), credential: z.string().exactOptional() })
  .meta({ id: 'IceServer', description: 'An entry of `iceServers` of RTCPeerConnection.' });
const answer = z
  .strictObject({
    token: z.string(),
    expires_at: z.int().describe('Unix seconds'),
    ice_servers: z.array(iceServer).describe("The operator's STUN and TURN servers, for `POST /webrtc/offer`."),
  })
  .meta({ id: 'SessionToken', description: 'Opens one session.' });

const EXAMPLE_TOKEN: z.output<typeof answer> = {
  token: 'st_example_QvYNgktjDfdWPEsAyms6',
  expires_at: 1_795_448_150,
  ice_servers: [{ urls: 'turn:turn.example.com:3478', username: 'parley', credential: 'example' }],
};

interface SessionTokenRoutesOptions {
  access: Access;
  agents: Pick<AgentRegistry, 'forConversation'>;
  tokens: SessionTokens;
  admission: Pick<AdmissionControl, 'enter'>;
  iceServers: readonly z.output<typeof iceServer>[];
}

/**
 * `POST /sessions/token`: exchanges a public key in `authorization`, from an allowed origin, for a token for one session
 * and the ICE servers for WebRTC. Clients without access do not get the credentials of the operator's relays.
 */
function sessionTokenRoutes(api: Api, options: SessionTokenRoutesOptions): void {
  const { access, agents, tokens, admission, iceServers } = options;
  const reply = ({ token, expiresAt }: SessionToken): z.output<typeof answer> => ({
    token,
    expires_at: expiresAt,
    ice_servers: [...iceServers],
  });
  api.add({
    id: 'createSessionToken',
    method: 'POST',
    path: '/sessions/token',
    tag: 'sessions',
    summary: 'A token for one session',
    answer,
    description:
      'The header `authorization` holds a public key. The token is valid once, for 60 s, with the rights of the key.',
    gate: (request) => void access.publicKey(request.raw),
    errors: ['DAEMON_DRAINING'],
    examples: () => ({
      answer: EXAMPLE_TOKEN,
    }),
    handle: ({ request }) => {
      admission.enter();
      return reply(tokens.mint(access.publicKey(request.raw).id));
    },
  });

  api.add({
    id: 'createAgentToken',
    method: 'POST',
    scope: 'calls',
    path: '/agents/{agent_id}/token',
    tag: 'agents',
    summary: 'A token for one session with a version of an agent, such as its draft',
    description: 'For a page of the daemon or of an allowed origin. Valid once, for 60 s.',
    params: { agent_id: z.string().min(1).max(200) },
    body: z.strictObject({ agent_version: versionPinSchema }).meta({ id: 'AgentTokenRequest' }),
    answer,
    errors: ['NOT_FOUND', 'DAEMON_DRAINING'],
    examples: () => ({ body: { agent_version: 'draft' }, answer: EXAMPLE_TOKEN }),
    handle: async ({ params: { agent_id: agentId }, body: { agent_version: version } }) => {
      admission.enter();
      await agents.forConversation(agentId, { version, caller: null });
      return reply(tokens.mint(null, { agentId, version }));
    },
  });
}

/** URL paths of the widget's files, of those that it shares with the page, and of `@parley-voice/web` as one module. */
const WIDGET_PATHS: Readonly<Record<string, string>> = {
  'widget.html': '/widget',
  'widget.js': '/widget.js',
  'web-sdk.js': '/web-sdk.js',
  'capture-worklet.js': '/assets/capture-worklet.js',
  'playback-worklet.js': '/assets/playback-worklet.js',
  'icon.svg': '/assets/icon.svg',
};

/** Pages of all origins may load them, even isolated ones (Fetch 3.2 and 3.7). */
const FOR_ALL_PAGES = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' };

interface WidgetRoutesOptions {
  access: Access;
  /** Gateways by name. The widget may connect to them. */
  regions: Readonly<Record<string, string>>;
}

/** The scripts for other pages with their files, and the widget as a page for frames at `/widget`. */
function widgetRoutes(app: FastifyInstance, files: BrowserFiles, { access, regions }: WidgetRoutesOptions): void {
  const gateways = Object.values(regions).map((address) => new URL(address).origin);
  const policy = [
    "default-src 'none'; script-src 'self'; img-src * data:; base-uri 'none'; form-action 'none'",
    ['connect-src', "'self'", 'ws:', 'wss:', ...gateways].join(' '),
  ].join('; ');
  const frameHeaders = (request: FastifyRequest): Record<string, string> => {
    const { public_key: key } = request.query as { public_key?: unknown };
    const framers = access.framers(typeof key === 'string' ? key : '');
    return {
      'content-security-policy': `${policy}; frame-ancestors ${framers.join(' ')}`,
      'referrer-policy': 'no-referrer',
      'permissions-policy': 'microphone=(self), autoplay=(self)',
      'cross-origin-resource-policy': 'cross-origin',
    };
  };
  for (const [name, path] of Object.entries(WIDGET_PATHS)) {
    const file = files.get(name);
    if (file === undefined) continue;
    app.get(path, serveFile(file, name === 'widget.html' ? frameHeaders : () => FOR_ALL_PAGES));
  }
}

const HEADERS = {
  'content-security-policy':
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'microphone=(self)',
};

/** URL paths of the pages. The other files belong to them. */
const PATHS: Readonly<Record<string, string>> = { 'index.html': '/', 'docs.html': '/docs', 'console.html': '/console' };

/** The talk page at `/`, the API page at `/docs`, the console, their files, and `/page.json`. */
function pageRoutes(app: FastifyInstance, files: BrowserFiles, describe: () => PageDescription): void {
  for (const [name, file] of files) {
    if (name in WIDGET_PATHS) continue;
    app.get(
      PATHS[name] ?? `/assets/${name}`,
      serveFile(file, () => HEADERS),
    );
  }
  app.get('/page.json', describe);
}
