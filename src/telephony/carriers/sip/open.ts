import { randomBytes, randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SipCarrierOptions } from './carrier.js';
import type { CallMediaHost, OpenMedia } from './call-media-host.js';
import type { LeadRegistration } from './trunk.js';
import type { SipTrunks } from './trunks.js';
import type { Clock } from '../../../base/clock.js';
import type { SipSettings } from '../../../settings/carriers/sip.js';
import type { Engine } from '../../../engine/engine.js';
import { ParleyError, reasonOf } from '../../../base/errors.js';
import { type Hop, hopText } from '../../sip/hop.js';
import type { ServerAddress } from '../../sip/trunk/resolver.js';
import { parseSipUri, userText } from '../../sip/uri.js';
import type { RefusedCalls } from '../../sip/call-intake.js';
import type { TlsOptions } from '../../sip/transport/streams.js';
import type { Listening } from '../../sip/transport/transport.js';
import { isE164, whyNeverCalled } from '../destinations.js';
import { RefusalLog } from '../refusal-log.js';
import { CarrierStatistics } from '../carrier-statistics.js';

export interface SipTrunksParts {
  engine: Engine;
  settings: SipSettings;
  /** Of the first trunk, `settings` itself. */
  password: string | null;
  /** The initial own numbers among the trunks' numbers. */
  owned?: readonly string[];
  /** As `SipCarrierOptions.isAddress`. */
  isAddress?: ((user: string) => boolean) | undefined;
  /** Opens the host of lines and media; loaded late. Default: the engine's thread. */
  openCallMedia?: (() => Promise<CallMediaHost>) | undefined;
  /** Statistics of trunks and their media. */
  figures?: CarrierStatistics | undefined;
  /** As `UserAgentOptions.takesCalls`. */
  takesCalls?: (() => boolean) | undefined;
  /** As `TrunkOptions.leadRegistration`, for the trunk of this name. Default: this process registers all. */
  leadRegistration?: ((trunk: string, work: (lost: AbortSignal) => void) => ReturnType<LeadRegistration>) | undefined;
  /** Number of calls that can be held, over all channels: limits inbound calls. Default: unlimited. */
  mostCalls?: number;
  onError?: ((error: unknown) => void) | undefined;
}

/** Random letters and digits: 96 bits. */
const TOKEN_BYTES = 12;
const CHANCES = 2 ** 32;
const RANDOMNESS = {
  token: () => randomBytes(TOKEN_BYTES).toString('hex'),
  chance: () => randomInt(CHANCES) / CHANCES,
};

/** The name of the trunk in `sip` itself. */
const FIRST_TRUNK = 'default';
/** The name of callers with a password. */
const CALLERS = 'callers';

/** Whether there is a trunk, or a caller with a password. */
export function hasTrunk({ servers, sources, trunks, callers }: SipSettings): boolean {
  return servers.length > 0 || sources.length > 0 || Object.keys({ ...trunks, ...callers }).length > 0;
}

/** The complete settings of one trunk. */
interface TrunkSettings extends Omit<SipSettings, 'trunks' | 'callers'> {
  name: string;
  password: string | null;
}

/** The first trunk if it is configured, or for callers with a password; then the named ones. */
function trunksOf(settings: SipSettings, password: string | null): TrunkSettings[] {
  const { servers, sources, trunks, callers } = settings;
  const named = Object.entries(trunks).map(([name, trunk]): TrunkSettings => ({
    ...settings,
    name,
    servers: [],
    sources: [],
    numbers: [],
    domain: null,
    user: null,
    register: false,
    displayName: null,
    password: null,
    ...trunk,
  }));
  const isFirst = servers.length > 0 || sources.length > 0 || (named.length === 0 && Object.keys(callers).length > 0);
  return isFirst ? [{ ...settings, name: FIRST_TRUNK, password }, ...named] : named;
}

/**
 * Whether a target is an extension that the operator allows, whatever its digits: a `sip:` address with a short user
 * part, on a host of a trunk with `extensions: all`.
 */
