import { ParleyError } from '../errors.js';

/**
 * Where a carrier's webhooks and media sockets come to, without a slash at the end.
 * @throws ParleyError CONFIG_INVALID where there is no address that the carrier could reach
 */
export function callbackRoot(publicUrl: string | null, carrier: string): string {
  if (publicUrl === null || !URL.canParse(publicUrl)) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: `${carrier} needs the setting publicUrl: where it reaches parley`,
    });
  }
  const { protocol, hostname } = new URL(publicUrl);
  const isLocal = hostname === '127.0.0.1' || hostname === 'localhost' || hostname === '[::1]';
  if (protocol !== 'https:' && !isLocal) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: `${carrier} opens media sockets over TLS alone: publicUrl should be https`,
    });
  }
  return publicUrl.replace(/\/+$/, '');
}
