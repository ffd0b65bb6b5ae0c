import { isIP } from 'node:net';
import { ParleyError } from '../../base/errors.js';
import {
  type CodecFacts,
  type CodecName,
  codecOf,
  CODECS,
  COMFORT_NOISE_TYPE,
  packetMsOf,
  STATIC_FORMATS,
} from './media-codec.js';
import {
  type CryptoLine,
  type Direction,
  type Format,
  type MediaDescription,
  parseSdp,
  printSdp,
  type SessionDescription,
} from './sdp.js';
import { keyOfLine, lineOfKey, newSrtpKey } from './srtp.js';
import { type SrtpKey, type SrtpSuite, SRTP_SUITES } from './srtp-cipher.js';

/**
 * - `off`: plain RTP only.
 * - `accepted`: parley offers plain RTP and accepts SRTP.
 * - `offered`: parley offers SRTP in a way that allows a plain RTP answer.
 * - `required`: SRTP or no call.
 */
export type SrtpPolicy = 'off' | 'accepted' | 'offered' | 'required';

export interface NegotiationOptions {
  /** Address for the other side's packets. */
  address: string;
  port: number;
  rtcpPort: number;
  /** In order of preference. */
  codecs: readonly CodecName[];
  srtp: SrtpPolicy;
  /** Whether to send silence as comfort noise (RFC 3389), if the other side accepts it. */
  comfortNoise: boolean;
  /** For `o=`: unique among parley's calls. */
  sessionId: string;
}

/** The result of a negotiation. */
export interface Agreement {
  /** Destination of packets. */
  remote: { address: string; port: number; rtcpAddress: string; rtcpPort: number };
  /** Whether parley may send, and receive. */
  sends: boolean;
  receives: boolean;
  codec: { facts: CodecFacts; payloadType: number };
  /** Codecs by the payload types of received packets. */
  codecs: ReadonlyMap<number, CodecFacts>;
  /** Keys as events (RFC 4733): how to send them, null = not supported; and the received payload types. */
  events: { payloadType: number; clockRateHz: number } | null;
  eventTypes: ReadonlySet<number>;
  /** Whether the other side accepts comfort noise for silence. */
  comfortNoise: boolean;
  /** Length of sent packets, as requested by the other side. */
  packetMs: number;
  rtcpMux: boolean;
  srtp: { send: SrtpKey; receive: SrtpKey } | null;
}

const SECURE = /^RTP\/SAVPF?$/;
const PLAIN = /^RTP\/AVPF?$/;
const SENDING = /^send/;
const RECEIVING = /recv/;
const EVENTS = 'telephone-event';
/** 0-9, *, #, A-D (RFC 4733, 3.2). */
const EVENTS_FMTP = '0-15';
/** Payload types of events in parley's offers, by clock rate. */
const EVENT_TYPES = [
  [8_000, 101],
  [48_000, 102],
] as const;
const PTIME_MS = 20;
const MAX_PTIME_MS = 120;
const NOISE = 'CN';

/** Offer/answer for one call's audio (RFC 3264). One audio stream is negotiated; all other media are refused. */
export class Negotiation {
  readonly #options: NegotiationOptions;
  /** The last local description of each medium. */
  #media: readonly MediaDescription[] = [];
  /** The previous state while an offer is open. */
  #before: { media: readonly MediaDescription[]; wanted: Direction } | null = null;
  #version = 0;
  #printed = '';
  #keys = new Map<SrtpSuite, SrtpKey>();
  #agreement: Agreement | null = null;
  /** The direction that parley wants, whatever the other side allows. */
  #wanted: Direction = 'sendrecv';

  constructor(options: NegotiationOptions) {
    this.#options = options;
  }

  get agreement(): Agreement | null {
    return this.#agreement;
  }

  /** Whether parley's offer is open. */
  get isOffering(): boolean {
    return this.#before !== null;
  }

  /** @param direction wanted from now on; default: unchanged */
  offer(direction: Direction = this.#wanted): string {
    this.#before ??= { media: this.#media, wanted: this.#wanted };
    this.#wanted = direction;
    const ours = this.#offered();
    const known = this.#media.length > 0 ? this.#media : [ours];
    this.#media = known.map((media) => (media.port === 0 ? media : ours));
    return this.#print();
  }

