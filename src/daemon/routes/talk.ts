import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import type { Cancel, Clock } from '../../clock/clock.js';
import { type AgentConfig, agentConfigSchema } from '../../config/agent.js';
import { continuationSchema } from '../../config/continuation.js';
import { parseWith } from '../../config/issues.js';
import { overriddenAgent } from '../../config/override-agent.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError, reasonOf } from '../../errors.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { TalkServerMessage } from '../../transports/talk-protocol.js';
import { TalkSocketTransport } from '../../transports/talk-socket.js';
import type { Access, Caller, PublicKey } from '../access.js';
import type { AgentRegistry } from '../agents.js';
import type { CallLog } from '../call-log.js';
import type { RegisteredCall, RegisteredCalls } from '../registered-calls.js';
import type { RequestedAgent } from '../requested-agent.js';
import { callerOf, type RateLimit } from '../rate-limit.js';
import { SocketPlaces } from '../socket-places.js';

export interface TalkOptions {
  server: Server;
  engine: Engine;
  agents: AgentRegistry;
  access: Access;
  requests: RateLimit;
  clock: Clock;
  log: CallLog;
  registered: Pick<RegisteredCalls, 'take'>;
  /** Fields of AgentConfig that a client may set for its session. */
  publicAgentConfigFields: readonly string[];
  /** Sessions that may run at once. */
  maxSessions: number;
  /** Sockets that one address may have open. */
  socketsPerAddress: number;
  /** False while the daemon is shutting down. */
  isOpen: () => boolean;
  onSessionEvent: (sessionId: string, agentId: string, event: SessionEvent) => void;
  onError: (error: Error) => void;
}

/** A client has to say who it is within this. */
const INITIATE_TIMEOUT_MS = 10_000;
/** How long a client that is sent away may take to answer the close. */
const CLOSE_TIMEOUT_MS = 2000;
/** Largest message: 32 s of audio. */
const MAX_MESSAGE_BYTES = 1_048_576;
/** Clients that have not said who they are, at once. */
const MAX_WAITING = 500;
/** WebSocket close codes: going on would break a rule; try again later; something failed here. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const INTERNAL_ERROR = 1011;

const publicKeySchema = z.string().min(1).max(500);
const initiateSchema = z.strictObject({
  method: z.literal('initiate'),
  data: z.strictObject({
    public_key: publicKeySchema,
    agent: z.strictObject({ agent_id: z.string().min(1).max(200), agent_config: z.unknown().optional() }),
    metadata: z.record(z.string(), z.unknown()).nullish(),
    include_metadata_in_prompt: z.boolean().nullish(),
    session_continuation: continuationSchema.nullish(),
  }),
});
/** For a call that was registered with all the rest. */
const registeredSchema = z.strictObject({
  method: z.literal('initiate'),
  data: z.strictObject({ public_key: publicKeySchema, call_id: z.string().min(1).max(200) }),
});

/** A session as its client wants it, or as it was registered. */
interface Wanted extends RequestedAgent, Pick<RegisteredCall, 'metadata' | 'includeMetadataInPrompt' | 'continuation'> {
  sessionId: string;
  /** Null = it was not registered, and is not in the log yet. */
  callId: string | null;
}

/** `/talk`: the socket that browsers talk over. See docs/talk-socket.md for the protocol. */
export class TalkEndpoint {
  readonly #options: TalkOptions;
  /** Clients that have no session (yet, or any more). */
  readonly #waiting = new Set<WebSocket>();
  readonly #places: SocketPlaces;
  /** Sessions that are being made. */
  #starting = 0;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });

  constructor(options: TalkOptions) {
    this.#options = options;
    this.#places = new SocketPlaces(options.socketsPerAddress);
    options.server.on('upgrade', this.#onUpgrade);
  }

  /** Takes no more clients. Those who have not begun to talk are sent away. May be called twice. */
  close(): void {
    for (const client of this.#waiting) client.terminate();
    this.#sockets.close();
  }

  readonly #onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const { access, requests, isOpen } = this.#options;
    if (request.url?.split('?')[0] !== '/talk') {
      refuse(socket, 404, 'Not Found');
      return;
    }
    if (!isOpen()) {
      refuse(socket, 503, 'Service Unavailable');
      return;
    }
    try {
      access.origin(callerIn(request));
    } catch (error) {
      refuse(socket, 403, 'Forbidden', reasonOf(error));
      return;
    }
    try {
      requests.take(callerOf(request));
      if (this.#waiting.size >= MAX_WAITING) throw new ParleyError('SOCKETS_FULL', { limit: MAX_WAITING });
      socket.once('close', this.#places.enter(callerOf(request)));
    } catch (error) {
      refuse(socket, 429, 'Too Many Requests', reasonOf(error));
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      this.#waitForInitiate(client, callerIn(request));
    });
  };

  #waitForInitiate(client: WebSocket, caller: Caller): void {
    const { clock } = this.#options;
    this.#waiting.add(client);
    client.on('error', () => undefined); // a close always follows
    client.once('close', () => this.#waiting.delete(client));
    const cancel: Cancel = clock.schedule(clock.nowMs() + INITIATE_TIMEOUT_MS, () => {
      this.#end(client, POLICY_VIOLATION, 'the first message did not come in time');
    });
    client.once('close', cancel);
    client.once('message', (data: Buffer, isBinary: boolean) => {
      cancel();
      const transport = new TalkSocketTransport(client, { clock }); // keeps what comes until the session listens
      const text = isBinary ? null : data.toString('utf8');
      void this.#begin({ client, transport, caller }, text).catch((error: unknown) => {
        this.#sendAway(client, error);
      });
    });
  }