export function isAllowedExtension(settings: SipSettings, target: string): boolean {
  const parsed = parseSipUri(target);
  if (parsed?.user == null || parsed.headers !== null || !/^\d{1,6}$/.test(userText(parsed.user))) return false;
  return trunksOf(settings, null).some(({ extensions, domain, servers }) => {
    const hosts = [domain?.toLowerCase(), ...servers.map((server) => serverOf(server).host)];
    return extensions === 'all' && hosts.includes(parsed.host);
  });
}

/** Whether to follow a redirection (3xx) to an address, whose user part may be a number. */
function mayFollow(settings: SipSettings, uri: string, number: string): boolean {
  if (isAllowedExtension(settings, uri)) return true;
  return whyNeverCalled(uri) === null && (!isE164(number) || whyNeverCalled(number) === null);
}

const PORTS_FULL_MS = 10_000;

/** Reports media faults; a lack of free ports only once in ten seconds, with the number of calls. */
class MediaFaults {
  readonly #clock: Clock;
  readonly #report: (error: unknown) => void;
  #sinceReport = 0;
  #nextMs = -Infinity;
  /** Number of calls without a port. */
  withoutPort = 0;

  constructor(clock: Clock, report: (error: unknown) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  readonly note = (error: unknown): void => {
    if (!(error instanceof ParleyError) || error.code !== 'RTP_PORTS_FULL') {
      this.#report(error);
      return;
    }
    this.withoutPort++;
    this.#sinceReport++;
    const nowMs = this.#clock.nowMs();
    if (nowMs < this.#nextMs) return;
    const { message } = error;
    const calls = `${String(this.#sinceReport)} calls since the last report`;
    this.#report(this.#sinceReport === 1 ? error : new Error(`${message}: ${calls}`, { cause: error }));
    [this.#sinceReport, this.#nextMs] = [0, nowMs + PORTS_FULL_MS];
  };
}

/** Loaded late, only with a trunk. */
async function loadModules() {
  const [
    { SipTrunks },
    { Sockets },
    { systemNames },
    { RtpPorts },
    { assertReachable, rtpSessionOver },
    { LocalCallMedia },
    { CallIntake },
  ] = await Promise.all([
    import('./trunks.js'),
    import('../../sip/transport/sockets.js'),
    import('../../sip/trunk/resolver.js'),
    import('../../../transports/rtp/ports.js'),
    import('../../../transports/rtp/session.js'),
    import('./local-call-media.js'),
    import('../../sip/call-intake.js'),
  ]);
  return { SipTrunks, Sockets, systemNames, RtpPorts, assertReachable, rtpSessionOver, LocalCallMedia, CallIntake };
}

/**
 * Opens the SIP trunks of the settings, on an engine's clock and the system's sockets.
 * @throws ParleyError SIP_CANNOT_LISTEN, FILE_NOT_READABLE
 */
export async function sipTrunks(parts: SipTrunksParts): Promise<SipTrunks> {
  const { SipTrunks, Sockets, systemNames, RtpPorts, assertReachable, rtpSessionOver, LocalCallMedia, CallIntake } =
    await loadModules();
  const {
    engine,
    settings,
    password,
    owned = [],
    isAddress,
    openCallMedia,
    takesCalls,
    leadRegistration,
    mostCalls,
    onError,
  } = parts;
  const { figures = new CarrierStatistics() } = parts;
  const { clock, ticker } = engine;
  const mediaHost = (await openCallMedia?.()) ?? new LocalCallMedia(engine);
  const faults = new MediaFaults(clock, (error) => onError?.(error));
  const listen = settings.listen.map(listeningOf);
  const { advertisedAddress, rtpPorts: portRange } = settings;
  const tls = await tlsOf(settings);
  const all = trunksOf(settings, password);
  const readers = await nationalReaders(all.flatMap(({ country }) => country ?? []));
  const refusals = new RefusalLog(clock, figures);
  const [{ address: anyAddress }] = listen as [Listening];
  const portsOf = portsByAddress((localAddress) => new RtpPorts({ clock, localAddress, portRange }));
  const mediaOf =
    ({ codecs, srtp, comfortNoise }: TrunkSettings): OpenMedia =>
    async (listener, address, bound, line) => {
      assertReachable(address);
      const opened = await mediaHost.openMedia(line, portsOf(bound), { codecs, listener, totals: figures.media });
      return rtpSessionOver(opened, { codecs, srtp, comfortNoise, address });
    };
  const trunks = all.map((trunk): TrunkOptionsOfSettings => ({
    ...RANDOMNESS,
    clock,
    ticker,
    mediaHost,
    names: systemNames,
    openMedia: mediaOf(trunk),
    ...addressOptions(trunk, owned, advertisedAddress ?? anyAddress),
    ...manners(trunk, readers),
    isAddress,
    takesCalls,
    leadRegistration: leadRegistration && ((work) => leadRegistration(trunk.name, work)),
    countryOf,
    onRegistration: (state) => {
      if (state.state === 'failed') onError?.(new ParleyError('SIP_NOT_REGISTERED', { reason: state.reason }));
    },
    onServer: (hop, answers) => tellOfServer(figures, trunk.name, hop, answers),
    onRefused: (refusal) => refusals.add(trunk.name, refusal),
    mayFollow: (uri, number) => mayFollow(settings, uri, number),
    onError: faults.note,
  }));
  const onFlood = (refused: RefusedCalls): void => onError?.(new ParleyError('SIP_FLOOD', { ...refused }));
  const intake = mostCalls === undefined ? undefined : new CallIntake({ clock, mostCalls, onRefused: onFlood });
  const opened = await SipTrunks.open({
    intake,
    clock,
    trunks,
    ...RANDOMNESS,
    openTransport: (events, isTrusted, nameOf) =>
      Sockets.open({
        clock,
        events,
        isTrusted,
        listen,
        tls: { ...tls, nameOf },
        advertisedAddress: advertisedAddress ?? undefined,
      }),
    callers: new Map(Object.entries(settings.callers)),
    algorithms: settings.callerAlgorithms,
    realm: trunks[0]?.domain ?? 'parley',
    onRefused: (refusal) => refusals.add(CALLERS, refusal),
    onClosed: () => refusals.close(),
  });
  watchTrunks(opened, figures, faults);
  return opened;
}

/** Media ports by the address of the calls' signalling. */
function portsByAddress<P>(open: (localAddress: string) => P): (localAddress: string) => P {
  const all = new Map<string, P>();
  return (localAddress) => {
    const known = all.get(localAddress) ?? open(localAddress);
    all.set(localAddress, known);
    return known;
  };
}

type TrunkOptionsOfSettings = Omit<SipCarrierOptions, 'openTransport'>;

/** Addresses and account of a trunk. */
function addressOptions(
  trunk: TrunkSettings,
  owned: readonly string[],
  ownHost: string,
): Pick<
  TrunkOptionsOfSettings,
  | 'trunkName'
  | 'servers'
  | 'sources'
  | 'domain'
  | 'user'
  | 'credentials'
  | 'register'
  | 'keepAliveMs'
  | 'numbers'
  | 'owned'
> {
  const { name, user, password, numbers, register, sources } = trunk;
  const servers = trunk.servers.map(serverOf);
  return {
    trunkName: name,
    servers,
    sources,
    domain: trunk.domain ?? servers[0]?.host ?? ownHost,
    user: user ?? undefined,
    credentials: user === null || password === null ? null : { user, password },
    register,
    keepAliveMs: trunk.keepAliveS * 1000,
    numbers,
    owned: owned.filter((number) => numbers.includes(number)),
  };
}

/** How a trunk places, identifies and transfers calls. */
function manners(
  trunk: TrunkSettings,
  readers: ReadonlyMap<string, NationalReader>,
): Pick<
  TrunkOptionsOfSettings,
  'codecs' | 'numberFormat' | 'national' | 'fromUser' | 'identity' | 'transferFrom' | 'transfer' | 'displayName'
> {
  const { codecs, numberFormat, country, fromUser, identity, transferFrom, transfer, displayName } = trunk;
  return {
    codecs,
    numberFormat,
    national: country === null ? undefined : readers.get(country),
    fromUser,
    identity,
    transferFrom,
    transfer,
    displayName: displayName ?? undefined,
  };
}

function watchTrunks(opened: SipTrunks, figures: CarrierStatistics, faults: MediaFaults): void {
  for (const carrier of opened.carriers) {
    figures.watch({ state: () => carrier.state, counts: () => carrier.trunk.counts });
  }
  figures.watch({
    state: () => null,
    counts: (): Record<string, number> => (faults.withoutPort === 0 ? {} : { 'refused.no-port': faults.withoutPort }),
  });
  figures.watch({ state: () => null, counts: () => opened.callerCounts });
}

/** A server has become unreachable or reachable. */
function tellOfServer(figures: CarrierStatistics, trunk: string, hop: Hop | null, answers: boolean): void {
  const server = hop === null ? 'its servers' : hopText(hop);
  const what = hop === null ? (answers ? 'have an address again' : 'have no address in DNS') : null;
  const text = what ?? (answers ? 'answers again' : 'does not answer; calls go to others, where there are any');
  figures.tell(answers ? 'info' : 'warn', `SIP trunk ${trunk}: ${server} ${text}`, { trunk, server });
}

/** `sip:192.0.2.7:5060;transport=tcp`, validated by the settings. */
export function serverOf(text: string): ServerAddress {
  const match = /^(sips?):(?:\[([^\]]+)\]|([^:;]+))(?::(\d+))?(?:;transport=(\w+))?$/i.exec(text);
  const [, scheme = 'sip', v6, name = '', port, transport] = match ?? [];
  const asked = transport?.toUpperCase();
  const isSecure = scheme.toLowerCase() === 'sips';
  const named = asked === 'TCP' || asked === 'UDP' || asked === 'TLS' ? asked : null;
  const protocol = isSecure && named !== null ? 'TLS' : named;
  return { protocol, isSecure, host: (v6 ?? name).toLowerCase(), port: port === undefined ? null : Number(port) };
}

/** `udp:0.0.0.0:5060`, validated by the settings. */
function listeningOf(text: string): Listening {
  const match = /^(udp|tcp|tls):\[?(.+?)\]?:(\d+)$/i.exec(text);
  const [, protocol = 'udp', address = '', port = '0'] = match ?? [];
  return { protocol: protocol.toUpperCase() as Listening['protocol'], address, port: Number(port) };
}

async function tlsOf({ tlsCertPath, tlsKeyPath, tlsCaPath, tlsVerify }: SipSettings): Promise<TlsOptions> {
  const [cert, key, ca] = await Promise.all([tlsCertPath, tlsKeyPath, tlsCaPath].map(pemOf));
  return {
    verify: tlsVerify,
    own: cert != null && key != null ? { cert, key } : undefined,
    ca: ca ?? undefined,
  };
}

async function pemOf(path: string | null): Promise<string | null> {
  if (path === null) return null;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}

type NationalReader = NonNullable<SipCarrierOptions['national']>;

/**
 * Reads numbers of these countries in national notation.
 * @throws ParleyError CONFIG_INVALID
 */
async function nationalReaders(countries: readonly string[]): Promise<ReadonlyMap<string, NationalReader>> {
  if (countries.length === 0) return new Map();
  const { isSupportedCountry, parsePhoneNumberFromString } = await import('libphonenumber-js/max');
  return new Map(
    countries.map((country) => {
      if (!isSupportedCountry(country)) {
        throw new ParleyError('CONFIG_INVALID', { reason: `sip.country: there is no country ${country}` });
      }
      const read: NationalReader = (digits) => {
        const parsed = parsePhoneNumberFromString(digits, country);
        return parsed?.isPossible() === true ? parsed.number : null;
      };
      return [country, read];
    }),
  );
}

async function countryOf(number: string): Promise<string | null> {
  const { parsePhoneNumberFromString } = await import('libphonenumber-js/max');
  const country = parsePhoneNumberFromString(number)?.country;
  if (country !== undefined) return country;
  // For numbers that its list lacks, such as those reserved for fiction, the calling code determines the country.
  return number.startsWith('+1') ? 'US' : null;
}
