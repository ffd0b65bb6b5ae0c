import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { type AgentConfig, agentConfigSchema } from '../../agent/agent.js';
import type { QueueExitSettings, QueueSettings } from '../../agent/extensions/queue.js';
import { continuationSchema } from '../../agent/continuation.js';
import {
  type AgentExtensions,
  agentExtensionsSchema,
  overriddenExtensions,
} from '../../agent/extensions/extensions.js';
import { movingSchema, REQUEST_NAMES } from '../../agent/extensions/old-place.js';
import { type Location, parseWith } from '../../schema/issues.js';
import { overriddenAgent } from '../../agent/override-agent.js';
import type { Engine } from '../../engine/engine.js';
import type { SessionRequest } from '../../engine/options.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import type { SessionHandle, SessionLine } from '../../engine/remote-line.js';
import type { QueueFacts } from '../../session/record/call-history.js';
import type { CallChannel } from '../../store/calls.js';
import type { AdmissionControl } from '../admission-control.js';
import type { CallEventBus } from '../call-event-bus.js';
import type { Access, Caller, PublicKey } from '../http/access.js';
import type { AgentRegistry, VersionedAgent } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { CallQueues } from '../queues/call-queues.js';
import { WebCaller } from '../queues/web-caller.js';
import { promptFault } from '../agents/check-agent.js';
import type { RegisteredCall, RegisteredCalls } from '../calls/registered-calls.js';
import { callerOf, type RequestedAgent } from '../agents/requested-agent.js';
import type { VersionPin } from '../../store/agents.js';

export interface WebSessionsOptions {
  engine: Engine;
  agents: AgentRegistry;
  access: Access;
  log: CallLog;
  registered: Pick<RegisteredCalls, 'take'>;
  /** Fields of AgentConfig that a client may set for its session. */
  publicAgentConfigFields: readonly string[];
  admission: AdmissionControl;
  events: CallEventBus;
  onError: (error: Error) => void;
  queues: Pick<CallQueues, 'stops' | 'enter' | 'over' | 'join'>;
}

/** What a client may set for its session beside the agent. */
export const sessionFieldsShape = {
  metadata: z.record(z.string(), z.unknown()).nullish(),
  include_metadata_in_prompt: z.boolean().nullish(),
  session_continuation: continuationSchema.nullish(),
};

export type SessionFields = z.output<z.ZodObject<typeof sessionFieldsShape>>;

/** The request for a session, from its client or from a registration. */
export interface RequestedSession
  extends RequestedAgent, Pick<RegisteredCall, 'metadata' | 'includeMetadataInPrompt' | 'continuation' | 'phones'> {
  sessionId: string;
  /** Null = it was not registered, so the log does not have it yet. */
  callId: string | null;
}

const overrideSchema = movingSchema(
  z.strictObject({ agent_config: agentConfigSchema.nullish(), agent_extensions: agentExtensionsSchema.nullish() }),
  REQUEST_NAMES,
);

/** A temporary agent: the client's configuration is all of it. */
const TEMPORARY = { id: null, version: null, config: {}, script: undefined, extensions: null };

/** How a client comes to its session. */
export interface ClientArrival {
  channel: CallChannel;
  /** It waits for its turn. */
  onWait?: () => void;
  /** Ends the session that it continues. Resolves with whether that was one of this node. */
  endBefore?: () => Promise<boolean>;
}

/** What the client's end adds to a session. */
export type SessionExtras = Pick<SessionRequest, 'tools' | 'tts' | 'log' | 'observe'>;

/** Sessions of pages and apps: checks the rights of each client and creates its session. */
export class WebSessions {
  readonly #options: WebSessionsOptions;
  /** Sessions that are about to start. */
  readonly #starting = new Set<string>();
  /** Sessions that the log has, because their clients have waited. */
  readonly #logged = new Set<string>();

