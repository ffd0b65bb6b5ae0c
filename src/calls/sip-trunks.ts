import { randomBytes, randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SipCarrierOptions } from '../carriers/sip/carrier.js';
import type { LinesElsewhere } from '../carriers/sip/agent-line.js';
import type { SipTrunks } from '../carriers/sip/trunks.js';
import type { SipSettings } from '../config/sip-settings.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError, reasonOf } from '../errors.js';
import type { ServerAddress } from '../sip/trunk/resolver.js';
import type { TlsOptions } from '../sip/transport/streams.js';
import type { Listening } from '../sip/transport/transport.js';
import { whyNeverCalled } from './destinations.js';
import type { TrunkFigures } from './trunk-figures.js';

export interface SipTrunksParts {
  engine: Engine;
  settings: SipSettings;
  /** Of the first trunk, `settings` itself. */
  password: string | null;
  /** Of the trunks' numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  /** Where calls have their sound, if not in the engine's thread. */
  linesElsewhere?: LinesElsewhere | undefined;
  /** Where trunks and their media are counted. */
  figures?: TrunkFigures | undefined;
  onError?: (error: unknown) => void;
}

/** Letters and digits that nobody guesses: 96 bits. */
const TOKEN_BYTES = 12;
const CHANCES = 2 ** 32;

/** Whether there is a trunk at all, or anybody who may call without one. */
export function hasTrunk({ servers, sources, trunks, callers }: SipSettings): boolean {
  return servers.length > 0 || sources.length > 0 || Object.keys({ ...trunks, ...callers }).length > 0;
}

/** One trunk of the settings, whole. */
interface TrunkSettings extends Omit<SipSettings, 'trunks' | 'callers'> {
  password: string | null;
}

/** The first one where it is any, or takes the calls of callers who prove themselves; then those with names. */
function trunksOf(settings: SipSettings, password: string | null): TrunkSettings[] {
  const { servers, sources, trunks, callers } = settings;
  const named = Object.values(trunks).map((trunk): TrunkSettings => ({
    ...settings,
    ...{ servers: [], sources: [], numbers: [], domain: null, user: null, register: false, displayName: null },
    ...{ password: null, ...trunk },
  }));
  const isFirst = servers.length > 0 || sources.length > 0 || (named.length === 0 && Object.keys(callers).length > 0);
  return isFirst ? [{ ...settings, password }, ...named] : named;
}

/**
 * The SIP trunks of the settings, on an engine's clock and the system's sockets.
 * @throws ParleyError SIP_CANNOT_LISTEN, FILE_NOT_READABLE
 */
