import { lookup, resolveSrv } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Hop, SipProtocol } from '../hop.js';

/** A server as the operator names it. */
export interface ServerAddress {
  protocol: SipProtocol;
  /** Name or IP address. */
  host: string;
  /** Null: what DNS says, else the protocol's own. */
  port: number | null;
}

/** Asks DNS. Rejects where there is no such name, or no answer. */
export interface NameServer {
  srv(name: string): Promise<readonly { name: string; port: number; priority: number; weight: number }[]>;
  addresses(name: string): Promise<readonly string[]>;
}

const SERVICES: Readonly<Record<SipProtocol, string>> = { UDP: '_sip._udp', TCP: '_sip._tcp', TLS: '_sips._tcp' };
const MOST_HOPS = 16;

export const systemNames: NameServer = {
  srv: (name) => resolveSrv(name),
  addresses: async (name) => (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
};

/**
 * All places of a server, in the order in which they are to be tried (RFC 3263, 4.2). The protocol is the operator's
 * choice, so that NAPTR is not asked.
 * @param chance 0 ≤ number < 1: servers of one priority take turns by their weight (RFC 2782)
 * @returns empty where nothing is known of the name
 */
export async function resolveServer(
  { protocol, host, port }: ServerAddress,
  names: NameServer,
  chance: () => number,
): Promise<Hop[]> {
  const usual = protocol === 'TLS' ? 5061 : 5060;
  if (isIP(host) !== 0) return [{ protocol, address: host, port: port ?? usual }];
  const places = port === null ? await srvPlaces(`${SERVICES[protocol]}.${host}`, names, chance) : [];
  if (places.length === 0) places.push({ name: host, port: port ?? usual });
  const hops: Hop[] = [];
  for (const place of places) {
    const addresses = await names.addresses(place.name).catch(() => []);
    for (const address of addresses) hops.push({ protocol, address, port: place.port });
  }
  return hops.slice(0, MOST_HOPS);
}

async function srvPlaces(
  name: string,
  names: NameServer,
  chance: () => number,
): Promise<{ name: string; port: number }[]> {
  const records = await names.srv(name).catch(() => []);
  return records
    .map((record) => ({ ...record, turn: record.weight === 0 ? 0 : chance() ** (1 / record.weight) }))
    .sort((one, other) => one.priority - other.priority || other.turn - one.turn);
}
