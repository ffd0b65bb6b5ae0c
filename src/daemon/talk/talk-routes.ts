import { type WebSocket, WebSocketServer } from 'ws';
import * as z from 'zod';
import type { Cancel, Clock } from '../../base/clock.js';
import { parseWith } from '../../schema/issues.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { TalkServerMessage } from '../../transports/talk-protocol.js';
import { TalkSocketTransport } from '../../transports/talk-socket.js';
import type { AdmissionControl } from '../admission-control.js';
import type { Access, Caller } from '../http/access.js';
import type { Clients } from '../http/clients.js';
import type { RateLimit } from '../http/rate-limit.js';
import { refuseUpgrade, SocketPlaces, type Upgrade, type Upgrades } from '../http/upgrades.js';
import { type WebSessions, type RequestedSession, sessionFieldsShape } from './web-sessions.js';

export interface TalkEndpointOptions {
  upgrades: Upgrades;
  webSessions: WebSessions;
  access: Access;
  clients: Clients;
  requests: RateLimit;
  clock: Clock;
  /** Maximum of open sockets of one address. */
  socketsPerAddress: number;
  /** How far audio runs ahead of real time, in milliseconds. */
  leadMs: number;
  admission: Pick<AdmissionControl, 'fault'>;
  /** Ends the lost connection of a session that another node has, so that its messages are stored. */
  abandonElsewhere: (sessionId: string, agentId: string | null) => Promise<void>;
  /** Resolves when all that a session has written is stored. */
  stored: (sessionId: string) => Promise<void>;
  onError: (error: Error) => void;
}

/** Time limit for the first message of a client. */
const INITIATE_TIMEOUT_MS = 10_000;
/** Time limit for a refused client's answer to the close frame. */
const CLOSE_TIMEOUT_MS = 2000;
/** Largest message: 32 s of audio. */
const MAX_MESSAGE_BYTES = 1_048_576;
/** Maximum of clients without a first message. */
const MAX_WAITING = 500;
/** WebSocket close codes of RFC 6455 and its registry. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
const TOO_BIG = 1009;
const INTERNAL_ERROR = 1011;

const publicKeySchema = z.string().min(1).max(500);
/** The first message of a client. */
const clientShape = { background_in_pauses: z.boolean().nullish() };
const initiateSchema = z.strictObject({
  method: z.literal('initiate'),
  data: z.strictObject({
    public_key: publicKeySchema,
    agent: z
      .strictObject({
        agent_id: z.string().min(1).max(200).nullish(),
        agent_config: z.unknown().optional(),
        agent_extensions: z.unknown().optional(),
      })
      .refine((agent) => agent.agent_id != null || agent.agent_config != null, 'agent_id or agent_config is required'),
    ...clientShape,
    ...sessionFieldsShape,
  }),
});
/** The first message for a registered call. */
const registeredSchema = z.strictObject({
  method: z.literal('initiate'),
  data: z.strictObject({ public_key: publicKeySchema, call_id: z.string().min(1).max(200), ...clientShape }),
});

/** `/talk`: the voice socket for browsers. docs/talk-socket.md describes the protocol. */
export class TalkEndpoint {
  readonly #options: TalkEndpointOptions;
  /** Clients without a session, before or after it. */
  readonly #waiting = new Set<WebSocket>();
  /** Running sessions by id. */
  readonly #talking = new Map<
    string,
    { session: SessionHandle; transport: TalkSocketTransport; agentId: string | null }
  >();
  readonly #places: SocketPlaces;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });

  constructor(options: TalkEndpointOptions) {
    this.#options = options;
    this.#places = new SocketPlaces(options.socketsPerAddress);
    options.upgrades.at(
      (path) => path === '/talk',
      (upgrade) => this.#onUpgrade(upgrade),
    );
  }

