import { isIP } from 'node:net';
import { parseAddress } from './address.js';
import type { Headers } from './headers.js';
import type { Hop } from './hop.js';
import { parseSipUri, type SipUri } from './uri.js';

const SIP_PORT = 5060;
const SIPS_PORT = 5061;

/** A Request-URI, and the values of `Route`, in order. */
export interface Routed {
  uri: string;
  routes: readonly string[];
}

/**
 * Where a request with this target and route set goes, and what it says (RFC 3261, 12.2.1.1): past loose routers, which
 * have `lr`, the Request-URI is the target. A strict router is the Request-URI itself, and the target the last route.
 */
export function routed(target: string, routes: readonly string[]): Routed {
  const [first, ...others] = routes;
  const router = first === undefined ? null : parseAddress(first);
  if (router === null || router.sip?.parameters.has('lr') === true) return { uri: target, routes };
  return { uri: requestUriOf(router.uri), routes: [...others, `<${target}>`] };
}

/** A URI without what a Request-URI must not have: headers, and the parameter `method` (19.1.1). */
function requestUriOf(uri: string): string {
  return uri.replace(/\?.*$/, '').replaceAll(/;method=[^;?]*/gi, '');
}

/** The next destination: the first router, or the target. Null if it is not a SIP address. */
export function firstOf({ uri, routes }: { uri: string; routes: readonly string[] }): SipUri | null {
  const [route] = routes;
  return route === undefined ? parseSipUri(uri) : (parseAddress(route)?.sip ?? null);
}

export function addRoutes(headers: Headers, routes: readonly string[]): void {
  for (const route of routes) headers.add('route', route);
}

/**
 * The hop that a URI names; null for a host name, because the route of a message is no reason to ask DNS.
 * @param hop of the messages so far: its protocol counts where the URI names none
 */
export function hopNamedBy(uri: SipUri, { protocol }: Hop): Hop | null {
  if (isIP(uri.host) === 0) return null;
  const asked = uri.parameters.get('transport')?.toUpperCase();
  const named = uri.scheme === 'sips' || asked === 'TLS' ? 'TLS' : asked === 'TCP' ? 'TCP' : 'UDP';
  return {
    protocol: asked === undefined && uri.scheme === 'sip' ? protocol : named,
    address: uri.host,
    port: uri.port ?? (named === 'TLS' ? SIPS_PORT : SIP_PORT),
  };
}
