import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Settings } from '../../settings/settings.js';
import { isPublicAddress } from '../../net/address.js';

/** Who made a request, as far as the proxies in between are trusted. */
export interface Client {
  /** The IP address; IPv4 in IPv6 (`::ffff:192.0.2.1`) is written as IPv4. */
  address: string;
  /** What the client asked for: the host with its port, and the scheme. */
  host: string | undefined;
  protocol: 'http' | 'https';
  /** A trusted proxy passed it on. */
  viaProxy: boolean;
  /** Some proxy passed it on, trusted or not: it does not come from this machine, whatever its address. */
  isForwarded: boolean;
}

/** What one proxy says about the client that it has the request from. */
interface Hop {
  address: string | null;
  host?: string | undefined;
  protocol?: string | undefined;
}

/** Headers that proxies add. A client may send them too. */
const TELLTALES = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;
/** More hops than any real chain of proxies has: the rest is ignored. */
const MOST_HOPS = 50;

/**
 * Finds the client behind proxies. Each proxy appends the address that it has a request from, so the entries are read
 * from the right, and the first that is no trusted proxy is the client's: everything to its left the client may have
 * made up. RFC 7239, section 8.1, and the de facto X-Forwarded-For.
 */
export class Clients {
  readonly #trusted = new BlockList();
  readonly #header: Settings['forwardedHeader'];
  readonly #found = new WeakMap<IncomingMessage, Client>();

  #onUntrustedProxy: ((address: string) => void) | null;

  /**
   * @param trustedProxies addresses and CIDR blocks, checked by the settings' schema
   * @param onUntrustedProxy called once, with a private address that forwards requests but is not trusted: a forgotten setting
   */
  constructor(
    { trustedProxies, forwardedHeader }: Pick<Settings, 'trustedProxies' | 'forwardedHeader'>,
    onUntrustedProxy: (address: string) => void = () => undefined,
  ) {
    this.#header = forwardedHeader;
    this.#onUntrustedProxy = onUntrustedProxy;
    for (const block of trustedProxies) {
      const [network = '', prefix] = block.split('/');
      const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
      if (prefix === undefined) this.#trusted.addAddress(network, family);
      else this.#trusted.addSubnet(network, Number(prefix), family);
    }
  }

  of(request: IncomingMessage): Client {
    const known = this.#found.get(request);
    if (known !== undefined) return known;
    const client = this.#find(request);
    this.#found.set(request, client);
    return client;
  }

  #find({ headers, socket }: IncomingMessage): Client {
    const peer = plainAddress(socket.remoteAddress ?? '') ?? '';
    const isEncrypted = (socket as Partial<TLSSocket>).encrypted === true;
    const direct: Client = {
      address: peer,
      host: headers.host,
      protocol: isEncrypted ? 'https' : 'http',
      viaProxy: false,
      isForwarded: TELLTALES.some((name) => name in headers),
    };
    const hops = this.#header === 'forwarded' ? forwardedHops(headers) : xForwardedHops(headers);
    if (!this.#isTrusted(peer)) {
      if (direct.isForwarded && !isPublicAddress(peer)) this.#reportProxy(peer);
      return direct;
    }
    if (hops.length === 0) return direct;
    const client: Client = { ...direct, viaProxy: true };
    for (const { address, host, protocol } of hops.slice(-MOST_HOPS).toReversed()) {
      if (address === null) break; // hidden or garbled: the proxy that said so is all that is known
      client.address = address;
      if (host !== undefined) client.host = host;
      if (protocol === 'https' || protocol === 'http') client.protocol = protocol;
      if (!this.#isTrusted(address)) break;
    }
    return client;
  }

  #reportProxy(proxy: string): void {
    this.#onUntrustedProxy?.(proxy);
    this.#onUntrustedProxy = null;
  }

  #isTrusted(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Scheme and host are one for all hops: of several values only the last is surely a proxy's own. */
function xForwardedHops(headers: IncomingMessage['headers']): Hop[] {
  const shared = { host: lastOf(headers['x-forwarded-host']), protocol: lastOf(headers['x-forwarded-proto']) };
  return listOf(headers['x-forwarded-for']).map((text) => ({ address: plainAddress(text), ...shared }));
}

/** RFC 7239, section 4: elements with commas between them, pairs with semicolons, values that may be quoted. */
function forwardedHops(headers: IncomingMessage['headers']): Hop[] {
  return splitOutsideQuotes(headers.forwarded ?? '', ',').map((element) => {
    const pairs = new Map<string, string>();
    for (const pair of splitOutsideQuotes(element, ';')) {
      const at = pair.indexOf('=');
      if (at > 0) pairs.set(pair.slice(0, at).trim().toLowerCase(), unquoted(pair.slice(at + 1).trim()));
    }
    const node = pairs.get('for');
    return {
      address: node === undefined ? null : plainAddress(node),
      host: pairs.get('host'),
      protocol: pairs.get('proto')?.toLowerCase(),
    };
  });
}

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = [];
  let [start, isQuoted] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '\\' && isQuoted) at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim()).filter((part) => part !== '');
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : text;
}

function listOf(header: string | string[] | undefined): string[] {
  return [header ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

function lastOf(header: string | string[] | undefined): string | undefined {
  return listOf(header).at(-1);
}

/** An IP address without port, brackets or zone; null where it is none (`unknown`, `_hidden`). */
function plainAddress(text: string): string | null {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d[\d.]*):\d+$/.exec(text)?.[1] ?? text;
  const address = (bare.split('%')[0] ?? '').toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined && isIP(mapped) === 4) return mapped;
  return isIP(address) === 0 ? null : address;
}