  async #begin(
    { client, transport, caller }: { client: WebSocket; transport: TalkSocketTransport; caller: Caller },
    text: string | null,
  ): Promise<void> {
    const { engine, log, onSessionEvent } = this.#options;
    const message = parseJson(text);
    const wanted = isRegistered(message) ? this.#registered(message, caller) : this.#wanted(message, caller);
    this.#starting++;
    const { sessionId: id, callId, agentId, agent, script, metadata, includeMetadataInPrompt, continuation } = wanted;
    const starting = engine.createSession({
      ...{ id, agent, script, transport, metadata, includeMetadataInPrompt },
      ...(agentId !== null && { agentId }),
      ...(callId !== null && { callId }),
      ...(continuation !== null && { continuation }),
      observe: (event) => {
        onSessionEvent(id, agentId ?? '', event);
      },
    });
    const session = await starting
      .catch((error: unknown) => {
        if (callId !== null) log.fail(id, 'failed', reasonOf(error));
        throw error;
      })
      .finally(() => this.#starting--);
    this.#waiting.delete(client);
    try {
      if (callId === null) log.begin({ sessionId: id, channel: 'talk', agentId, agentConfig: agent, metadata });
      else log.status(id, 'in-progress');
    } catch (error) {
      await session.close();
      throw error;
    }
    await session.run();
  }

  /** @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN, NOT_FOUND, CONFIG_INVALID */
  #wanted(message: unknown, caller: Caller): Wanted {
    const { agents, access } = this.#options;
    const { data } = parseWith(initiateSchema, message, ['initiate']);
    const key = this.#enter(data.public_key, caller);
    access.agent(key, data.agent.agent_id);
    const override = this.#override(data.agent.agent_config);
    // Who may say what the metadata is could be given anybody's conversation.
    if (data.session_continuation?.identifier_variable != null) {
      throw new ParleyError('AUTH_FORBIDDEN', { reason: 'with a public key no identifier_variable may be given' });
    }
    const { id: agentId, config, script } = agents.get(data.agent.agent_id);
    return {
      ...{ sessionId: randomUUID(), callId: null, agentId, agent: overriddenAgent(config, override), script },
      ...{ metadata: data.metadata ?? {}, includeMetadataInPrompt: data.include_metadata_in_prompt ?? false },
      continuation: data.session_continuation ?? null,
    };
  }

  /** What it is was said with a private key: that the client knows its id is enough. @throws as `#wanted` */
  #registered(message: unknown, caller: Caller): Wanted {
    const { data } = parseWith(registeredSchema, message, ['initiate']);
    this.#enter(data.public_key, caller);
    return this.#options.registered.take(data.call_id);
  }

  /** Whether a client may have a session, and there is room for it. @throws ParleyError */
  #enter(keyOrToken: string, caller: Caller): PublicKey {
    const { access, engine, maxSessions } = this.#options;
    const key = access.talker(keyOrToken, caller);
    if (engine.sessions.size + this.#starting < maxSessions) return key;
    throw new ParleyError('SESSIONS_FULL', { limit: maxSessions });
  }

  /** What a client with a public key wants otherwise for its session. @throws ParleyError AUTH_FORBIDDEN, CONFIG_INVALID */
  #override(config: unknown): AgentConfig {
    if (config == null) return {};
    const allowed = new Set(this.#options.publicAgentConfigFields);
    const refused = (typeof config === 'object' ? Object.keys(config) : []).find((field) => !allowed.has(field));
    if (allowed.size === 0 || refused !== undefined) {
      const what =
        refused === undefined || allowed.size === 0 ? 'agent_config' : `agent_config.${refused.slice(0, 60)}`;
      throw new ParleyError('AUTH_FORBIDDEN', { reason: `with a public key no ${what} may be given` });
    }
    return parseWith(agentConfigSchema, config, ['initiate', 'data', 'agent', 'agent_config']);
  }

  #sendAway(client: WebSocket, error: unknown): void {
    const known = error instanceof ParleyError;
    if (!known) this.#options.onError(error instanceof Error ? error : new Error(String(error)));
    const reason = known ? error.message : 'something went wrong inside parley';
    const message: TalkServerMessage = { method: 'onerror', data: reason };
    client.resume();
    if (client.readyState === client.OPEN) client.send(JSON.stringify(message));
    const code = !known ? INTERNAL_ERROR : error.retryable ? TRY_AGAIN_LATER : POLICY_VIOLATION;
    this.#end(client, code, reason);
  }

  /** Closes with a reason, cut to what a close frame can hold. */
  #end(client: WebSocket, code: number, reason: string): void {
    const { clock } = this.#options;
    client.removeAllListeners('message');
    let text = reason;
    while (Buffer.byteLength(text) > 120) text = text.slice(0, -1);
    const cancel = clock.schedule(clock.nowMs() + CLOSE_TIMEOUT_MS, () => {
      client.terminate();
    });
    client.once('close', cancel);
    client.close(code, text);
  }
}

function isRegistered(message: unknown): boolean {
  const data: unknown = typeof message === 'object' && message !== null && 'data' in message ? message.data : null;
  return typeof data === 'object' && data !== null && 'call_id' in data;
}

function callerIn({ headers: { origin, host } }: IncomingMessage): Caller {
  return { origin, host };
}

function parseJson(text: string | null): unknown {
  if (text === null) throw new ParleyError('CONFIG_INVALID', { reason: 'the first message must be initiate' });
  try {
    return JSON.parse(text);
  } catch {
    throw new ParleyError('CONFIG_INVALID', { reason: 'the first message is no JSON' });
  }
}

function refuse(socket: Duplex, status: number, phrase: string, detail: string = phrase): void {
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${String(status)} ${phrase}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`,
  );
}
