import { BlockList, isIP } from 'node:net';
import { ParleyError } from '../../base/errors.js';

/** Direction, as seen by the sender of the description (RFC 3264, 5.1). */
export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** A session description (SDP, RFC 8866), as far as calls need it. */
export interface SessionDescription {
  /** `o=`: identifies a session and its version. */
  origin: { id: string; version: string };
  /** In the order of the description: an answer needs one for each (RFC 3264, 6). */
  media: readonly MediaDescription[];
}

export interface MediaDescription {
  /** `audio`, `video`, `image`… */
  kind: string;
  /** 0 = refused or removed. */
  port: number;
  /** `RTP/AVP`, `RTP/SAVP`… */
  profile: string;
  /** An IP address; `0.0.0.0` = hold (RFC 2543). */
  address: string;
  direction: Direction;
  /** In order of preference. */
  formats: readonly Format[];
  /** Format names of other media. */
  rawFormats: readonly string[];
  /** Requested packet length; null = not given. */
  ptimeMs: number | null;
  /** Maximum packet length; null = not given. */
  maxPtimeMs: number | null;
  /** Destination of RTCP if not the next port (RFC 3605). */
  rtcp: { port: number; address: string | null } | null;
  rtcpMux: boolean;
  crypto: readonly CryptoLine[];
}

export interface Format {
  payloadType: number;
  /** From a=rtpmap; null without one. */
  name: string | null;
  clockRateHz: number;
  channels: number;
  fmtp: string | null;
}

/** An SRTP key (RFC 4568, 9.1). */
export interface CryptoLine {
  tag: number;
  suite: string;
  /** Key and salt, base64. */
  inline: string;
  /** Whether it needs unsupported features: a key identifier, session parameters. */
  isExtended: boolean;
}

/** Longer descriptions are refused unread. Browsers' offers are the longest, about 6 kB. */
export const MAX_SDP_LENGTH = 16_384;
const MAX_LINES = 500;
const MAX_MEDIA = 16;
const MAX_FORMATS = 64;
const MAX_CRYPTO = 16;
const TOKEN = /^[!-~]{1,64}$/;
/** Multicast and broadcast addresses, which a call cannot use. */
const MANY = new BlockList();
MANY.addSubnet('224.0.0.0', 3, 'ipv4');
MANY.addSubnet('ff00::', 8, 'ipv6');
const DIRECTIONS: readonly string[] = ['sendrecv', 'sendonly', 'recvonly', 'inactive'] satisfies Direction[];

type Draft = {
  -readonly [Key in keyof MediaDescription]: MediaDescription[Key];
} & { formats: Format[]; crypto: CryptoLine[] };

/**
 * Parses a description. Unneeded parts are skipped; needed parts must be valid.
 * @throws ParleyError SDP_INVALID
 */
export function parseSdp(text: string): SessionDescription {
  if (text.length > MAX_SDP_LENGTH) throw invalid(`it is longer than ${String(MAX_SDP_LENGTH)} characters`);
  const lines = text.split('\n', MAX_LINES + 1);
  if (lines.length > MAX_LINES) throw invalid(`it has more than ${String(MAX_LINES)} lines`);
  const reader = new Reader();
  for (const [index, line] of lines.entries()) {
    const trimmed = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (trimmed === '') continue;
    const [type, value] = [trimmed[0], trimmed.slice(2)];
    if (trimmed[1] !== '=' || type === undefined) throw invalid(`line ${String(index + 1)} is no line of SDP`);
    if (index === 0 && trimmed !== 'v=0') throw invalid('it does not begin with v=0');
    reader.line(type, value);
  }
  return reader.end();
}

class Reader {
  readonly #media: Draft[] = [];
  #origin: SessionDescription['origin'] | null = null;
  /** Default address of media without one. */
  #address: string | null = null;
  #direction: Direction = 'sendrecv';
  /** Media without an address yet. */
  readonly #homeless = new Set<Draft>();

