import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { ParleyError } from '../base/errors.js';
import { isPublicAddress } from './address.js';

export interface AddressGuardOptions {
  /**
   * Exempt addresses: an origin (`http://127.0.0.1:9000`) for all its paths, or a full address with a path or query
   * for that one only. Default none.
   */
  allowUrls?: readonly string[];
  /** Turns names into addresses. Default: the system's resolver. */
  lookup?: LookupFunction;
}

/** An address that may be called. */
export interface GuardedUrl {
  url: URL;
  /** True where the operator listed it: its host may be private. */
  exempt: boolean;
}

/**
 * Decides which addresses that customers configure may be called: those of the public internet, and what the
 * operator lists. Give connections `lookup`, so that the answer that was checked is the one connected to.
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
   * Checks everything that can be told without a resolver.
   * @param protocols those allowed, such as `['http:', 'https:']`.
   * @throws ParleyError NET_ADDRESS_REFUSED.
   */
  check(text: string, protocols: readonly string[] = ['http:', 'https:']): GuardedUrl {
    if (!URL.canParse(text)) throw refused('it is not an address');
    const url = new URL(text);
    if (!protocols.includes(url.protocol)) throw refused(`${url.protocol}// is not allowed`);
    if (url.username !== '' || url.password !== '') throw refused('it holds a user name or a password');
    if (this.#origins.has(url.origin) || this.#urls.has(withoutHash(url))) return { url, exempt: true };
    // The URL parser has turned every spelling of an IPv4 address into the dotted one.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0) {
      if (!isPublicAddress(host)) throw refused('its host is not on the public internet');
    } else if (isLocalName(host)) {
      throw refused('its host is a name of a local network');
    }
    return { url, exempt: false };
  }

  /** A resolver that fails with NET_ADDRESS_REFUSED where any of a name's addresses is not public. */
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

/** Names that only local resolvers know, with or without the dot of the root. */
function isLocalName(host: string): boolean {
  const name = host.replace(/\.$/, '').toLowerCase();
  return !name.includes('.') || /\.(localhost|local|localdomain|internal|lan|home\.arpa)$/.test(name);
}

function withoutHash(url: URL): string {
  return url.href.slice(0, url.href.length - url.hash.length);
}

/** Says nothing of the addresses behind a name: what is refused tells nobody about the network inside. */
function refused(reason: string): ParleyError {
  return new ParleyError('NET_ADDRESS_REFUSED', { reason });
}
