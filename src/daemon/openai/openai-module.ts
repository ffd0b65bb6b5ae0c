import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { DaemonContext } from '../context.js';
import { jsonBody } from '../http/checked.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { KeyScope } from '../../store/keys.js';
import type { ChatPlaces } from '../talk/chat.js';
import type { WebSessions } from '../talk/web-sessions.js';
import { parseWith } from '../../schema/issues.js';
import { ClientSecrets, clientSecretSchema } from './realtime/client-secrets.js';
import { RealtimeSessions } from './realtime/realtime-sessions.js';
import { RealtimeEndpoint } from './realtime/realtime-socket.js';
import { RealtimeCalls } from './realtime/realtime-calls.js';
import type { RealtimeClient } from './realtime/realtime-sessions.js';
import { ParleyError } from '../../base/errors.js';
import { LocalMediaHost } from '../../threads/media-host.js';
import { peerSettings } from '../talk/webrtc-calls.js';
import { SessionConfig } from './realtime/session-config.js';
import { ChatCompletions } from './chat-completions.js';
import { AgentModels } from './models.js';

export interface OpenAiModuleOptions {
  http: HttpModule;
  agents: AgentRegistry;
  log: CallLog;
  chatPlaces: ChatPlaces;
  webSessions: WebSessions;
}

/**
 * The agents behind the interface of OpenAI, for clients that were written for it. Its endpoints are not in the OpenAPI
 * document: OpenAI's own describes them. docs/openai-api.md says what differs.
 */
export function openAiModule(context: DaemonContext, options: OpenAiModuleOptions): DaemonModule {
  const { settings, stores, engine, clock, nowUnixMs, admission, faults } = context;
  const { http, agents, log, webSessions, chatPlaces: places } = options;
  const { app, access, clients, requests, upgrades } = http;
  const models = new AgentModels(agents);
  const onError = faults.report;
  const chats = new ChatCompletions({ engine, models, log, admission, places, clock, nowUnixMs, onError });
  const secrets = new ClientSecrets({ nowUnixMs, keys: stores.sharedKeys, apiKeys: stores.keys });
  const sessions = new RealtimeSessions({
    webSessions,
    models,
    secrets,
    access,
    clients,
    requests,
    clock,
    nowUnixMs,
    onError,
    publicInstructions: settings.publicAgentConfigFields.includes('prompt'),
  });
  const socket = new RealtimeEndpoint({
    upgrades,
    sessions,
    clients,
    requests,
    admission,
    clock,
    onError,
    socketsPerAddress: settings.limits.socketsPerAddress,
    leadMs: settings.talkLeadMs,
  });
  const calls = new RealtimeCalls({
    sessions,
    onError,
    media: new LocalMediaHost(engine),
    peers: peerSettings(settings),
    prefix: http.mount.prefix,
  });
  const needs = (scope: KeyScope) => ({
    onRequest: (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
      access.privateKey(request, scope);
      done();
    },
  });
  return {
    name: 'openai',
    routes: () => {
      app.get('/v1/models', needs('read'), () => ({ object: 'list', data: models.list() }));
      app.get('/v1/models/:model', needs('read'), ({ params }) => models.get((params as { model: string }).model));
      app.post('/v1/chat/completions', needs('calls'), (request, reply) => chats.answer(jsonBody(request), reply));
      realtimeRoutes(context, http, { models, secrets, sessions, calls, needs });
    },
    stop: () => socket.close(),
  };
}

interface RealtimeRoutesParts {
  models: AgentModels;
  secrets: ClientSecrets;
  sessions: RealtimeSessions;
  calls: RealtimeCalls;
  needs: (scope: KeyScope) => { onRequest: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void };
}

/** Secrets for pages, and calls over WebRTC. */
function realtimeRoutes(
  { admission, owners }: DaemonContext,
  { app, access, passes, forwarder }: HttpModule,
  { models, secrets, sessions, calls, needs }: RealtimeRoutesParts,
): void {
  const mint = async (request: FastifyRequest): Promise<object> => {
    admission.enter();
    const body = parseWith(clientSecretSchema, jsonBody(request), ['body']);
    const { id } = await models.find(body.session.model);
    const session = Object.assign({}, body.session, { model: id });
    const { id: keyId } = access.privateKey(request, 'calls');
    const { value, expiresAt } = secrets.mint(Object.assign({}, body, { session }), keyId);
    const config = new SessionConfig(body.session.model, expiresAt);
    config.update(body.session, { hasAudio: false, place: 'session' });
    return { value, expires_at: expiresAt, session: config.wire(false) };
  };
  const callers = new WeakMap<FastifyRequest, RealtimeClient>();
  const admit = async (request: FastifyRequest): Promise<void> => {
    callers.set(request, await sessions.client(request.raw));
  };
  const hangUp = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { id } = request.params as { id: string };
    passes.checkBody(request.raw, Buffer.isBuffer(request.body) ? request.body : null);
    const owner = await owners.ofRunning(id);
    if (owner !== null && (await forwarder.forward(owner, request, reply))) return reply;
    calls.hangUp(id);
    return reply.send();
  };
  app.post('/v1/realtime/client_secrets', needs('calls'), (request) => mint(request));
  app.post('/v1/realtime/calls', { onRequest: admit }, (request, reply) => {
    admission.enter();
    const client = callers.get(request);
    if (client === undefined) throw new ParleyError('AUTH_REQUIRED');
    return calls.answer(request, client, reply);
  });
  app.post('/v1/realtime/calls/:id/hangup', needs('calls'), hangUp);
}
