import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { parseWith } from '../../schema/issues.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import { ParleyError } from '../../base/errors.js';
import { type TalkClient, TalkClients } from '../../transports/talk-clients.js';
import type { TalkSocketTransport } from '../../transports/talk-socket.js';
import { versionPinSchema } from '../agents/requested-agent.js';
import type { AdmissionControl } from '../admission-control.js';
import type { Access, Caller } from '../http/access.js';
import type { Clients } from '../http/clients.js';
import type { RateLimit } from '../http/rate-limit.js';
import { refuseUpgrade } from '../../net/refuse-upgrade.js';
import { SocketPlaces, type Upgrade, type Upgrades } from '../http/upgrades.js';
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
        agent_version: versionPinSchema.nullish(),
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
  readonly #clients: TalkClients;
  /** Running sessions by id. */
  readonly #talking = new Map<
    string,
    { session: SessionHandle; transport: TalkSocketTransport; agentId: string | null }
  >();
  readonly #places: SocketPlaces;

  constructor(options: TalkEndpointOptions) {
    this.#options = options;
    const { clock, leadMs, onError } = options;
    this.#clients = new TalkClients({ clock, leadMs, onError });
    this.#places = new SocketPlaces(options.socketsPerAddress);
    options.upgrades.at(
      (path) => path === '/talk',
      (upgrade) => this.#onUpgrade(upgrade),
    );
  }

  /** Refuses new clients and disconnects clients without a session. */
  close(): void {
    this.#clients.close();
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
      this.#clients.checkRoom();
      socket.once('close', this.#places.enter(clients.of(request).address));
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error;
      refuseUpgrade(socket, error);
      return;
    }
    const caller = access.callerOf(request);
    this.#clients.open(request, socket, head, (client) => this.#begin(client, caller));
  }

  async #begin({ transport, initiate, begun }: TalkClient, caller: Caller): Promise<void> {
    const { webSessions } = this.#options;
    const { requested, playsThroughPauses } = await this.#requested(initiate, caller);
    transport.playsThroughPauses = playsThroughPauses;
    const endBefore = (): Promise<boolean> => this.#takeOver(requested);
    const line = await webSessions.place(requested, transport, { channel: 'talk', onWait: begun, endBefore });
    const session = await webSessions.begin(requested, line, 'talk');
    begun();
    this.#talking.set(session.id, { session, transport, agentId: requested.agentId });
    await session.run().finally(() => this.#talking.delete(session.id));
  }

  /**
   * A client whose connection broke continues its session in a new one, perhaps on another node. The daemon may not have
   * noticed the break. It ends the old session now, so that its messages are stored.
   * @returns whether it was one of this node
   */
  async #takeOver({ continuation, agentId }: RequestedSession): Promise<boolean> {
    const sessionId = continuation?.session_id ?? null;
    if (sessionId === null) return false;
    if (await this.abandon(sessionId, agentId)) return true;
    await this.#options.abandonElsewhere(sessionId, agentId);
    return false;
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
    const { agent_id: id = null, agent_version: version = null } = agent;
    const requested = await webSessions.requested(
      await webSessions.enter(key, caller),
      { id, version, config: agent.agent_config, extensions: agent.agent_extensions, place },
      fields,
    );
    return { requested, playsThroughPauses: inPauses === true };
  }
}

function isRegistered(message: unknown): boolean {
  const data: unknown = typeof message === 'object' && message !== null && 'data' in message ? message.data : null;
  return typeof data === 'object' && data !== null && 'call_id' in data;
}
