import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Settings } from '../../settings/settings.js';
import { isPublicAddress } from '../../net/address-guard.js';

/** The client of a request, according to trusted proxies. */
export interface Client {
  /** The IP address. IPv4 in IPv6 (`::ffff:192.0.2.1`) becomes IPv4. */
  address: string;
  /** The host and the scheme that the client requested; the host includes the port. */
  host: string | undefined;
  protocol: 'http' | 'https';
  /** A trusted proxy forwarded the request. */
  viaProxy: boolean;
  /** Some proxy, trusted or not, forwarded the request, so it does not count as a request of this machine. */
  isForwarded: boolean;
}

/** The entry of one proxy about the client that sent it the request. */
interface Hop {
  address: string | null;
  host?: string | undefined;
  protocol?: string | undefined;
}

/** Headers that proxies add. A client may send them too. */
const TELLTALES = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;
/** Hops beyond this are ignored. No real chain of proxies has as many. */
const MOST_HOPS = 50;

/**
 * Finds the client behind proxies. Each proxy appends the address of its peer. Read from the right, the first address
 * that does not belong to a trusted proxy is the client's; the client may have forged everything to its left. See RFC
 * 7239, section 8.1, and the de facto standard X-Forwarded-For.
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

  /** Another node has found the client of a request. */
  assume(request: IncomingMessage, client: Client): void {
    this.#found.set(request, client);
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
      if (address === null) break; // hidden or garbled: only the proxy that wrote the entry is known
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

/** Of several values for scheme or host, only the last surely comes from a proxy. */
function xForwardedHops(headers: IncomingMessage['headers']): Hop[] {
  const shared = { host: lastOf(headers['x-forwarded-host']), protocol: lastOf(headers['x-forwarded-proto']) };
  return listOf(headers['x-forwarded-for']).map((text) => ({ address: plainAddress(text), ...shared }));
}

/** RFC 7239, section 4: elements separated by commas, pairs separated by semicolons, values may be quoted. */
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

/** An IP address without port, brackets or zone; null = not an address (`unknown`, `_hidden`). */
function plainAddress(text: string): string | null {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d[\d.]*):\d+$/.exec(text)?.[1] ?? text;
  const address = (bare.split('%')[0] ?? '').toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined && isIP(mapped) === 4) return mapped;
  return isIP(address) === 0 ? null : address;
}
