import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { ParleyError } from '../base/errors.js';
import { isPublicAddress } from './address.js';

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
      if (!isPublicAddress(host)) throw refused('its host is not on the public internet');
    } else if (isLocalName(host)) {
      throw refused('its host is a name of a local network');
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
        callback(refused('its host is not on the public internet'), []);
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

/** The error does not reveal the resolved addresses, which would expose the internal network. */
function refused(reason: string): ParleyError {
  return new ParleyError('NET_ADDRESS_REFUSED', { reason });
}
