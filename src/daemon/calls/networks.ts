import { randomUUID } from 'node:crypto';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { carriersOf } from '../../plugins/plugin.js';
import { simulatedCarrier } from '../../telephony/carriers/simulated/open.js';
import { hasTrunk, sipTrunks } from '../../telephony/carriers/sip/open.js';
import type { CarrierAccount } from '../../telephony/carriers/media-socket/carrier-account.js';
import { plivoCarrier } from '../../telephony/carriers/plivo/open.js';
import { RefusalLog } from '../../telephony/carriers/refusal-log.js';
import { telnyxCarrier } from '../../telephony/carriers/telnyx/open.js';
import { twilioCarrier } from '../../telephony/carriers/twilio/open.js';
import type { Carrier } from '../../telephony/carriers/carrier.js';
import type { CallMediaHost } from '../../telephony/carriers/sip/call-media-host.js';
import { type JoinedCarrier, JoinedCarriers } from '../../telephony/carriers/joined.js';
import type { WebhookEndpoint } from '../../telephony/carriers/media-socket/webhook-endpoint.js';
import { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import type { SimulatedNetwork } from '../../telephony/carriers/simulated/network.js';
import type { SipTrunks } from '../../telephony/carriers/sip/trunks.js';
import type { Settings } from '../../settings/settings.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { Engine } from '../../engine/engine.js';
import type { Leases } from '../../store/leases.js';
import type { PhoneStore } from '../../store/phones.js';

export interface NetworksOptions {
  engine: Engine;
  phones: Pick<PhoneStore, 'list'>;
  settings: NetworkSettings;
  /** As `SipTrunksParts.openCallMedia`. */
  openCallMedia?: (() => Promise<CallMediaHost>) | undefined;
  /** As `SipTrunksParts.isAddress`. */
  isAddress: (user: string) => boolean;
  /** Statistics of SIP trunks. */
  figures?: CarrierStatistics | undefined;
  /** False while the daemon refuses new calls. */
  takesCalls: () => boolean;
  /** Of all nodes, one registers with a registrar. */
  leases: Pick<Leases, 'lead'>;
  /** As `CarrierAccount.tokenPrefix`. */
  tokenPrefix?: (() => string) | undefined;
  /** Maximum of concurrent sessions over all channels. */
  maxSessions: number;
  onError: (error: unknown) => void;
}

export type NetworkSettings = Pick<
  Settings,
  | 'sip'
  | 'sipPassword'
  | 'twilio'
  | 'twilioAuthToken'
  | 'telnyx'
  | 'telnyxApiKey'
  | 'plivo'
  | 'plivoAuthToken'
  | 'publicUrl'
  | 'nodePublicUrl'
>;

/** The phone networks of the settings, and the simulated one. */
export interface Networks {
  /** All networks as one carrier. */
  carrier: Carrier<SessionLine>;
  simulated: SimulatedNetwork;
  sip: SipTrunks | null;
  /** The carriers with webhooks and media sockets. */
  endpoints: readonly WebhookEndpoint[];
  /** Takes the numbers from the store: another node has bought or released some. */
  updateNumbers: () => void;
  /** Ends all calls. */
  close: () => Promise<void>;
}

/**
 * Opens the networks. The store has the numbers of each by name.
 * @throws ParleyError SIP_CANNOT_LISTEN, FILE_NOT_READABLE, CONFIG_INVALID, InvalidConfigError
 */
export async function openNetworks({
  engine,
  phones,
  settings,
  openCallMedia,
  isAddress,
  figures = new CarrierStatistics(),
  takesCalls,
  leases,
  tokenPrefix,
  maxSessions,
  onError,
}: NetworksOptions): Promise<Networks> {
  const ownedBy = (name: string): string[] =>
    phones.list().flatMap(({ carrier, number }) => (carrier === name ? [number] : []));
  const joined: NamedCarrier[] = [];
  const closing: (() => Promise<void>)[] = [];
  let sip: SipTrunks | null = null;
  if (hasTrunk(settings.sip)) {
    const owned = ownedBy('sip');
    const trunks = await sipTrunks({
      engine,
      onError,
      owned,
      figures,
      isAddress,
      openCallMedia,
      takesCalls,
      leadRegistration: (trunk, work) => leases.lead(`registration ${trunk}`, work),
      mostCalls: maxSessions,
      settings: settings.sip,
      password: settings.sipPassword,
    });
    for (const carrier of trunks.carriers) joined.push({ carrier, owned: await carrier.ownedNumbers(), name: 'sip' });
    closing.push(() => trunks.close());
    sip = trunks;
  }
  const accounts = await openAccounts({ engine, settings, figures, tokenPrefix, onError, ownedBy });
  const endpoints = accounts.map(({ carrier }) => carrier);
  joined.push(...accounts);
  joined.push(...(await openOwn({ engine, settings, onError, ownedBy })));
  closing.push(...accounts.map(({ close }) => close));
  const simulated = await simulatedCarrier({
    engine,
    onError,
    // The log also has the calls of earlier processes.
    idPrefix: `sim-${randomUUID().slice(0, 8)}`,
  });
  joined.push({ carrier: simulated, owned: [], name: null });
  figures.accounts.push(...endpoints);
  const assigned = assignNumbers(joined, phones);
  const all = joined.length === 1 ? null : new JoinedCarriers(assigned);
  const carrier = all ?? simulated;
  const updateNumbers = (): void => {
    const changed = assignNumbers(joined, phones);
    all?.assign(changed);
  };
  return {
    carrier,
    simulated,
    sip,
    endpoints,
    updateNumbers,
    close: async () => {
      await carrier.close();
      for (const close of closing) await close();
    },
  };
}

/**
 * A network, and what the store calls it; null = the simulated one, which has the numbers of no other, so those of removed
 * carriers, too.
 */
interface NamedCarrier extends JoinedCarrier {
  name: string | null;
}

/** Gives each network its numbers of the store. */
function assignNumbers(networks: readonly NamedCarrier[], phones: Pick<PhoneStore, 'list'>): JoinedCarrier[] {
  const left = new Map(phones.list().map(({ number, carrier }) => [number, carrier]));
  return networks.map(({ carrier, name, owned }) => {
    const wanted = Array.from(left).flatMap(([number, of]) => (name === null || of === name ? [number] : []));
    const now = carrier.setOwned?.(wanted) ?? owned;
    for (const number of now) left.delete(number);
    return { carrier, owned: now };
  });
}

/** Opens the networks of plug-ins. @throws ParleyError PLUGIN_INVALID */
async function openOwn({
  engine,
  settings: { publicUrl },
  onError,
  ownedBy,
}: Pick<OpenAccountsOptions, 'engine' | 'settings' | 'onError' | 'ownedBy'>): Promise<NamedCarrier[]> {
  const { clock, ticker } = engine;
  const open = async ([name, make]: ReturnType<typeof carriersOf>[number]): Promise<NamedCarrier> => {
    const owned = ownedBy(name);
    const invalid = (reason: string, cause?: unknown): ParleyError =>
      new ParleyError('PLUGIN_INVALID', { file: `with the carrier ${name}`, reason }, { cause });
    let carrier: Carrier;
    try {
      carrier = await make({ owned, clock, ticker, publicUrl, onError });
    } catch (error) {
      throw invalid(`it cannot be opened: ${reasonOf(error)}`, error);
    }
    // The store knows numbers by this name.
    if (carrier.name === name) return { name, carrier, owned };
    await carrier.close();
    throw invalid(`its name is ${carrier.name}; it should be the same`);
  };
  return Promise.all(carriersOf(engine.options.plugins ?? []).map(open));
}

/** A carrier with webhooks and media sockets. */
interface OpenAccount {
  name: string;
  carrier: Carrier & WebhookEndpoint;
  /** Its numbers, E.164. */
  owned: readonly string[];
  close: () => Promise<void>;
}

interface OpenAccountsOptions extends Pick<NetworksOptions, 'engine' | 'settings' | 'tokenPrefix' | 'onError'> {
  figures: CarrierStatistics;
  ownedBy: (name: string) => string[];
}

/** Opens the accounts with carriers that have media sockets. */
async function openAccounts(options: OpenAccountsOptions): Promise<OpenAccount[]> {
  const { engine, settings, figures, tokenPrefix = () => '', onError, ownedBy } = options;
  const { twilio, telnyx, plivo, publicUrl, nodePublicUrl: ownPublicUrl } = settings;
  const accounts: OpenAccount[] = [];
  const join = async (
    name: string,
    open: (common: CarrierAccount) => Promise<Pick<OpenAccount, 'carrier' | 'close'>>,
  ): Promise<void> => {
    const owned = ownedBy(name);
    const refusals = new RefusalLog(engine.clock, figures, { name, refuses: 'requests' });
    const { carrier, close } = await open({
      engine,
      onError,
      owned,
      publicUrl,
      ownPublicUrl,
      tokenPrefix,
      onRefused: (reason, why) => refusals.addOf(name, reason, why),
    });
    accounts.push({
      name,
      carrier,
      owned,
      close: async () => {
        await close();
        refusals.close();
      },
    });
  };
  if (twilio.accountSid !== null) {
    const own = { settings: twilio, authToken: settings.twilioAuthToken };
    await join('twilio', (common) => twilioCarrier({ ...common, ...own }));
  }
  if (telnyx.connectionId !== null) {
    const own = { settings: telnyx, apiKey: settings.telnyxApiKey, nowUnixMs };
    await join('telnyx', (common) => telnyxCarrier({ ...common, ...own }));
  }
  if (plivo.authId !== null) {
    const own = { settings: plivo, authToken: settings.plivoAuthToken };
    await join('plivo', (common) => plivoCarrier({ ...common, ...own }));
  }
  return accounts;
}
