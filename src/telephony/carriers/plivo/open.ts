import type { PlivoCarrier } from './carrier.js';
import type { PlivoSettings } from '../../../settings/carriers/plivo.js';
import { ParleyError } from '../../../base/errors.js';
import { accountOptions, type CarrierAccount, closingAll } from '../media-socket/carrier-account.js';

export interface PlivoCarrierParts extends CarrierAccount {
  settings: PlivoSettings;
  authToken: string | null;
}

/**
 * The carrier of an account with Plivo, on an engine's clock. Its `request` and `admit` want a web server; the daemon has
 * one.
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
  // Loaded late: who has no account does not wait for it.
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
