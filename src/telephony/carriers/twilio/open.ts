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
 * The carrier of an account with Twilio, on an engine's clock. Its `request` and `admit` want a web server; the daemon
 * has one.
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
  // Loaded late: who has no account does not wait for it.
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
