import type { CarrierAccount } from '../../telephony/carriers/media-socket/carrier-account.js';
import { plivoCarrier } from '../../telephony/carriers/plivo/open.js';
import { telnyxCarrier } from '../../telephony/carriers/telnyx/open.js';
import { twilioCarrier } from '../../telephony/carriers/twilio/open.js';
import type { WebhookEndpoint } from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import type { Settings } from '../../settings/settings.js';
import { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { type Check, ok, problem } from './check.js';

type AccountSettings = Pick<
  Settings,
  'twilio' | 'twilioAuthToken' | 'telnyx' | 'telnyxApiKey' | 'plivo' | 'plivoAuthToken' | 'publicUrl'
>;

type OpenAccount = (common: CarrierAccount) => Promise<{ carrier: WebhookEndpoint; close: () => Promise<void> }>;

/** Whether accounts with carriers have all that they need. Nothing is asked of the carriers. */
export async function checkAccounts(settings: AccountSettings): Promise<Check[]> {
  const { twilio, telnyx, plivo, publicUrl } = settings;
  const accounts: [name: string, open: OpenAccount][] = [];
  if (twilio.accountSid !== null) {
    const own = { settings: twilio, authToken: settings.twilioAuthToken };
    accounts.push(['twilio', (common) => twilioCarrier({ ...common, ...own })]);
  }
  if (telnyx.connectionId !== null) {
    const own = { settings: telnyx, apiKey: settings.telnyxApiKey, nowUnixMs };
    accounts.push(['telnyx', (common) => telnyxCarrier({ ...common, ...own })]);
  }
  if (plivo.authId !== null) {
    const own = { settings: plivo, authToken: settings.plivoAuthToken };
    accounts.push(['plivo', (common) => plivoCarrier({ ...common, ...own })]);
  }
  if (accounts.length === 0) return [];
  const engine = new Engine();
  try {
    const checks: Check[] = [];
    for (const [name, open] of accounts) checks.push(await checkOf(name, () => open({ engine, publicUrl })));
    return checks;
  } finally {
    await engine.close();
  }
}

async function checkOf(name: string, open: () => ReturnType<OpenAccount>): Promise<Check> {
  try {
    const { carrier, close } = await open();
    await close();
    return ok(name, `its settings are whole; it reaches the daemon below ${carrier.path}`);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return problem(name, String(error.details['reason'] ?? error.message), `docs/${name}.md tells what it needs`);
  }
}
