import type { PlivoCarrier } from './carrier.js';
import type { PlivoSettings } from '../../../settings/carriers/plivo.js';
import { ParleyError } from '../../../base/errors.js';
import { accountOptions, type CarrierAccount, closingAll } from '../media-socket/carrier-account.js';

export interface PlivoCarrierParts extends CarrierAccount {
  settings: PlivoSettings;
  authToken: string | null;
}

/**
 * The carrier of a Plivo account, on an engine's clock. A web server, such as the daemon's, must pass requests to its
 * `request` and `admit`.
 * @throws ParleyError CONFIG_INVALID
 */
export async function plivoCarrier(
  parts: PlivoCarrierParts,
): Promise<{ carrier: PlivoCarrier; close: () => Promise<void> }> {
  const { settings, authToken } = parts;
  const { authId, machineDetection } = settings;
  const common = accountOptions(parts, 'Plivo', settings.apiUrl);
  if (authId === null || authToken === null) {
    throw new ParleyError('CONFIG_INVALID', { reason: 'Plivo needs both plivo.authId and plivoAuthToken' });
  }
  // Loaded late, only with an account.
  const [{ PlivoCarrier }, { openRest }] = await Promise.all([
    import('./carrier.js'),
    import('../media-socket/rest.js'),
  ]);
  const authorization = `Basic ${Buffer.from(`${authId}:${authToken}`).toString('base64')}`;
  const api = openRest({ carrier: 'plivo', baseUrl: settings.apiUrl, headers: { authorization } });
  const carrier = new PlivoCarrier({
    ...common,
    authId,
    authToken,
    rest: api.rest,
    detectsMachines: machineDetection === 'answer',
  });
  return closingAll(carrier, api);
}
