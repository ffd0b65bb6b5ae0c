import { BlockList, isIP } from 'node:net';
import type { Clock } from '../../../base/clock.js';
import { parseAddress } from '../../sip/address.js';
import type { CallIntake } from '../../sip/call-intake.js';
import type { InboundCall } from '../../sip/call/inbound.js';
import { type Credentials, DigestClient } from '../../sip/digest.js';
import { type Hop, sameHop, type SipProtocol } from '../../sip/hop.js';
import { KeepAlive } from '../../sip/trunk/keep-alive.js';
import { TrunkRegistration, type RegistrationState } from '../../sip/trunk/registration.js';
import type { NameServer, ServerAddress } from '../../sip/trunk/resolver.js';
import { Servers } from '../../sip/trunk/servers.js';
import type { SipMessage, SipRequest } from '../../sip/message.js';
import type { Claim, TransportUser } from '../../sip/transport/shared.js';
import type { Place, SipTransport } from '../../sip/transport/transport.js';
import { type SipCounts, type SipRefusal, UserAgent } from '../../sip/user-agent.js';
import { hostText, userPart } from '../../sip/uri.js';

export interface TrunkOptions {
  clock: Clock;
  /** A unique, unpredictable short string. */
  token: () => string;
  /** 0 ≤ number < 1 */
  chance: () => number;
  names: NameServer;
  /** In order of preference. */
  servers: readonly ServerAddress[];
  /** Host of own addresses. */
  domain: string;
  /** The account on the trunk. Default `parley`. */
  user?: string | undefined;
  credentials: Credentials | null;
  /** Whether to register with the server. */
  register: boolean;
  registerS?: number | undefined;
  /** Of several processes with this trunk, one registers. Default: this one. */
  leadRegistration?: LeadRegistration | undefined;
  /** Source addresses and networks of calls, such as `192.0.2.0/24`, in addition to the servers. */
  sources: readonly string[];
  /** Interval of OPTIONS to the servers; 0 = never. */
  keepAliveMs: number;
  openTransport: (user: TransportUser) => Promise<SipTransport>;
  onCall: (call: InboundCall) => void;
  /** As `UserAgentOptions.takesCalls` and `intake`. */
  takesCalls?: (() => boolean) | undefined;
  intake?: CallIntake | undefined;
  /** Whether a call is for this trunk, if several share a transport and a server. */
  takes: (invite: SipRequest) => boolean;
  onRegistration?: (state: RegistrationState) => void;
  /** As `ServersOptions.onChange`. */
  onServer?: ((hop: Hop | null, answers: boolean) => void) | undefined;
  /** An inbound call is refused. */
  onRefused?: ((refusal: SipRefusal) => void) | undefined;
}

/** Runs work while this process is the one that registers: until the signal aborts. Returns how to give that up. */
export type LeadRegistration = (work: (lost: AbortSignal) => void) => { release: () => Promise<void> };

/** An unreachable address (RFC 5737). */
const UNREACHABLE = '192.0.2.1';

/** A SIP trunk or PBX: its servers, the registration, and the user agent for calls. */
export class Trunk {
  readonly agent: UserAgent;
  readonly servers: Servers;
  /** User part of the contact. */
  readonly user: string;
  readonly #options: TrunkOptions;
  readonly #transport: SipTransport;
  readonly #registration: TrunkRegistration | null;
  #lead: ReturnType<LeadRegistration> | null = null;
  readonly #keepAlive: KeepAlive | null;
  readonly #refused: Record<string, number>;
  readonly #clock: Clock;
  #registered: RegistrationState | null = null;

  private constructor(
    options: TrunkOptions,
    parts: { agent: UserAgent; servers: Servers; transport: SipTransport; refused: Record<string, number> },
  ) {
    const { clock, token, chance, domain, user = 'parley' } = options;
    const { agent, servers } = parts;
    this.#options = options;
    this.#clock = clock;
    this.agent = agent;
    this.servers = servers;
    this.user = user;
    this.#transport = parts.transport;
    this.#refused = parts.refused;
    const address = `<sip:${userPart(user)}@${hostText(domain)}>`;
    const target = `sip:${hostText(domain)}`;
    this.#registration = options.register
      ? new TrunkRegistration({
          clock,
          agent,
          token,
          chance,
          address,
          registrar: target,
          hops: () => servers.hops,
          expiresS: options.registerS,
          onState: (state) => {
            this.#registered = state;
            options.onRegistration?.(state);
          },
        })
      : null;
    const { keepAliveMs: intervalMs } = options;
    this.#keepAlive = intervalMs > 0 ? new KeepAlive({ clock, agent, servers, address, target, intervalMs }) : null;
  }

