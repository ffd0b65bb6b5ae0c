import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../base/clock.js';
import { ParleyError } from '../../../base/errors.js';
import { unixSeconds } from '../../../base/real-clock.js';
import { overriddenAgent } from '../../../agent/override-agent.js';
import type { SessionHandle, SessionLine } from '../../../engine/remote-line.js';
import { silentTts } from '../../../providers/tts/silent.js';
import type { CallChannel } from '../../../store/calls.js';
import type { VersionedAgent } from '../../agents/agents.js';
import { type Access, bearer, checkScope } from '../../http/access.js';
import type { Clients } from '../../http/clients.js';
import { payerOf, type RateLimit } from '../../http/rate-limit.js';
import type { RequestedSession, WebSessions } from '../../talk/web-sessions.js';
import type { AgentModels } from '../models.js';
import type { ClientSecrets, SecretClaim } from './client-secrets.js';
import { RealtimeConversation } from './conversation.js';
import { SessionConfig } from './session-config.js';

export interface RealtimeSessionsOptions {
  webSessions: WebSessions;
  models: AgentModels;
  secrets: ClientSecrets;
  access: Access;
  clients: Clients;
  requests: RateLimit;
  clock: Clock;
  nowUnixMs: () => number;
  /** Whether holders of client secrets may give the agent instructions. */
  publicInstructions: boolean;
  onError: (error: Error) => void;
}

/** A client that may have a session. */
export interface RealtimeClient {
  /** Null = a private key, which allows all. */
  secret: SecretClaim | null;
  /** Whose requests are counted. */
  payer: string;
}

export interface OpenedOptions {
  client: RealtimeClient;
  agent: VersionedAgent;
  config: SessionConfig;
  isBeta: boolean;
  /** The client's instructions take the place of the agent's prompt. */
  replacesPrompt: boolean;
  carriesAudio: boolean;
  channel: CallChannel;
  send: (text: string) => void;
  /** The line of the session, once it is to begin. */
  line: (conversation: RealtimeConversation) => SessionLine;
  /** Runs the session. Default: at once. */
  run?: (session: SessionHandle) => void;
  close: () => void;
}

/** A session ends after this long in the interface, too. */
const EXPIRY_S = 3_600;
const NO_INSTRUCTIONS =
  'A client secret gives no instructions; set them in its session, or let PARLEY_PUBLIC_AGENT_CONFIG_FIELDS name prompt';

/** Sessions of clients of OpenAI's Realtime API: their rights, their agents and their engine sessions. */
export class RealtimeSessions {
  readonly #options: RealtimeSessionsOptions;

  constructor(options: RealtimeSessionsOptions) {
    this.#options = options;
  }

  /** @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN, AUTH_SCOPE */
  async client(request: IncomingMessage, key = bearer(request.headers.authorization)): Promise<RealtimeClient> {
    const { secrets, access, clients } = this.#options;
    const { address } = clients.of(request);
    const secret = await secrets.read(key);
    if (secret !== null) {
      const caller = access.callerOf(request);
      // Apps have no origin; pages must be allowed to talk here.
      if (caller.origin !== undefined) access.origin(caller);
      return { secret, payer: address };
    }
    const stored = access.keyWith(key);
    if (stored === null) throw new ParleyError('AUTH_REQUIRED');
    if (stored.kind !== 'private') throw new ParleyError('AUTH_FORBIDDEN', { reason: 'it is a public key' });
    checkScope(stored, 'calls');
    return { secret: null, payer: payerOf(address, stored) };
  }

  /**
   * The agent and the session of a client, as its secret begins it.
   * @throws ParleyError NOT_FOUND, AGENT_DISABLED, AUTH_FORBIDDEN, SESSIONS_FULL; InvalidConfigError
   */
  async prepare(
    { secret }: RealtimeClient,
    model: string | null,
  ): Promise<{ agent: VersionedAgent; config: SessionConfig }> {
    const { models, nowUnixMs, webSessions } = this.#options;
    if (secret !== null && model !== null && model !== secret.session.model) {
      const [asked, allowed] = await Promise.all([models.find(model), models.find(secret.session.model)]);
      if (asked.id !== allowed.id)
        throw new ParleyError('AUTH_FORBIDDEN', { reason: 'the secret is for another model' });
    }
    const name = secret?.session.model ?? model;
    if (name === null) throw new ParleyError('REQUEST_INVALID', { reason: 'the query has no model' });
    const agent = await models.find(name);
    webSessions.checkRoom();
    const config = new SessionConfig(model ?? name, unixSeconds(nowUnixMs()) + EXPIRY_S);
    if (secret !== null)
      config.update(Object.assign({}, secret.session, { model: null }), { hasAudio: false, place: 'session' });
    return { agent, config };
  }

  open(options: OpenedOptions): RealtimeConversation {
    const { clock, requests, publicInstructions, onError } = this.#options;
    const { client, agent, config, isBeta, replacesPrompt, carriesAudio, send, close } = options;
    const sessionId = randomUUID();
    const conversation: RealtimeConversation = new RealtimeConversation({
      clock,
      sessionId,
      config,
      replacesPrompt,
      isBeta,
      carriesAudio,
      send,
      close,
      onError,
      agent: agent.config,
      whyNoInstructions: client.secret === null || publicInstructions ? null : NO_INSTRUCTIONS,
      requestsLeft: () => requests.left(client.payer),
      begin: async (parts) => {
        const { tools, log, observe } = parts;
        const requested = this.#requested(sessionId, options);
        const line = options.line(conversation);
        const more = { tools, log, observe, tts: config.modality === 'text' ? silentTts : undefined };
        const session = await this.#options.webSessions.begin(requested, line, options.channel, more);
        if (options.run === undefined) void session.run().catch(onError);
        else options.run(session);
        return session;
      },
    });
    return conversation;
  }

  #requested(sessionId: string, { agent, config, replacesPrompt }: OpenedOptions): RequestedSession {
    return {
      sessionId,
      callId: null,
      agentId: agent.id,
      agentVersion: agent.version,
      agent: overriddenAgent(agent.config, config.override(agent.config, replacesPrompt)),
      script: agent.script,
      extensions: agent.extensions ?? null,
      metadata: {},
      includeMetadataInPrompt: false,
      continuation: null,
      phones: null,
    };
  }
}