  line(type: string, value: string): void {
    if (type === 'o') this.#origin = originOf(value);
    else if (type === 'c') this.#connection(value);
    else if (type === 'm') this.#begin(value);
    else if (type === 'a') this.#attribute(value);
  }

  end(): SessionDescription {
    if (this.#origin === null) throw invalid('it has no o= line');
    for (const media of this.#homeless) {
      if (this.#address !== null) media.address = this.#address;
      else if (media.port !== 0) throw invalid('it has no c= line');
    }
    return { origin: this.#origin, media: this.#media };
  }

  #connection(value: string): void {
    const address = addressOf(value);
    const media = this.#media.at(-1);
    if (media === undefined) {
      this.#address = address;
    } else {
      media.address = address;
      this.#homeless.delete(media);
    }
  }

  #begin(value: string): void {
    const [kind = '', ports = '', profile = '', ...formats] = value.split(' ').filter((part) => part !== '');
    const port = whole(ports.split('/')[0], 65_535);
    // They are repeated in answers.
    if (port === null || ![kind, profile, ...formats].every((part) => TOKEN.test(part)))
      throw invalid('an m= line is not right');
    if (this.#media.length >= MAX_MEDIA) throw invalid(`it has more than ${String(MAX_MEDIA)} m= lines`);
    if (formats.length > MAX_FORMATS) throw invalid(`an m= line has more than ${String(MAX_FORMATS)} formats`);
    const types = new Set(formats.map((format) => whole(format, 127)));
    types.delete(null);
    const media: Draft = {
      kind,
      port,
      profile,
      address: '0.0.0.0',
      direction: this.#direction,
      rawFormats: formats,
      formats: [...types].map((payloadType) => ({
        payloadType: payloadType as number,
        name: null,
        clockRateHz: 0,
        channels: 1,
        fmtp: null,
      })),
      ptimeMs: null,
      maxPtimeMs: null,
      rtcp: null,
      rtcpMux: false,
      crypto: [],
    };
    this.#media.push(media);
    this.#homeless.add(media);
  }

  #attribute(attribute: string): void {
    const colon = attribute.indexOf(':');
    const name = colon < 0 ? attribute : attribute.slice(0, colon);
    const value = colon < 0 ? '' : attribute.slice(colon + 1);
    const media = this.#media.at(-1);
    if (DIRECTIONS.includes(name)) {
      if (media === undefined) this.#direction = name as Direction;
      else media.direction = name as Direction;
      return;
    }
    if (media === undefined) return;
    if (name === 'rtpmap') rtpmap(media, value);
    else if (name === 'fmtp') fmtp(media, value);
    else if (name === 'ptime') media.ptimeMs = whole(value.trim().split('.')[0], 1_000);
    else if (name === 'maxptime') media.maxPtimeMs = whole(value.trim().split('.')[0], 1_000);
    else if (name === 'rtcp-mux') media.rtcpMux = true;
    else if (name === 'rtcp') media.rtcp = rtcpOf(value);
    else if (name === 'crypto' && media.crypto.length < MAX_CRYPTO) {
      const line = cryptoOf(value);
      if (line !== null) media.crypto.push(line);
    }
  }
}

/** Serialises a description, with lines in the order of RFC 8866, 5. */
export function printSdp({ origin, media }: SessionDescription, address: string): string {
  const where = `IN IP${isIP(address) === 6 ? '6' : '4'} ${address}`;
  const lines = ['v=0', `o=- ${origin.id} ${origin.version} ${where}`, 's=-', `c=${where}`, 't=0 0'];
  for (const each of media) lines.push(...mediaLines(each));
  return `${lines.join('\r\n')}\r\n`;
}

function mediaLines(media: MediaDescription): string[] {
  const lines = [`m=${media.kind} ${String(media.port)} ${media.profile} ${media.rawFormats.join(' ')}`];
  if (media.port === 0) return lines;
  for (const { payloadType, name, clockRateHz, channels, fmtp: parameters } of media.formats) {
    const type = String(payloadType);
    const count = channels > 1 ? `/${String(channels)}` : '';
    if (name !== null) lines.push(`a=rtpmap:${type} ${name}/${String(clockRateHz)}${count}`);
    if (parameters !== null) lines.push(`a=fmtp:${type} ${parameters}`);
  }
  for (const { tag, suite, inline } of media.crypto) lines.push(`a=crypto:${String(tag)} ${suite} inline:${inline}`);
  if (media.rtcp !== null) lines.push(`a=rtcp:${String(media.rtcp.port)}`);
  if (media.rtcpMux) lines.push('a=rtcp-mux');
  if (media.ptimeMs !== null) lines.push(`a=ptime:${String(media.ptimeMs)}`);
  if (media.maxPtimeMs !== null) lines.push(`a=maxptime:${String(media.maxPtimeMs)}`);
  lines.push(`a=${media.direction}`);
  return lines;
}

function originOf(value: string): SessionDescription['origin'] {
  const [, id, version, ...rest] = value.split(' ');
  if (id === undefined || version === undefined || rest.length < 3) throw invalid('its o= line is not right');
  return { id: id.slice(0, 64), version: version.slice(0, 64) };
}

/** Host names are refused: looking them up would contact any server that their owner chooses. */
function addressOf(value: string): string {
  const [network, type, rest = ''] = value.trim().split(' ');
  const address = rest.split('/')[0] ?? '';
  const family = isIP(address);
  if (network !== 'IN' || family === 0 || type !== `IP${String(family)}` || address.includes('%')) {
    throw invalid('its c= line has no IP address');
  }
  if (MANY.check(address, family === 6 ? 'ipv6' : 'ipv4')) throw invalid('its c= line has an address of many');
  return address;
}

function rtpmap(media: Draft, value: string): void {
  const match = /^(\d{1,3}) ([\w.+-]{1,40})\/(\d{1,6})(?:\/(\d{1,2}))?\s*$/.exec(value);
  const format = media.formats.find(({ payloadType }) => payloadType === Number(match?.[1]));
  if (match === null || format === undefined) return;
  format.name = match[2] ?? null;
  format.clockRateHz = Number(match[3]);
  format.channels = Number(match[4] ?? 1);
}

function fmtp(media: Draft, value: string): void {
  const space = value.indexOf(' ');
  const payloadType = whole(value.slice(0, Math.max(space, 0)), 127);
  const format = media.formats.find((each) => each.payloadType === payloadType);
  if (format !== undefined) format.fmtp = value.slice(space + 1).trim();
}

function rtcpOf(value: string): MediaDescription['rtcp'] {
  const [text, ...rest] = value.trim().split(' ');
  const port = whole(text, 65_535);
  if (port === null || port === 0) return null;
  return { port, address: rest.length >= 3 ? addressOf(rest.join(' ')) : null };
}

/** Null for an unusable line; others may follow. */
function cryptoOf(value: string): CryptoLine | null {
  const [tag, suite, parameters, ...session] = value.trim().split(/ +/);
  const number = whole(tag, 999_999_999);
  const match = /^inline:([\w+/=-]{1,128})((?:\|[^;|]{1,40}){0,2})$/.exec(parameters ?? '');
  if (number === null || suite === undefined || match === null) return null;
  return {
    tag: number,
    suite,
    inline: match[1] ?? '',
    // A lifetime is allowed (`|2^31`); a key identifier in each packet (`|1:4`) is not supported.
    isExtended: match[2]?.includes(':') === true || session.length > 0,
  };
}

function whole(text: string | undefined, most: number): number | null {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return null;
  const value = Number(text);
  return value <= most ? value : null;
}

function invalid(reason: string): ParleyError {
  return new ParleyError('SDP_INVALID', { reason });
}