export async function sipTrunks(parts: SipTrunksParts): Promise<SipTrunks> {
  // Loaded late: who has no trunk does not wait for it.
  const [
    { SipTrunks },
    { Sockets },
    { systemNames },
    { RtpPorts },
    { openRtpSession, rtpSessionOver },
    { hasMediaElsewhere },
  ] = await Promise.all([
    import('../carriers/sip/trunks.js'),
    import('../sip/transport/sockets.js'),
    import('../sip/trunk/resolver.js'),
    import('../rtp/ports.js'),
    import('../rtp/session.js'),
    import('../carriers/sip/agent-line.js'),
  ]);
  const { engine, settings, password, owned = [], figures, linesElsewhere, onError } = parts;
  const { clock, ticker } = engine;
  const listen = settings.listen.map(listeningOf);
  const { advertisedAddress, rtpPorts: portRange } = settings;
  const tls = await tlsOf(settings);
  const [{ address: anyAddress }] = listen as [Listening];
  const chances = {
    token: () => randomBytes(TOKEN_BYTES).toString('hex'),
    chance: () => randomInt(CHANCES) / CHANCES,
  };
  /** Ports for media by the address that calls come over. */
  const ports = new Map<string, InstanceType<typeof RtpPorts>>();
  const portsOf = (localAddress: string): InstanceType<typeof RtpPorts> => {
    const known = ports.get(localAddress) ?? new RtpPorts({ clock, localAddress, portRange });
    ports.set(localAddress, known);
    return known;
  };
  const optionsOf = (trunk: TrunkSettings): Omit<SipCarrierOptions, 'openTransport'> => {
    const { user, codecs, srtp, comfortNoise, numbers, displayName } = trunk;
    const servers = trunk.servers.map(serverOf);
    return {
      ...{ clock, ticker, servers, codecs, numbers, names: systemNames, ...chances },
      owned: owned.filter((number) => numbers.includes(number)),
      domain: trunk.domain ?? servers[0]?.host ?? advertisedAddress ?? anyAddress,
      ...(user !== null && { user }),
      credentials: user === null || trunk.password === null ? null : { user, password: trunk.password },
      register: trunk.register,
      sources: trunk.sources,
      keepAliveMs: trunk.keepAliveS * 1000,
      numberFormat: trunk.numberFormat,
      transfer: trunk.transfer,
      ...(displayName !== null && { displayName }),
      linesElsewhere,
      openMedia: async (listener, address, bound, line) => {
        const mine = portsOf(bound);
        const media = { codecs, listener, ...(figures !== undefined && { totals: figures.media }) };
        const says = { codecs, srtp, comfortNoise };
        if (!hasMediaElsewhere(line)) {
          return openRtpSession({ ...says, ...media, clock, ticker, ports: mine, advertisedAddress: address });
        }
        const pair = await mine.open(line.openSocket);
        const opened = await line.openMedia(pair, media).catch(async (error: unknown) => {
          await pair.close();
          throw error;
        });
        return rtpSessionOver(opened, { ...says, address, port: pair.rtp.port, rtcpPort: pair.rtcp.port });
      },
      countryOf,
      onRegistration: (state) => {
        if (state.state === 'failed') onError?.(new ParleyError('SIP_NOT_REGISTERED', { reason: state.reason }));
      },
      mayFollow: (target) => whyNeverCalled(target) === null,
      ...(onError !== undefined && { onError }),
    };
  };
  const trunks = trunksOf(settings, password).map(optionsOf);
  const opened = await SipTrunks.open({
    ...{ clock, trunks, ...chances },
    openTransport: (events, isTrusted, nameOf) =>
      Sockets.open({
        ...{ clock, events, isTrusted, listen, tls: { ...tls, nameOf } },
        ...(advertisedAddress !== null && { advertisedAddress }),
      }),
    callers: new Map(Object.entries(settings.callers)),
    algorithms: settings.callerAlgorithms,
    realm: trunks[0]?.domain ?? 'parley',
  });
  for (const { trunk } of opened.carriers) {
    figures?.watch({
      isRegistered: () => trunk.registration && trunk.registration.state === 'registered',
      counts: () => trunk.counts,
    });
  }
  figures?.watch({ isRegistered: () => null, counts: () => opened.doorCounts });
  return opened;
}

/** `sip:192.0.2.7:5060;transport=tcp`, as the settings have checked it. */
export function serverOf(text: string): ServerAddress {
  const match = /^(sips?):(?:\[([^\]]+)\]|([^:;]+))(?::(\d+))?(?:;transport=(\w+))?$/i.exec(text);
  const [, scheme = 'sip', v6, name = '', port, transport] = match ?? [];
  const asked = transport?.toUpperCase();
  const isSecure = scheme.toLowerCase() === 'sips';
  const named = asked === 'TCP' || asked === 'UDP' || asked === 'TLS' ? asked : null;
  const protocol = isSecure && named !== null ? 'TLS' : named;
  return { protocol, isSecure, host: (v6 ?? name).toLowerCase(), port: port === undefined ? null : Number(port) };
}

/** `udp:0.0.0.0:5060`, as the settings have checked it. */
function listeningOf(text: string): Listening {
  const match = /^(udp|tcp|tls):\[?(.+?)\]?:(\d+)$/i.exec(text);
  const [, protocol = 'udp', address = '', port = '0'] = match ?? [];
  return { protocol: protocol.toUpperCase() as Listening['protocol'], address, port: Number(port) };
}

async function tlsOf({ tlsCertPath, tlsKeyPath, tlsCaPath, tlsVerify }: SipSettings): Promise<TlsOptions> {
  const [cert, key, ca] = await Promise.all([tlsCertPath, tlsKeyPath, tlsCaPath].map(pemOf));
  return {
    verify: tlsVerify,
    ...(cert != null && key != null && { own: { cert, key } }),
    ...(ca != null && { ca }),
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

async function countryOf(number: string): Promise<string | null> {
  const { parsePhoneNumberFromString } = await import('libphonenumber-js/max');
  const country = parsePhoneNumberFromString(number)?.country;
  if (country !== undefined) return country;
  // Numbers that its list has none of, such as those kept for films, still tell their country by their code.
  return number.startsWith('+1') ? 'US' : null;
}
