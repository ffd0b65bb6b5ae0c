import { randomBytes } from 'node:crypto';
import type { TwilioCarrier } from '../carriers/twilio/carrier.js';
import type { TwilioSettings } from '../config/twilio-settings.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../errors.js';
import { callbackRoot } from './callback-root.js';

export interface TwilioCarrierParts {
  engine: Engine;
  settings: TwilioSettings;
  authToken: string | null;
  /** Where Twilio reaches this process. */
  publicUrl: string | null;
  /** Of the account's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  onError?: (error: unknown) => void;
}

const TOKEN_BYTES = 18;
const DETECTION = { off: null, answer: 'Enable', 'greeting-end': 'DetectMessageEnd' } as const;

/**
 * The carrier of an account with Twilio, on an engine's clock. Its `request` and `admit` want a web server; the daemon
 * has one.
 * @throws ParleyError CONFIG_INVALID
 */
export async function twilioCarrier(
  parts: TwilioCarrierParts,
): Promise<{ carrier: TwilioCarrier; close: () => Promise<void> }> {
  const { engine, settings, authToken, owned = [], onError } = parts;
  const { accountSid, machineDetection } = settings;
  const publicUrl = callbackRoot(parts.publicUrl, 'Twilio');
  if (accountSid === null || authToken === null) {
    throw new ParleyError('CONFIG_INVALID', {
      reason: 'Twilio needs both twilio.accountSid and twilioAuthToken (PARLEY_TWILIO_AUTH_TOKEN)',
    });
  }
  // Loaded late: who has no account does not wait for it.
  const [{ TwilioCarrier }, { openRest }] = await Promise.all([
    import('../carriers/twilio/carrier.js'),
    import('../carriers/media-socket/rest.js'),
  ]);
  const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
  const headers = { authorization };
  const api = openRest({ carrier: 'twilio', baseUrl: settings.apiUrl, headers });
  const prices = openRest({ carrier: 'twilio', baseUrl: settings.pricingUrl, headers });
  const carrier = new TwilioCarrier({
    ...{ clock: engine.clock, accountSid, authToken, publicUrl, owned, rest: api.rest, pricing: prices.rest },
    machineDetection: DETECTION[machineDetection],
    token: () => randomBytes(TOKEN_BYTES).toString('base64url'),
    ...(onError !== undefined && { onError }),
  });
  const close = async (): Promise<void> => {
    await carrier.close();
    await Promise.all([api.close(), prices.close()]);
  };
  return { carrier, close };
}
