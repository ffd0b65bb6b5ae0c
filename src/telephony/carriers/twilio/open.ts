import type { TwilioCarrier } from './carrier.js';
import type { TwilioSettings } from '../../../settings/carriers/twilio.js';
import { ParleyError } from '../../../base/errors.js';
import { accountOptions, type CarrierAccount, closingAll } from '../media-socket/carrier-account.js';

export interface TwilioCarrierParts extends CarrierAccount {
  settings: TwilioSettings;
  authToken: string | null;
}

const DETECTION = { off: null, answer: 'Enable', 'greeting-end': 'DetectMessageEnd' } as const;

/**
 * The carrier of a Twilio account, on an engine's clock. A web server, such as the daemon's, must pass requests to its
 * `request` and `admit`.
 * @throws ParleyError CONFIG_INVALID
 */
export async function twilioCarrier(
  parts: TwilioCarrierParts,
): Promise<{ carrier: TwilioCarrier; close: () => Promise<void> }> {
  const { settings, authToken } = parts;
  const { accountSid, machineDetection } = settings;
  const common = accountOptions(parts, 'Twilio', settings.apiUrl);
  if (accountSid === null || authToken === null) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: 'Twilio needs both twilio.accountSid and twilioAuthToken (PARLEY_TWILIO_AUTH_TOKEN)',
    });
  }
  // Loaded late, only with an account.
  const [{ TwilioCarrier }, { openRest }] = await Promise.all([
    import('./carrier.js'),
    import('../media-socket/rest.js'),
  ]);
  const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
  const headers = { authorization };
  const api = openRest({ carrier: 'twilio', baseUrl: settings.apiUrl, headers });
  const prices = openRest({ carrier: 'twilio', baseUrl: settings.pricingUrl, headers });
  const carrier = new TwilioCarrier({
    ...common,
    accountSid,
    authToken,
    rest: api.rest,
    pricing: prices.rest,
    machineDetection: DETECTION[machineDetection],
  });
  return closingAll(carrier, api, prices);
}
