import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Hop, SipProtocol } from '../hop.js';

/** A configured server. */
export interface ServerAddress {
  /** Null: decided by DNS. */
  protocol: SipProtocol | null;
  /** Name or IP address. */
  host: string;
  /** Null: from DNS, otherwise the protocol's default. */
  port: number | null;
  /** A `sips:` address: only TLS. Default false. */
  isSecure?: boolean;
}

/** A NAPTR record (RFC 3403), as far as SIP uses it. */
export interface NaptrRecord {
  /** The lowest is first, then `preference`. */
  order: number;
  preference: number;
  /** `s`: `replacement` has SRV records; others are not used. */
  flags: string;
  /** `SIP+D2U`, `SIP+D2T`, `SIPS+D2T` … */
  service: string;
  replacement: string;
}

export interface SrvRecord {
  name: string;
  port: number;
  priority: number;
  weight: number;
}

/** Queries DNS. Rejects for an unknown name, or without an answer. */
export interface NameServer {
  naptr(name: string): Promise<readonly NaptrRecord[]>;
  srv(name: string): Promise<readonly SrvRecord[]>;
  addresses(name: string): Promise<readonly string[]>;
}

const SERVICES: Readonly<Record<SipProtocol, string>> = { UDP: '_sip._udp', TCP: '_sip._tcp', TLS: '_sips._tcp' };
const NAPTR_SERVICES: ReadonlyMap<string, SipProtocol> = new Map([
  ['SIP+D2U', 'UDP'],
  ['SIP+D2T', 'TCP'],
  ['SIPS+D2T', 'TLS'],
]);
const MOST_HOPS = 16;
/** Maximum number of NAPTR records to use. */
const MOST_NAPTR = 8;
/** Timeout of a name server. */
const PATIENCE = { timeout: 2_000, tries: 2 };

let resolver: Resolver | null = null;
const asked = (): Resolver => (resolver ??= new Resolver(PATIENCE));

export const systemNames: NameServer = {
  naptr: (name) => asked().resolveNaptr(name),
  srv: (name) => asked().resolveSrv(name),
  addresses: async (name) => (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
};

/** A destination to try. */
interface ResolvedPlace {
  protocol: SipProtocol;
  name: string;
  port: number;
}

/**
 * All destinations of a server in order (RFC 3263, 4): without transport and port, NAPTR selects the transport; SRV
 * selects the hosts; then their addresses.
 * @param chance 0 ≤ number < 1: servers of one priority are ordered by weight (RFC 2782)
 * @returns empty for an unknown name
 */
export async function resolveServer(server: ServerAddress, names: NameServer, chance: () => number): Promise<Hop[]> {
  const { host, port, isSecure = false } = server;
  const protocol = server.protocol ?? (isSecure ? 'TLS' : null);
  const usual: ResolvedPlace = { protocol: protocol ?? 'UDP', name: host, port: port ?? usualPort(protocol ?? 'UDP') };
  if (isIP(host) !== 0) return [{ protocol: usual.protocol, address: host, port: usual.port }];
  let places: ResolvedPlace[] = [];
  if (port === null) {
    if (server.protocol === null) places = await naptrPlaces(host, isSecure, names, chance);
    if (places.length === 0) places = await firstSrvPlaces(host, protocol, names, chance);
  }
  if (places.length === 0) places.push(usual);
  const hops: Hop[] = [];
  for (const place of places) {
    const addresses = await names.addresses(place.name).catch(() => []);
    for (const address of addresses) hops.push({ protocol: place.protocol, address, port: place.port });
  }
  return hops.slice(0, MOST_HOPS);
}

function usualPort(protocol: SipProtocol): number {
  return protocol === 'TLS' ? 5061 : 5060;
}

/** By order, then preference, of the server's operator. */
async function naptrPlaces(
  host: string,
  isSecure: boolean,
  names: NameServer,
  chance: () => number,
): Promise<ResolvedPlace[]> {
  const records = await names.naptr(host).catch(() => []);
  const usable = records
    .flatMap((record) => {
      const protocol =
        record.flags.toLowerCase() === 's' ? NAPTR_SERVICES.get(record.service.toUpperCase()) : undefined;
      return protocol === undefined || (isSecure && protocol !== 'TLS') ? [] : [{ ...record, protocol }];
    })
    .sort((one, other) => one.order - other.order || one.preference - other.preference)
    .slice(0, MOST_NAPTR);
  const found: ResolvedPlace[] = [];
  for (const { replacement, protocol } of usable)
    found.push(...(await srvPlaces(replacement, protocol, names, chance)));
  return found;
}

/** For the protocol, or the first one with records (RFC 3263, 4.1: without NAPTR). */
async function firstSrvPlaces(
  host: string,
  protocol: SipProtocol | null,
  names: NameServer,
  chance: () => number,
): Promise<ResolvedPlace[]> {
  const protocols: readonly SipProtocol[] = protocol === null ? ['UDP', 'TCP', 'TLS'] : [protocol];
  const each = await Promise.all(protocols.map((one) => srvPlaces(`${SERVICES[one]}.${host}`, one, names, chance)));
  return each.find((places) => places.length > 0) ?? [];
}

async function srvPlaces(
  name: string,
  protocol: SipProtocol,
  names: NameServer,
  chance: () => number,
): Promise<ResolvedPlace[]> {
  const records = await names.srv(name).catch(() => []);
  return records
    .map((record) => ({ ...record, turn: record.weight === 0 ? 0 : chance() ** (1 / record.weight) }))
    .sort((one, other) => one.priority - other.priority || other.turn - one.turn)
    .map((record) => ({ protocol, name: record.name, port: record.port }));
}
