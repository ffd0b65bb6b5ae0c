import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, BlockList } from 'node:net';
import { ParleyError } from '../base/errors.js';

export interface AddressGuardOptions {
  /**
   * Exempt addresses: an origin (`http://127.0.0.1:9000`) exempts all its paths, a URL with a path or query only
   * itself. Default none.
   */
  allowUrls?: readonly string[];
  /** Resolves names. Default: the system's resolver. */
  lookup?: LookupFunction;
}

/** An allowed address. */
export interface GuardedUrl {
  url: URL;
  /** True if the operator listed it: its host may be private. */
  exempt: boolean;
}

/**
 * Decides which customer-configured addresses may be called: those on the public internet, and those that the operator
 * lists. Pass `lookup` to connections, so that they use the DNS answer that was checked.
 */
export class AddressGuard {
  readonly #origins = new Set<string>();
  readonly #urls = new Set<string>();
  readonly #resolve: LookupFunction;

  constructor(options: AddressGuardOptions = {}) {
    this.#resolve = options.lookup ?? systemLookup;
    for (const text of options.allowUrls ?? []) {
      const url = new URL(text);
      if (url.pathname === '/' && url.search === '') this.#origins.add(url.origin);
      else this.#urls.add(withoutHash(url));
    }
  }

  /**
   * Checks everything that does not need DNS.
   * @param protocols the allowed ones, such as `['http:', 'https:']`
   * @throws ParleyError NET_ADDRESS_REFUSED
   */
  check(text: string, protocols: readonly string[] = ['http:', 'https:']): GuardedUrl {
    if (!URL.canParse(text)) throw refused('it is not an address');
    const url = new URL(text);
    if (!protocols.includes(url.protocol)) throw refused(`${url.protocol}// is not allowed`);
    if (url.username !== '' || url.password !== '') throw refused('it holds a user name or a password');
    if (this.#origins.has(url.origin) || this.#urls.has(withoutHash(url))) return { url, exempt: true };
    // The URL parser normalises every spelling of an IPv4 address.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0) {
      if (!isPublicAddress(host)) throw refused(`its host is not on the public internet${REMEDY}`);
    } else if (isLocalName(host)) {
      throw refused(`its host is a name of a local network${REMEDY}`);
    }
    return { url, exempt: false };
  }

  /** A resolver that fails with NET_ADDRESS_REFUSED if any of a name's addresses is not public. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.#resolve(hostname, { ...options, all: true }, (error, answer) => {
      const addresses = Array.isArray(answer) ? answer : [];
      const first = addresses[0];
      if (error) callback(error, []);
      else if (first === undefined) callback(refused('its host has no address'), []);
      else if (!addresses.every(({ address }) => isPublicAddress(address))) {
        callback(refused(`its host is not on the public internet${REMEDY}`), []);
      } else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Names of local resolvers, with or without the trailing dot. */
function isLocalName(host: string): boolean {
  const name = host.replace(/\.$/, '').toLowerCase();
  return !name.includes('.') || /\.(localhost|local|localdomain|internal|lan|home\.arpa)$/.test(name);
}

function withoutHash(url: URL): string {
  return url.href.slice(0, url.href.length - url.hash.length);
}

/** What the operator can do about a private address. */
const REMEDY = '; the setting allowUrls (PARLEY_ALLOW_URLS, --allow of commands) permits single addresses';

/** The error does not reveal the resolved addresses, which would expose the internal network. */
function refused(reason: string): ParleyError {
  return new ParleyError('NET_ADDRESS_REFUSED', { reason });
}

/**
 * IPv4 blocks that are not public, or that customer-configured addresses must not reach (IANA IPv4 special-purpose
 * address registry, RFC 6890).
 */
const CLOSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // a cloud's metadata service on a public address
  ['169.254.0.0', 16], // link-local, metadata services
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
];

/**
 * IPv6 has one block of public unicast addresses; these parts of it are blocked (IANA IPv6 special-purpose address
 * registry). Everything outside it is blocked too: loopback, ::/96, ::ffff:0:0/96, NAT64, ULA, link-local, multicast.
 */
const PUBLIC_V6 = ['2000::', 3] as const;
const CLOSED_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // protocol assignments: Teredo, ORCHID, benchmarks
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: holds any IPv4 address
  ['3fff::', 20], // documentation
];

const closedV4 = blockList(CLOSED_V4, 'ipv4');
const publicV6 = blockList([PUBLIC_V6], 'ipv6');
const closedV6 = blockList(CLOSED_V6, 'ipv6');

/** Whether a literal IP address is public. False for anything else. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !closedV4.check(address, 'ipv4');
    case 6:
      // A zone (fe80::1%eth0) is valid for link-local addresses only.
      return !address.includes('%') && publicV6.check(address, 'ipv6') && !closedV6.check(address, 'ipv6');
    default:
      return false;
  }
}

function blockList(blocks: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of blocks) list.addSubnet(network, prefix, family);
  return list;
}