  /** @throws ParleyError SIP_CANNOT_LISTEN */
  static async open(options: TrunkOptions): Promise<Trunk> {
    const { clock, names, chance, token, credentials, onCall, takesCalls, intake, user = 'parley' } = options;
    const { onServer, onRefused } = options;
    const servers = new Servers({
      clock,
      names,
      chance,
      addresses: options.servers,
      onChange: onServer,
    });
    const sources = sourceList(options.sources);
    const isTrusted = ({ address }: Hop): boolean =>
      servers.has(address) || sources.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
    await servers.open();
    const refused: Record<string, number> = {};
    let agent: UserAgent | null = null;
    let trunk: Trunk | null = null;
    const events: TransportUser = {
      isTrusted,
      nameOf: (hop) => servers.nameOf(hop),
      claims: (message) => claimOf(message, agent, options.takes),
      onMessage: (bytes, from) => agent?.receive(bytes, from),
      onFailed: (hop) => {
        agent?.transportFailed(hop);
        if (trunk !== null) trunk.#registration?.connectionLost(hop);
      },
      onRefused: (why) => (refused[`refused.${why}`] = (refused[`refused.${why}`] ?? 0) + 1),
    };
    let transport: SipTransport;
    try {
      transport = await options.openTransport(events);
    } catch (error) {
      servers.close();
      throw error;
    }
    agent = new UserAgent({
      clock,
      transport,
      token,
      chance,
      isTrusted,
      onCall,
      user: userPart(user),
      takesCalls,
      intake,
      digest: credentials === null ? null : new DigestClient(credentials, token),
      onRefused,
    });
    trunk = new Trunk(options, { agent, servers, transport, refused });
    trunk.#register();
    trunk.#keepAlive?.start();
    return trunk;
  }

  /** Null if it does not register. */
  get registration(): RegistrationState | null {
    return this.#registered;
  }

  /** Where calls go first: along the registrar's `Service-Route` if it has one, otherwise to the servers. */
  get route(): { hops: readonly Hop[]; routes: readonly string[] } {
    const { hops } = this.servers;
    const { routes = [], hop = null } = this.#registration?.serviceRoute ?? {};
    const [first] = routes;
    if (first === undefined || hop === null) return { hops, routes: [] };
    const next = this.agent.hopOf(parseAddress(first)?.sip ?? null, hop);
    return { hops: [next, ...hops.filter((other) => !sameHop(other, next))], routes };
  }

  /** Dropped messages, by reason. */
  get counts(): SipCounts {
    return { ...this.#refused, ...this.agent.counts };
  }

  /** Protocol of its first server. */
  get protocol(): SipProtocol {
    return this.servers.hops[0]?.protocol ?? this.#options.servers[0]?.protocol ?? 'UDP';
  }

  /** The own address as the peer sees it; null = as the first server sees it. */
  placeFor(hop: Hop | null): Place {
    const unreachable = { protocol: this.protocol, address: UNREACHABLE, port: 5060 };
    return this.#transport.localPlace(hop ?? this.servers.hops[0] ?? unreachable);
  }

  #register(): void {
    const registration = this.#registration;
    const { leadRegistration } = this.#options;
    if (registration === null) return;
    if (leadRegistration === undefined) {
      registration.start();
      return;
    }
    this.#registered = { state: 'standby' };
    this.#lead = leadRegistration((lost) => {
      lost.addEventListener('abort', () => registration.stop('standby'), { once: true });
      registration.start();
    });
  }

  /** Unregisters and releases everything. Calls should have ended. May be called twice. */
  async close(): Promise<void> {
    this.#keepAlive?.close();
    await this.#lead?.release();
    this.#registration?.stop('ended');
    this.servers.close();
    await this.#lastWords();
    this.agent.close();
    await this.#transport.close();
  }

  /** Time for answers to BYE and the like. */
  #lastWords(): Promise<void> {
    const clock = this.#clock;
    // Virtual time stands still while this is awaited.
    if (clock.virtual) return Promise.resolve();
    const endMs = clock.nowMs() + 300;
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.agent.dialogs === 0 && this.agent.unanswered === 0) resolve();
        else if (clock.nowMs() >= endMs) resolve();
        else clock.schedule(clock.nowMs() + 20, look);
      };
      look();
    });
  }
}

function claimOf(message: SipMessage, agent: UserAgent | null, takes: (invite: SipRequest) => boolean): Claim {
  if (agent?.knows(message) === true) return 'known';
  return message.kind === 'request' && takes(message) ? 'called' : null;
}

function sourceList(sources: readonly string[]): BlockList {
  const list = new BlockList();
  for (const source of sources) {
    const [address = '', prefix] = source.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family);
  }
  return list;
}
