import type { TelnyxCarrier } from './carrier.js';
import type { TelnyxSettings } from '../../../settings/carriers/telnyx.js';
import { ParleyError } from '../../../base/errors.js';
import { accountOptions, type CarrierAccount, closingAll } from '../media-socket/carrier-account.js';

export interface TelnyxCarrierParts extends CarrierAccount {
  settings: TelnyxSettings;
  apiKey: string | null;
  /** Real time, in milliseconds since 1970. */
  nowUnixMs: () => number;
}

const DETECTION = { off: null, answer: 'detect', 'greeting-end': 'greeting_end', premium: 'premium' } as const;

/**
 * The carrier of a Telnyx account, on an engine's clock. A web server, such as the daemon's, must pass requests to its
 * `request` and `admit`.
 * @throws ParleyError CONFIG_INVALID
 */
export async function telnyxCarrier(
  parts: TelnyxCarrierParts,
): Promise<{ carrier: TelnyxCarrier; close: () => Promise<void> }> {
  const { settings, apiKey, nowUnixMs } = parts;
  const { connectionId, publicKey, codec, machineDetection } = settings;
  const common = accountOptions(parts, 'Telnyx', settings.apiUrl);
  if (connectionId === null || publicKey === null || apiKey === null) {
    const reason = 'Telnyx needs telnyx.connectionId, telnyx.publicKey and telnyxApiKey (PARLEY_TELNYX_API_KEY)';
    throw new ParleyError('CONFIG_INVALID', { reason });
  }
  // Loaded late, only with an account.
  const [{ TelnyxCarrier }, { openRest }] = await Promise.all([
    import('./carrier.js'),
    import('../media-socket/rest.js'),
  ]);
  const headers = { authorization: `Bearer ${apiKey}` };
  const api = openRest({ carrier: 'telnyx', baseUrl: settings.apiUrl, headers });
  const carrier = new TelnyxCarrier({
    ...common,
    nowUnixMs,
    publicKey,
    connectionId,
    codec,
    rest: api.rest,
    machineDetection: DETECTION[machineDetection],
  });
  return closingAll(carrier, api);
}