  /**
   * Applies the answer to the last offer; another answer to the same offer replaces it (early answers, forks).
   * @throws ParleyError SDP_INVALID, MEDIA_UNSUPPORTED; the previous agreement stays in force
   */
  accept(answer: string): Agreement {
    const { media } = parseSdp(answer);
    if (media.length !== this.#media.length) throw unsupported('the answer has other media than the offer');
    const index = this.#media.findIndex(({ port }) => port !== 0);
    const [ours, theirs] = [this.#media[index], media[index]];
    if (ours === undefined || theirs === undefined) throw unsupported('there is no offer');
    if (theirs.port === 0 || theirs.kind !== 'audio') throw unsupported('the other side refuses the audio');
    if (isIP(theirs.address) !== isIP(this.#options.address)) {
      throw unsupported('its address is of another family than ours');
    }
    this.#agreement = this.#agree(ours, theirs, this.#keysOf(ours, theirs));
    this.#before = null;
    return this.#agreement;
  }

  /**
   * Answers an offer.
   * @throws ParleyError SDP_INVALID (400), MEDIA_UNSUPPORTED (488); the previous agreement stays in force
   */
  answer(offer: string): { sdp: string; agreement: Agreement } {
    const { media } = parseSdp(offer);
    const { index, theirs, codec } = this.#choose(media);
    const keys = this.#keysFor(theirs);
    const ours = this.#answerTo(theirs, codec, keys?.line ?? null);
    this.#media = media.map((each, n) => (n === index ? ours : refused(each)));
    this.#before = null;
    this.#agreement = this.#agree(ours, theirs, keys === null ? null : { send: keys.send, receive: keys.receive });
    return { sdp: this.#print(), agreement: this.#agreement };
  }

  /** The other side has refused the offer: restores the previous state. */
  rollback(): void {
    if (this.#before === null) return;
    this.#media = this.#before.media;
    this.#wanted = this.#before.wanted;
    this.#before = null;
  }

  #print(): string {
    const { address, sessionId } = this.#options;
    const print = (): string => {
      const description: SessionDescription = {
        origin: { id: sessionId, version: String(this.#version) },
        media: this.#media,
      };
      return printSdp(description, address);
    };
    // The version changes only if the description changes (RFC 3264, 8).
    if (print() !== this.#printed) this.#version++;
    this.#printed = print();
    return this.#printed;
  }

  /** The negotiated types, keys and profile stay for the whole call. */
  #offered(): MediaDescription {
    const { codecs, srtp, port, rtcpPort, address } = this.#options;
    const agreed = this.#agreement;
    const facts = codecs.map((name) => CODECS[name]);
    const formats = facts.map((codec) => {
      const type = [...(agreed?.codecs ?? [])].find(([, { name }]) => name === codec.name)?.[0];
      return formatOf(codec.name, type ?? codec.payloadType, codec.clockRateHz, codec.fmtp, codec.channels);
    });
    const clocks = new Set(facts.map(({ clockRateHz }) => clockRateHz));
    const events = EVENT_TYPES.filter(([clockRateHz]) => clocks.has(clockRateHz)).map(([clockRateHz, payloadType]) => {
      const type = agreed?.events?.clockRateHz === clockRateHz ? agreed.events.payloadType : payloadType;
      return formatOf(EVENTS, type, clockRateHz, EVENTS_FMTP);
    });
    const all = distinct([...formats, ...this.#noise(facts), ...events]);
    const suites: readonly SrtpSuite[] =
      agreed === null
        ? srtp === 'offered' || srtp === 'required'
          ? SRTP_SUITES
          : []
        : agreed.srtp === null
          ? []
          : [agreed.srtp.send.suite];
    const profile = this.#media.find((media) => media.port !== 0)?.profile;
    return {
      kind: 'audio',
      port,
      address,
      profile: profile ?? (srtp === 'required' ? 'RTP/SAVP' : 'RTP/AVP'),
      formats: all,
      rawFormats: all.map(({ payloadType }) => String(payloadType)),
      direction: this.#wanted,
      ptimeMs: PTIME_MS,
      maxPtimeMs: MAX_PTIME_MS,
      rtcp: rtcpPort === port + 1 ? null : { port: rtcpPort, address: null },
      rtcpMux: true,
      crypto: suites.map((suite, n) => lineOfKey(this.#ownKey(suite), n + 1)),
    };
  }

  /** Type 13 is comfort noise for codecs of 8 kHz. */
  #noise(codecs: readonly CodecFacts[]): Format[] {
    const isOurs = this.#options.comfortNoise && codecs.some(({ sampleRateHz }) => sampleRateHz === 8_000);
    return isOurs ? [formatOf(NOISE, COMFORT_NOISE_TYPE, 8_000, undefined)] : [];
  }

  #ownKey(suite: SrtpSuite): SrtpKey {
    const key = this.#keys.get(suite) ?? newSrtpKey(suite);
    this.#keys.set(suite, key);
    return key;
  }

  /** The first audio that parley supports. */
  #choose(media: readonly MediaDescription[]): { index: number; theirs: MediaDescription; codec: Format } {
    let reason = 'it has no audio';
    for (const [index, theirs] of media.entries()) {
      if (theirs.kind !== 'audio' || theirs.port === 0) continue;
      const isSecure = SECURE.test(theirs.profile);
      if (isIP(theirs.address) !== isIP(this.#options.address)) reason = 'its address is of another family than ours';
      else if (!isSecure && !PLAIN.test(theirs.profile)) reason = `${theirs.profile.slice(0, 40)} is not spoken here`;
      else if (isSecure && this.#options.srtp === 'off') reason = 'SRTP is switched off';
      else if (this.#options.srtp === 'required' && usableLine(theirs) === null) reason = 'SRTP is required';
      else if (isSecure && usableLine(theirs) === null) reason = 'it has no key of SRTP that can be used';
      else {
        const codec = theirs.formats.find((format) => this.#ours(format) !== null);
        if (codec !== undefined) return { index, theirs, codec };
        reason = `none of its codecs is among ${this.#options.codecs.join(', ')}`;
      }
    }
    throw unsupported(reason);
  }

  #ours(format: Format): CodecFacts | null {
    const { name, clockRateHz } = named(format);
    const facts = name === null ? null : codecOf(name, clockRateHz);
    return facts !== null && this.#options.codecs.includes(facts.name) ? facts : null;
  }

  #keysFor(theirs: MediaDescription): { line: CryptoLine; send: SrtpKey; receive: SrtpKey } | null {
    const found = this.#options.srtp === 'off' ? null : usableLine(theirs);
    if (found === null) return null;
    const send = this.#ownKey(found.key.suite);
    return { line: lineOfKey(send, found.tag), send, receive: found.key };
  }

  /** @throws ParleyError MEDIA_UNSUPPORTED if the answer's key does not match the offer */
  #keysOf(ours: MediaDescription, theirs: MediaDescription): Agreement['srtp'] {
    const found = usableLine(theirs);
    const offered = ours.crypto.find(({ tag, suite }) => tag === found?.tag && suite === found.key.suite);
    if (found !== null && offered !== undefined) return { send: this.#ownKey(found.key.suite), receive: found.key };
    if (SECURE.test(ours.profile)) throw unsupported('the answer has no key of SRTP that fits the offer');
    return null;
  }

  #answerTo(theirs: MediaDescription, codec: Format, key: CryptoLine | null): MediaDescription {
    const { port, rtcpPort, address } = this.#options;
    const facts = this.#ours(codec) as CodecFacts;
    const events = eventsFor(theirs.formats, facts.clockRateHz);
    const formats = [formatOf(facts.name, codec.payloadType, facts.clockRateHz, facts.fmtp, facts.channels)];
    if (takesNoise(theirs.formats)) formats.push(...this.#noise([facts]));
    if (events !== null) formats.push(formatOf(EVENTS, events.payloadType, events.clockRateHz, EVENTS_FMTP));
    const sends = SENDING.test(this.#wanted) && isReceiving(theirs);
    const receives = RECEIVING.test(this.#wanted) && SENDING.test(theirs.direction);
    return {
      kind: 'audio',
      port,
      profile: theirs.profile,
      address,
      formats,
      rawFormats: formats.map(({ payloadType }) => String(payloadType)),
      direction: sends ? (receives ? 'sendrecv' : 'sendonly') : receives ? 'recvonly' : 'inactive',
      // Some telephones send the packet length that they receive.
      ptimeMs: packetMsOf(facts, theirs.ptimeMs ?? PTIME_MS),
      maxPtimeMs: MAX_PTIME_MS,
      rtcp: theirs.rtcpMux || rtcpPort === port + 1 ? null : { port: rtcpPort, address: null },
      rtcpMux: theirs.rtcpMux,
      crypto: key === null ? [] : [key],
    };
  }

  #agree(ours: MediaDescription, theirs: MediaDescription, srtp: Agreement['srtp']): Agreement {
    const codec = theirs.formats.find((format) => this.#ours(format) !== null);
    if (codec === undefined) throw unsupported(`none of its codecs is among ${this.#options.codecs.join(', ')}`);
    const facts = this.#ours(codec) as CodecFacts;
    const codecs = new Map<number, CodecFacts>();
    for (const format of ours.formats) {
      const mine = this.#ours(format);
      if (mine !== null && theirs.formats.some((other) => this.#ours(other)?.name === mine.name)) {
        codecs.set(format.payloadType, mine);
      }
    }
    // If the other side chose its own numbers, use those.
    if (!ours.formats.some(({ payloadType }) => payloadType === codec.payloadType))
      codecs.set(codec.payloadType, facts);
    const rtcpMux = ours.rtcpMux && theirs.rtcpMux;
    const { address, port } = theirs;
    return {
      remote: {
        address,
        port,
        rtcpAddress: theirs.rtcp?.address ?? address,
        rtcpPort: rtcpMux ? port : (theirs.rtcp?.port ?? port + 1),
      },
      sends: SENDING.test(ours.direction) && isReceiving(theirs),
      receives: RECEIVING.test(ours.direction) && SENDING.test(theirs.direction),
      codec: { facts, payloadType: codec.payloadType },
      codecs,
      events: eventsFor(theirs.formats, facts.clockRateHz),
      eventTypes: new Set([...eventTypes(ours.formats), ...eventTypes(theirs.formats)]),
      comfortNoise: this.#noise([facts]).length > 0 && takesNoise(theirs.formats),
      packetMs: packetMsOf(facts, Math.min(theirs.ptimeMs ?? PTIME_MS, theirs.maxPtimeMs ?? MAX_PTIME_MS)),
      rtcpMux,
      srtp,
    };
  }
}

/** 0.0.0.0 means that nothing may be sent (RFC 3264, 8.4). */
function isReceiving({ direction, address }: MediaDescription): boolean {
  return RECEIVING.test(direction) && !isNowhere(address);
}

/** The unspecified address. */
export function isNowhere(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

function usableLine(media: MediaDescription): { tag: number; key: SrtpKey } | null {
  for (const line of media.crypto) {
    const key = keyOfLine(line);
    if (key !== null) return { tag: line.tag, key };
  }
  return null;
}

function named(format: Format): { name: string | null; clockRateHz: number } {
  return format.name === null ? (STATIC_FORMATS.get(format.payloadType) ?? format) : format;
}

function takesNoise(formats: readonly Format[]): boolean {
  return formats.some(
    (format) => format.payloadType === COMFORT_NOISE_TYPE && named(format).name?.toUpperCase() === NOISE,
  );
}

/** Events at the codec's clock rate, otherwise at any. */
function eventsFor(formats: readonly Format[], clockRateHz: number): Agreement['events'] {
  const all = formats.filter(({ name }) => name?.toLowerCase() === EVENTS);
  const found = all.find((format) => format.clockRateHz === clockRateHz) ?? all[0];
  return found === undefined ? null : { payloadType: found.payloadType, clockRateHz: found.clockRateHz };
}

function eventTypes(formats: readonly Format[]): number[] {
  return formats.filter(({ name }) => name?.toLowerCase() === EVENTS).map(({ payloadType }) => payloadType);
}

function formatOf(
  name: string,
  payloadType: number,
  clockRateHz: number,
  fmtp: string | undefined,
  channels = 1,
): Format {
  return { payloadType, name, clockRateHz, channels, fmtp: fmtp ?? null };
}

/** Leaves out formats with used payload types. */
function distinct(formats: readonly Format[]): Format[] {
  const taken = new Set<number>();
  return formats.filter(({ payloadType }) => !taken.has(payloadType) && taken.add(payloadType));
}

function refused(media: MediaDescription): MediaDescription {
  const rawFormats = media.rawFormats.length > 0 ? media.rawFormats.slice(0, 1) : ['0'];
  return { ...media, port: 0, rawFormats };
}

function unsupported(reason: string): ParleyError {
  return new ParleyError('MEDIA_UNSUPPORTED', { reason });
}
