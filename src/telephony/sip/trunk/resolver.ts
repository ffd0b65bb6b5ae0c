import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Hop, SipProtocol } from '../hop.js';

/** A server as the operator names it. */
export interface ServerAddress {
  /** Null: the operator leaves it to DNS. */
  protocol: SipProtocol | null;
  /** Name or IP address. */
  host: string;
  /** Null: what DNS says, else the protocol's own. */
  port: number | null;
  /** A `sips:` address: nothing but TLS. Default false. */
  isSecure?: boolean;
}

/** A record that leads to others (RFC 3403), as far as SIP uses it. */
export interface NaptrRecord {
  /** The lowest is tried first, then `preference`. */
  order: number;
  preference: number;
  /** `s`: `replacement` has SRV records; others are of no use here. */
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

/** Asks DNS. Rejects where there is no such name, or no answer. */
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
/** Records that one name leads to; more is nonsense. */
const MOST_NAPTR = 8;
/** A name server that says nothing keeps nobody waiting for long. */
const PATIENCE = { timeout: 2_000, tries: 2 };

let resolver: Resolver | null = null;
const asked = (): Resolver => (resolver ??= new Resolver(PATIENCE));

export const systemNames: NameServer = {
  naptr: (name) => asked().resolveNaptr(name),
  srv: (name) => asked().resolveSrv(name),
  addresses: async (name) => (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
};

/** Somewhere to try. */
interface ResolvedPlace {
  protocol: SipProtocol;
  name: string;
  port: number;
}

/**
 * All places of a server, in the order in which they are to be tried (RFC 3263, 4): where neither transport nor port is
 * named, NAPTR says which; then SRV which machines; then their addresses.
 * @param chance 0 ≤ number < 1: servers of one priority take turns by their weight (RFC 2782)
 * @returns empty where nothing is known of the name
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

/** By order, then preference: what the far side likes best comes first, what it likes less is tried after it. */
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

/** Of the protocol, or of the first of all that has any (RFC 3263, 4.1: where there is no NAPTR). */
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