  constructor(options: WebSessionsOptions) {
    this.#options = options;
    options.admission.count({ pending: () => this.#starting.size });
  }

  /**
   * Admits a client with a public key or a session token, which becomes invalid.
   * @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN
   */
  enter(keyOrToken: string, caller: Caller): Promise<PublicKey> {
    return this.#options.access.talker(keyOrToken, caller);
  }

  /** @throws ParleyError SESSIONS_FULL if there is no room for another session */
  checkRoom(): void {
    const { isFull, maxSessions } = this.#options.admission;
    if (isFull) throw new ParleyError('SESSIONS_FULL', { limit: maxSessions });
  }

  /**
   * The requested session, checked.
   * @param key null = a private key, which has all rights
   * @param agent without an `id`, `config` and `extensions` are the whole agent, for this session only; `place` is its
   * place in the request
   * @throws InvalidConfigError; ParleyError AUTH_FORBIDDEN, NOT_FOUND
   */
  async requested(
    key: PublicKey | null,
    agent: { id: string | null; version?: VersionPin | null; config?: unknown; extensions?: unknown; place?: Location },
    fields: SessionFields,
  ): Promise<RequestedSession> {
    const { access } = this.#options;
    const sessionId = randomUUID();
    if (key !== null) access.agent(key, agent.id);
    const override = this.#override(agent, key);
    // Otherwise, a client that sets the metadata could continue the conversation of any user.
    if (key !== null && fields.session_continuation?.identifier_variable != null) {
      throw new ParleyError('AUTH_FORBIDDEN', { reason: 'identifier_variable needs a private key' });
    }
    const version = this.#version(agent, key);
    const found = agent.id === null ? TEMPORARY : await this.#stored(agent.id, version, fields, sessionId);
    const { id: agentId, version: agentVersion, config, script, ...own } = found;
    const extensions = overriddenExtensions(own.extensions, override.extensions);
    return {
      sessionId,
      callId: null,
      agentId,
      agentVersion,
      agent: overriddenAgent(config, override.config),
      script,
      extensions,
      metadata: fields.metadata ?? {},
      includeMetadataInPrompt: fields.include_metadata_in_prompt ?? false,
      continuation: fields.session_continuation ?? null,
      phones: null,
    };
  }

  /** A registered call. Its id is enough, because the registration needed a private key. @throws ParleyError NOT_FOUND */
  registered(callId: string): Promise<RequestedSession> {
    return this.#options.registered.take(callId, 'talk');
  }

  /**
   * Keeps a place for a session; call `begin` at once. Returns false if the client has to wait for it.
   * @param isFree whether there is a place. Default: by those who wait and run
   * @throws ParleyError SESSIONS_FULL if it cannot wait
   */
  reserve(requested: RequestedSession, isFree = !this.mustWait(requested)): boolean {
    const { sessionId } = requested;
    if (!isFree) return false;
    const queue = queueOf(requested);
    this.#starting.add(sessionId);
    if (queue !== null) this.#options.queues.enter(queue.id, queue.settings, sessionId);
    return true;
  }

  /** Whether a client has to wait for its session. @throws ParleyError SESSIONS_FULL if it cannot */
  mustWait(requested: RequestedSession): boolean {
    const { admission, queues } = this.#options;
    const queue = queueOf(requested);
    if (queue === null) {
      this.checkRoom();
      return false;
    }
    return admission.isFull || queues.stops(queue.id, requested, queue.settings);
  }

  /**
   * Keeps a place for a session, at once or after the client's turn in its agent's queue: it hears music meanwhile. Call
   * `begin` with the returned line at once.
   * @throws ParleyError SESSIONS_FULL
   */
  async place(requested: RequestedSession, transport: SessionLine, arrival: ClientArrival): Promise<SessionLine> {
    const { admission } = this.#options;
    const { sessionId, continuation } = requested;
    // The place of the session that it continues is for nobody else.
    if (continuation?.session_id != null) this.#starting.add(sessionId);
    const hasEnded = await (arrival.endBefore?.() ?? Promise.resolve(false)).finally(() =>
      this.#starting.delete(sessionId),
    );
    const isFree = (hasEnded && admission.room > 0) || !this.mustWait(requested);
    return this.reserve(requested, isFree) ? transport : this.wait(requested, transport, arrival);
  }

  /**
   * Waits for the client's turn in its agent's queue, as `place`.
   * @throws ParleyError SESSIONS_FULL
   */
  async wait(
    requested: RequestedSession,
    transport: SessionLine,
    { channel, onWait }: ClientArrival,
  ): Promise<SessionLine> {
    const { engine, queues, admission, log, onError } = this.#options;
    const { sessionId, callId, agentId, agentVersion, agent, script, extensions, metadata, phones } = requested;
    const full = new ParleyError('SESSIONS_FULL', { limit: admission.maxSessions });
    const queue = queueOf(requested);
    if (queue === null) throw full;
    onWait?.();
    const call = new WebCaller(transport);
    const begin = (noted: QueueFacts): void => {
      this.#logged.add(sessionId);
      if (callId !== null) {
        log.noteStatus(sessionId, 'queued');
        log.noteQueue(sessionId, noted);
        return;
      }
      const known = { agentId, agentVersion, agentConfig: agent, metadata };
      const facts = { ...known, channel, status: 'queued', queue: noted };
      log.begin({ sessionId, ...facts }).catch((error: unknown) => {
        onError(errorOf(error));
        call.hangUp();
      });
    };
    const turn = await queues.join({
      id: sessionId,
      queueId: queue.id,
      settings: queue.settings,
      call,
      sinceMs: engine.clock.nowMs(),
      request: { agent, script, extensions, agentId, metadata, phones },
      begin,
      take: () => void this.#starting.add(sessionId),
      mayTransfer: () => Promise.resolve('the line cannot be transferred'),
    });
    if (typeof turn === 'string') {
      this.#logged.delete(sessionId);
      throw full;
    }
    return turn.line;
  }

  /**
   * Creates and logs the session. The caller runs it.
   * @param more only for a line of this thread
   * @throws ParleyError as `Engine.createSession`; then the caller closes the transport
   */
  async begin(
    requested: RequestedSession,
    transport: SessionLine,
    channel: CallChannel,
    more: SessionExtras = {},
  ): Promise<SessionHandle> {
    const { engine, log, events, queues } = this.#options;
    const { sessionId: id, callId, agentId, agentVersion, agent, script, metadata } = requested;
    const { includeMetadataInPrompt, continuation, phones, extensions } = requested;
    const isLogged = this.#logged.delete(id) || callId !== null;
    this.#starting.add(id);
    const observed = events.observer(id, agentId);
    const starting = engine.createSession({
      ...more,
      id,
      agent,
      extensions,
      script,
      transport,
      metadata,
      includeMetadataInPrompt,
      agentId,
      callId,
      continuation,
      phones,
      observe: (event) => {
        observed(event);
        more.observe?.(event);
      },
    });
    const session = await starting
      .catch(async (error: unknown) => {
        queues.over(id);
        if (isLogged) await log.fail(id, 'failed', reasonOf(error));
        throw promptFault(error) ?? error;
      })
      .finally(() => this.#starting.delete(id));
    void session.finished.then(() => queues.over(id));
    try {
      const begun = { sessionId: id, channel, agentId, agentVersion, agentConfig: agent, metadata };
      if (!isLogged) await log.begin(begun);
      else await log.status(id, 'in-progress');
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** Ends a session whose connection failed. */
  async abandon(session: SessionHandle, reason: string): Promise<void> {
    try {
      await this.#options.log.fail(session.id, 'failed', reason);
    } finally {
      await session.close();
    }
  }

  /** The version that a client may have; null = as all others. @throws ParleyError AUTH_FORBIDDEN */
  #version({ id, version = null }: Parameters<WebSessions['requested']>[1], key: PublicKey | null): VersionPin | null {
    if (key === null) return version;
    if (version !== null && version !== key.agentVersion) {
      throw new ParleyError('AUTH_FORBIDDEN', {
        reason: 'agent_version needs a private key, or a token made with one',
      });
    }
    return key.agentVersion ?? (id === null ? null : this.#options.agents.stored(id).publishing.widget);
  }

  #stored(
    id: string,
    version: VersionPin | null,
    { metadata }: SessionFields,
    sessionId: string,
  ): Promise<VersionedAgent> {
    const { agents } = this.#options;
    const caller = callerOf(agents.get(id).config, metadata ?? {}) ?? sessionId;
    return agents.forConversation(id, { version, caller });
  }

  /** What a client overrides for its session. @throws ParleyError AUTH_FORBIDDEN, CONFIG_INVALID */
  #override(
    { config, extensions, place = [] }: Parameters<WebSessions['requested']>[1],
    key: PublicKey | null,
  ): { config: AgentConfig; extensions: AgentExtensions | null } {
    if (extensions != null && key !== null) {
      throw new ParleyError('AUTH_FORBIDDEN', { reason: 'agent_extensions needs a private key' });
    }
    if (config == null && extensions == null) return { config: {}, extensions: null };
    const allowed = new Set(this.#options.publicAgentConfigFields);
    const refused = (typeof config === 'object' && config !== null ? Object.keys(config) : []).find(
      (field) => !allowed.has(field),
    );
    if (key !== null && config != null && (allowed.size === 0 || refused !== undefined)) {
      const what =
        refused === undefined || allowed.size === 0 ? 'agent_config' : `agent_config.${refused.slice(0, 60)}`;
      const setting = 'PARLEY_PUBLIC_AGENT_CONFIG_FIELDS can allow single fields';
      throw new ParleyError('AUTH_FORBIDDEN', { reason: `${what} needs a private key; ${setting}` });
    }
    const parts = parseWith(overrideSchema, { agent_config: config, agent_extensions: extensions }, place);
    return { config: parts.agent_config ?? {}, extensions: parts.agent_extensions ?? null };
  }
}

/** The queue in which clients of an agent wait; null = they do not. */
function queueOf({ agentId, extensions }: RequestedSession): { id: string; settings: QueueSettings } | null {
  const { queue } = extensions ?? {};
  if (queue?.web !== true || agentId === null) return null;
  const { hours, overflow } = queue;
  const settings: QueueSettings = { ...queue, ring: 0, callback: null, overflow: overflow && webExit(overflow) };
  if (hours != null) settings.hours = { ...hours, closed: hours.closed && webExit(hours.closed) };
  return { id: agentId, settings };
}

/** Clients have no number that could be connected or called back, and leave no voicemail. */
function webExit(exit: QueueExitSettings): QueueExitSettings {
  return exit.action === 'refuse' ? exit : { action: 'message', message: exit.message };
}
