import { ParleyError } from '../errors.js';

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Where a carrier's webhooks and media sockets come to, without a slash at the end.
 * @param apiUrl of the carrier; only one on this machine reaches us without TLS, or at a loopback address
 * @throws ParleyError CONFIG_INVALID where there is no address that the carrier could reach
 */
export function callbackRoot(publicUrl: string | null, carrier: string, apiUrl: string): string {
  if (publicUrl === null || !URL.canParse(publicUrl)) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: `${carrier} needs the setting publicUrl: where it reaches parley`,
    });
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (!LOOPBACK.has(new URL(apiUrl).hostname)) {
    if (protocol !== 'https:') {
      throw new ParleyError('CONFIG_INVALID', {
        reason: `${carrier} opens media sockets over TLS alone: publicUrl should begin with https://, not ${protocol}//`,
      });
    }
    if (LOOPBACK.has(hostname)) {
      throw new ParleyError('CONFIG_INVALID', {
        reason: `${carrier} cannot reach ${hostname}: publicUrl should be the public address of this daemon`,
      });
    }
  }
  return publicUrl.replace(/\/+$/, '');
}
