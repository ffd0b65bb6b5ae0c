import { randomBytes, randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SipCarrier } from '../carriers/sip/carrier.js';
import type { SipSettings } from '../config/sip-settings.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError, reasonOf } from '../errors.js';
import type { ServerAddress } from '../sip/trunk/resolver.js';
import type { TlsOptions } from '../sip/transport/streams.js';
import type { Listening } from '../sip/transport/transport.js';
import { whyNeverCalled } from './destinations.js';

export interface SipCarrierParts {
  engine: Engine;
  settings: SipSettings;
  password: string | null;
  /** Of the trunk's numbers, the ones that are ours from the start. */
  owned?: readonly string[];
  onError?: (error: unknown) => void;
}

/** Letters and digits that nobody guesses: 96 bits. */
const TOKEN_BYTES = 12;
const CHANCES = 2 ** 32;

/** Whether there is a trunk at all. */
export function hasTrunk({ servers, sources }: SipSettings): boolean {
  return servers.length > 0 || sources.length > 0;
}

/**
 * The carrier of a SIP trunk, on an engine's clock and the system's sockets.
 * @throws ParleyError SIP_CANNOT_LISTEN, FILE_NOT_READABLE
 */
export async function sipCarrier(parts: SipCarrierParts): Promise<SipCarrier> {
  // Loaded late: who has no trunk does not wait for it.
  const [{ SipCarrier }, { Sockets }, { systemNames }, { RtpPorts }, { openRtpSession }] = await Promise.all([
    import('../carriers/sip/carrier.js'),
    import('../sip/transport/sockets.js'),
    import('../sip/trunk/resolver.js'),
    import('../rtp/ports.js'),
    import('../rtp/session.js'),
  ]);
  const { engine, settings, password, owned = [], onError } = parts;
  const { clock, ticker } = engine;
  const servers = settings.servers.map(serverOf);
  const listen = settings.listen.map(listeningOf);
  const { advertisedAddress, codecs, srtp, comfortNoise, user } = settings;
  const tls = await tlsOf(settings);
  const [{ address: localAddress }] = listen as [Listening];
  const ports = new RtpPorts({ clock, localAddress, portRange: settings.rtpPorts });
  return SipCarrier.open({
    ...{ clock, ticker, servers, codecs, owned, names: systemNames },
    token: () => randomBytes(TOKEN_BYTES).toString('hex'),
    chance: () => randomInt(CHANCES) / CHANCES,
    domain: settings.domain ?? servers[0]?.host ?? advertisedAddress ?? localAddress,
    ...(user !== null && { user }),
    credentials: user === null || password === null ? null : { user, password },
    register: settings.register,
    sources: settings.sources,
    numbers: settings.numbers,
    keepAliveMs: settings.keepAliveS * 1000,
    numberFormat: settings.numberFormat,
    transfer: settings.transfer,
    ...(settings.displayName !== null && { displayName: settings.displayName }),
    openTransport: (events, isTrusted, known) =>
      Sockets.open({
        ...{ clock, events, isTrusted, listen },
        tls: { ...tls, nameOf: (hop) => known.nameOf(hop) },
        ...(advertisedAddress !== null && { advertisedAddress }),
      }),
    openMedia: (listener, address) =>
      openRtpSession({ ...{ clock, ticker, ports, codecs, srtp, comfortNoise, listener }, advertisedAddress: address }),
    countryOf,
    onRegistration: (state) => {
      if (state.state === 'failed') onError?.(new ParleyError('SIP_NOT_REGISTERED', { reason: state.reason }));
    },
    mayFollow: (target) => whyNeverCalled(target) === null,
    ...(onError !== undefined && { onError }),
  });
}

/** `sip:192.0.2.7:5060;transport=tcp`, as the settings have checked it. */
export function serverOf(text: string): ServerAddress {
  const match = /^(sips?):(?:\[([^\]]+)\]|([^:;]+))(?::(\d+))?(?:;transport=(\w+))?$/i.exec(text);
  const [, scheme = 'sip', v6, name = '', port, transport] = match ?? [];
  const asked = transport?.toUpperCase();
  const protocol = scheme.toLowerCase() === 'sips' || asked === 'TLS' ? 'TLS' : asked === 'TCP' ? 'TCP' : 'UDP';
  return { protocol, host: (v6 ?? name).toLowerCase(), port: port === undefined ? null : Number(port) };
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
