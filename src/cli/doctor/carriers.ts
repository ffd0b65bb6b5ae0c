import { setTimeout } from 'node:timers/promises';
import { hasTrunk, sipTrunks } from '../../telephony/carriers/sip/open.js';
import type { TrunkState } from '../../telephony/carriers/sip/carrier.js';
import type { Settings } from '../../settings/settings.js';
import type { SipSettings } from '../../settings/carriers/sip.js';
import { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import { hopText } from '../../telephony/sip/hop.js';
import type { CarrierAccount } from '../../telephony/carriers/media-socket/carrier-account.js';
import { plivoCarrier } from '../../telephony/carriers/plivo/open.js';
import { telnyxCarrier } from '../../telephony/carriers/telnyx/open.js';
import { twilioCarrier } from '../../telephony/carriers/twilio/open.js';
import type { WebhookEndpoint } from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { type Check, hint, ok, problem } from './check.js';

/** Timeout for the reply to OPTIONS. */
const ANSWER_MS = 4000;
const POLL_MS = 50;

/** Checks that the SIP trunks' servers answer, without registering and without the daemon's ports. */
export async function checkTrunks({ sip, sipPassword }: Pick<Settings, 'sip' | 'sipPassword'>): Promise<Check[]> {
  if (!hasTrunk(sip)) return [];
  const engine = new Engine();
  try {
    const trunks = await sipTrunks({ engine, settings: onFreePorts(sip), password: sipPassword });
    const states = (): TrunkState[] => trunks.carriers.map(({ state }) => state);
    const endMs = engine.clock.nowMs() + ANSWER_MS;
    const isWaiting = (): boolean => states().some(({ servers }) => servers.some(({ answers }) => answers === null));
    while (isWaiting() && engine.clock.nowMs() < endMs) await setTimeout(POLL_MS);
    const found = states().flatMap(checkServers);
    await trunks.close();
    return found;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('sip', error.message, 'see docs/sip.md')];
  } finally {
    await engine.close();
  }
}

/** The same trunks on free local ports. */
function onFreePorts(sip: SipSettings): SipSettings {
  const trunks = Object.entries(sip.trunks).map(([name, trunk]) => [
    name,
    { ...trunk, register: false, keepAliveS: 60 },
  ]);
  return {
    ...sip,
    register: false,
    keepAliveS: 60,
    callers: {},
    listen: sip.listen.map((text) => text.replace(/:\d+$/, ':0')),
    trunks: Object.fromEntries(trunks) as SipSettings['trunks'],
  };
}

function checkServers({ name, servers }: TrunkState): Check[] {
  const label = `trunk ${name}`;
  if (servers.length === 0) {
    return [hint(label, 'no server found: it can send calls, but not receive any', "check the server's name in DNS")];
  }
  return servers.map(({ hop, last }) => {
    const server = hopText(hop);
    if (last !== null) return ok(label, `${server} answers OPTIONS with ${String(last.status)}`);
    const help = 'check its address and firewall; some servers answer registered accounts only';
    return hint(label, `${server} does not answer OPTIONS`, help);
  });
}

type AccountSettings = Pick<
  Settings,
  'twilio' | 'twilioAuthToken' | 'telnyx' | 'telnyxApiKey' | 'plivo' | 'plivoAuthToken' | 'publicUrl'
>;

type OpenAccount = (common: CarrierAccount) => Promise<{ carrier: WebhookEndpoint; close: () => Promise<void> }>;

/** Checks that the settings of carrier accounts are complete, without calling the carriers. */
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
    for (const [name, open] of accounts) checks.push(await checkAccount(name, () => open({ engine, publicUrl })));
    return checks;
  } finally {
    await engine.close();
  }
}

async function checkAccount(name: string, open: () => ReturnType<OpenAccount>): Promise<Check> {
  try {
    const { carrier, close } = await open();
    await close();
    return ok(name, `the settings are complete; it calls the daemon at ${carrier.path}`);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return problem(name, String(error.details['reason'] ?? error.message), `see docs/${name}.md`);
  }
}