  /** Refuses new clients and disconnects clients without a session. */
  close(): void {
    for (const client of this.#waiting) client.terminate();
    this.#sockets.close();
  }

  #onUpgrade({ request, socket, head }: Upgrade): void {
    const { access, clients, requests, admission } = this.#options;
    const { fault } = admission;
    if (fault !== null) {
      refuseUpgrade(socket, fault);
      return;
    }
    try {
      access.origin(access.callerOf(request));
      requests.take(clients.of(request).address);
      if (this.#waiting.size >= MAX_WAITING) throw new ParleyError('SOCKETS_FULL', { limit: MAX_WAITING });
      socket.once('close', this.#places.enter(clients.of(request).address));
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      refuseUpgrade(socket, error);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      this.#waitForInitiate(client, access.callerOf(request));
    });
  }

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
      const { leadMs } = this.#options;
      const transport = new TalkSocketTransport(client, { clock, leadMs }); // buffers messages until the session listens
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
    const { webSessions } = this.#options;
    const { requested, playsThroughPauses } = await this.#requested(parseJson(text), caller);
    transport.playsThroughPauses = playsThroughPauses;
    await this.#takeOver(requested);
    const session = await webSessions.begin(requested, transport, 'talk');
    this.#waiting.delete(client);
    this.#talking.set(session.id, { session, transport, agentId: requested.agentId });
    await session.run().finally(() => this.#talking.delete(session.id));
  }

  /**
   * A client whose connection broke continues its session in a new one, perhaps on another node. The daemon may not have
   * noticed the break. It ends the old session now, so that its messages are stored.
   */
  async #takeOver({ continuation, agentId }: RequestedSession): Promise<void> {
    const sessionId = continuation?.session_id ?? null;
    if (sessionId === null || (await this.abandon(sessionId, agentId))) return;
    await this.#options.abandonElsewhere(sessionId, agentId);
  }

  /** Ends a session whose client has lost its connection. Returns false if this node has none of this agent. */
  async abandon(sessionId: string, agentId: string | null): Promise<boolean> {
    const lost = this.#talking.get(sessionId);
    if (lost === undefined || lost.agentId !== agentId) return false;
    lost.transport.abandon();
    await lost.session.finished;
    await this.#options.stored(sessionId);
    return true;
  }

  /** @throws ParleyError AUTH_REQUIRED, AUTH_FORBIDDEN, NOT_FOUND, CONFIG_INVALID, SESSIONS_FULL */
  async #requested(
    message: unknown,
    caller: Caller,
  ): Promise<{ requested: RequestedSession; playsThroughPauses: boolean }> {
    const { webSessions } = this.#options;
    if (isRegistered(message)) {
      const { data } = parseWith(registeredSchema, message, ['initiate']);
      await webSessions.enter(data.public_key, caller);
      return {
        requested: await webSessions.registered(data.call_id),
        playsThroughPauses: data.background_in_pauses === true,
      };
    }
    const { data } = parseWith(initiateSchema, message, ['initiate']);
    const { public_key: key, agent, background_in_pauses: inPauses, ...fields } = data;
    const place = ['initiate', 'data', 'agent'];
    const requested = webSessions.requested(
      await webSessions.enter(key, caller),
      { id: agent.agent_id ?? null, config: agent.agent_config, extensions: agent.agent_extensions, place },
      fields,
    );
    return { requested, playsThroughPauses: inPauses === true };
  }

  #sendAway(client: WebSocket, error: unknown): void {
    const known = error instanceof ParleyError;
    if (!known) this.#options.onError(errorOf(error));
    const reason = known ? error.message : 'an internal error occurred';
    const message: TalkServerMessage = { method: 'onerror', data: reason };
    client.resume();
    if (client.readyState === client.OPEN) client.send(JSON.stringify(message));
    this.#end(client, known ? closeCodeOf(error) : INTERNAL_ERROR, reason);
  }

  /** Closes with a reason, shortened to fit into a close frame. */
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

function closeCodeOf({ httpStatus, retryable }: ParleyError): number {
  if (httpStatus === 413) return TOO_BIG;
  return retryable ? TRY_AGAIN_LATER : POLICY_VIOLATION;
}

function isRegistered(message: unknown): boolean {
  const data: unknown = typeof message === 'object' && message !== null && 'data' in message ? message.data : null;
  return typeof data === 'object' && data !== null && 'call_id' in data;
}

function parseJson(text: string | null): unknown {
  if (text === null) throw new ParleyError('CONFIG_INVALID', { reason: 'the first message must be initiate' });
  try {
    return JSON.parse(text);
  } catch {
    throw new ParleyError('CONFIG_INVALID', { reason: 'the first message is not JSON' });
  }
}
