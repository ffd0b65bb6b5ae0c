import {
  type CandidatePair,
  type RTCDataChannel,
  type RTCDtlsTransport,
  type RTCRtpTransceiver,
  type RtcpPacket,
  MediaStreamTrack,
  RTCPeerConnection,
  RtcpRrPacket,
  RtcpSrPacket,
  type RTCRtpCodecParameters,
  type RtpPacket as WeriftPacket,
} from 'werift';
import type { Cancel, Clock } from '../../base/clock.js';
import { ParleyError, reasonOf } from '../../base/errors.js';
import type { RtpPacket } from '../rtp/packet.js';
import { TelephoneEvents } from '../rtp/telephone-event.js';
import { keepStrangersOut } from './checked-sources.js';
import { HandshakeGuard } from './handshake-guard.js';
import { keepWay, removeDefaultStunServer, findNewWays, weriftConfig } from './werift-config.js';
import { MediaPath } from './media-path.js';
import { fingerprintsOf } from './offer.js';
import type { PeerListener, PeerSettings, WebRtcPeer } from './peer.js';
import { createSocket } from 'node:dgram';

/** Deadline for connecting. */
const CONNECT_MS = 15_000;
/** A peer is gone after this long without packets: twice as long as RFC 7675 allows. */
const SILENT_MS = 12_000;
/** Maximum number of messages kept until there is a data channel. */
const MAX_EARLY_MESSAGES = 200;
/** Opus DTX: a packet of one or two bytes announces a pause (RFC 6716, 3.1; RFC 7587, 3.1.3). */
const DTX_BYTES = 2;
const NO_SOUND = new Uint8Array();

/** A peer on werift, a WebRTC implementation in TypeScript. */
export class WeriftPeer implements WebRtcPeer {
  readonly #settings: PeerSettings;
  readonly #connection: RTCPeerConnection;
  readonly #track = new MediaStreamTrack({ kind: 'audio' });
  /** All transceivers that send audio: one per connection, whatever else an offer contains. */
  readonly #transceivers = new Set<RTCRtpTransceiver>();
  readonly #paths = new Map<RTCDtlsTransport, MediaPath>();
  readonly #guards: HandshakeGuard[] = [];
  readonly #events = new TelephoneEvents();
  readonly #clock: Clock;
  #listener: PeerListener | null = null;
  #channel: RTCDataChannel | null = null;
  #early: string[] = [];
  #answering: Promise<unknown> = Promise.resolve();
  #fingerprints: string | null = null;
  #sequence = 0;
  /** The last negotiated source of audio, and the last received one. */
  #source: number | null = null;
  #heardSource: number | null = null;
  #cancelDeadline: Cancel = () => undefined;
  #cancelLook: Cancel | null = null;
  #isOver = false;
  #closing: Promise<void> | null = null;

  constructor(settings: PeerSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#connection = new RTCPeerConnection({
      ...weriftConfig(settings),
      iceFilterStunResponse: (check) => this.#isOfThisRound(String(check.getAttributeValue('USERNAME'))),
    });
    hearUnnamed(this.#connection);
    this.#connection.onRemoteTransceiverAdded.subscribe((transceiver) => this.#onTransceiver(transceiver));
    this.#connection.onDataChannel.subscribe((channel) => this.#onChannel(channel));
    this.#connection.connectionStateChange.subscribe((state) => this.#onState(state));
  }

  get bufferedBytes(): number {
    return this.#channel?.bufferedAmount ?? 0;
  }

  answer(sdp: string): Promise<string> {
    const answer = this.#answering.then(() => this.#answer(sdp));
    this.#answering = answer.catch(() => undefined);
    return answer;
  }

  listen(listener: PeerListener): void {
    this.#listener = listener;
    if (this.#connection.connectionState === 'connected') listener.connected();
  }

  sendAudio(payload: Uint8Array, ticks: number, marker: boolean): void {
    if (this.#isOver || this.#connection.connectionState !== 'connected') return;
    const packet = { sequence: this.#sequence, timestamp: ticks >>> 0, marker, payload };
    this.#sequence = (this.#sequence + 1) & 0xffff;
    for (const { sender } of this.#transceivers) this.#paths.get(sender.dtlsTransport)?.send(sender, packet);
  }

  send(text: string): void {
    if (this.#isOver) return;
    if (this.#channel?.readyState !== 'open') {
      if (this.#early.length < MAX_EARLY_MESSAGES) this.#early.push(text);
      return;
    }
    try {
      this.#channel.send(text);
    } catch {
      // It has closed just now; the connection's state will tell.
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#over('closed');
    for (const guard of this.#guards) guard.close();
    await this.#connection.close();
  }

  async #answer(sdp: string): Promise<string> {
    const fingerprints = fingerprintsOf(sdp);
    const isFirst = this.#fingerprints === null;
    this.#fingerprints ??= fingerprints;
    if (this.#isOver) throw new ParleyError('OFFER_INVALID', { reason: 'the connection has closed' });
    if (fingerprints !== this.#fingerprints) {
      throw new ParleyError('OFFER_INVALID', { reason: 'it belongs to another connection' });
    }
    const { portRange } = this.#settings;
    if (isFirst && portRange != null && !(await hasFreePort(portRange))) {
      throw new ParleyError('RTP_PORTS_FULL', { range: portRange.join(' to ') });
    }
    const connection = this.#connection;
    try {
      await connection.setRemoteDescription({ type: 'offer', sdp });
      removeDefaultStunServer(connection, this.#settings);
      for (const transport of connection.iceTransports) keepStrangersOut(transport.connection);
      await connection.setLocalDescription(await connection.createAnswer());
    } catch (error) {
      throw new ParleyError('OFFER_INVALID', { reason: reasonOf(error) }, { cause: error });
    }
    const answer = connection.localDescription?.sdp;
    if (answer === undefined) throw new ParleyError('OFFER_INVALID', { reason: 'it was given up' });
    if (!answer.includes('a=candidate:')) {
      throw new ParleyError('OFFER_INVALID', { reason: 'this machine has no address to offer' });
    }
    if (isFirst) {
      for (const transport of connection.iceTransports) keepWay(transport.connection);
      for (const transport of connection.dtlsTransports) {
        this.#paths.set(transport, new MediaPath(transport));
        const onRefused = (reason: string): void => this.#over(`the DTLS handshake is refused: ${reason}`);
        this.#guards.push(new HandshakeGuard(transport, onRefused));
      }
    }
    findNewWays(connection);
    if (connection.connectionState !== 'connected') this.#expire();
    return answer;
  }

  /**
   * Whether a check belongs to the last offer and answer. Before browsers have the answer to an ICE restart, they check
   * with their new credentials and our old ones: a pair found that way fails our own checks, and its consent expires
   * after 30 s.
   */
  #isOfThisRound(username: string): boolean {
    return this.#connection.iceTransports.some(
      ({ connection: { localUsername, remoteUsername } }) => username === `${localUsername}:${remoteUsername}`,
    );
  }

  #onTransceiver(transceiver: RTCRtpTransceiver): void {
    if (transceiver.kind !== 'audio') return;
    transceiver.setDirection('sendrecv');
    void transceiver.sender.replaceTrack(this.#track);
    this.#transceivers.add(transceiver);
    const { receiver } = transceiver;
    const onPacket = (packet: RtpPacket): void => this.#onRtp(transceiver, packet);
    transceiver.onTrack.subscribe((track) => {
      // Negotiated: other sources are ignored.
      this.#source = track.ssrc ?? null;
      // The first packet; later ones bypass werift.
      track.onReceiveRtp.subscribe(({ header, payload }) => {
        const { sequenceNumber: sequence, timestamp, ssrc, payloadType, marker } = header;
        this.#paths.get(receiver.dtlsTransport)?.route(ssrc, receiver, onPacket);
        onPacket({ sequence, timestamp, ssrc, payloadType, marker, payload });
      });
    });
    // Reports come alone, or with the other side's sender reports.
    for (const end of [transceiver.sender, transceiver.receiver]) {
      end.onRtcp.subscribe((packet) => this.#onRtcp(packet, transceiver.sender.ssrc));
    }
  }

  #onRtp(transceiver: RTCRtpTransceiver, { ssrc, payloadType, sequence, timestamp, payload }: RtpPacket): void {
    this.#source ??= ssrc;
    if (ssrc !== this.#source) return;
    const codec = transceiver.codecs.find((agreed) => agreed.payloadType === payloadType);
    if (codec === undefined) return;
    if (codec.mimeType.toLowerCase() === 'audio/telephone-event') {
      const digit = this.#events.read(payload, timestamp);
      if (digit !== null) this.#listener?.digit(digit);
      if (this.#heardSource === this.#source) this.#listener?.audio({ sequence, timestamp, payload: NO_SOUND });
      return;
    }
    const begins = this.#heardSource !== null && this.#heardSource !== this.#source;
    this.#heardSource = this.#source;
    this.#listener?.audio({ sequence, timestamp, payload, silent: payload.length <= DTX_BYTES, begins });
  }

  #onRtcp(packet: RtcpPacket, ours: number): void {
    if (!(packet instanceof RtcpRrPacket || packet instanceof RtcpSrPacket)) return;
    for (const { ssrc, fractionLost } of packet.reports) if (ssrc === ours) this.#listener?.loss(fractionLost / 256);
  }

  #onChannel(channel: RTCDataChannel): void {
    this.#channel = channel;
    channel.onMessage.subscribe((data) => {
      if (typeof data === 'string') this.#listener?.message(data);
    });
    const flush = (): void => {
      for (const text of this.#early.splice(0)) this.send(text);
    };
    channel.stateChange.subscribe((state) => {
      if (state === 'open') flush();
    });
    if (channel.readyState === 'open') flush();
  }

  #onState(state: string): void {
    if (state === 'connected') {
      if (!this.#guards.every((guard) => guard.isProven)) {
        this.#over('the DTLS handshake was not checked');
        return;
      }
      this.#cancelDeadline();
      this.#watch();
      this.#listener?.connected();
    } else if (state === 'failed' || state === 'closed') {
      this.#over(`the connection ${state === 'failed' ? 'has failed' : 'was closed'}`);
    }
  }

  #expire(): void {
    this.#cancelDeadline();
    const atMs = this.#clock.nowMs() + CONNECT_MS;
    this.#cancelDeadline = this.#clock.schedule(atMs, () => this.#over('no connection came about'));
  }

  /** werift itself waits 30 s for an answer to its checks, and ignores other traffic. */
  #watch(): void {
    if (this.#cancelLook !== null) return;
    const clock = this.#clock;
    const liveness = new Liveness(SILENT_MS, clock.nowMs());
    const followed = new FollowedPair<CandidatePair>();
    const look = (): void => {
      for (const { connection } of this.#connection.iceTransports) followed.look(connection, clock.nowMs());
      if (!liveness.look(this.#received(), clock.nowMs())) this.#over('nothing came any more');
      else this.#cancelLook = clock.schedule(clock.nowMs() + LOOK_MS, look);
    };
    look();
  }

  /** Number of packets received over the pairs in use. */
  #received(): number {
    const pairs = this.#connection.iceTransports.flatMap(({ connection }) => connection.candidatePairs);
    return pairs.reduce((sum, pair) => sum + pair.requestsReceived + pair.responsesReceived + pair.packetsReceived, 0);
  }

  #over(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelDeadline();
    this.#cancelLook?.();
    this.#listener?.closed(reason);
    void this.close();
  }
}

/** werift's candidate pair. */
export interface Pair {
  /** Checks of the other end over this pair. */
  readonly requestsReceived: number;
  readonly state: number;
}

/** The local check was answered with the other end's password (werift's CandidatePairState.SUCCEEDED). */
const CHECKED = 3;

export interface Ways<P extends Pair> {
  readonly candidatePairs: readonly P[];
  /** The pair in use. */
  nominated?: P;
}

/** The other end checks a pair in use every few seconds (RFC 7675, 5.1: at most 6 s). */
const UNUSED_MS = 8_000;

/**
 * Follows the other end to its candidate pair. Browsers change it when they find a better one, and drop the old one
 * after a while, especially after an ICE restart; werift stays with the first.
 */
export class FollowedPair<P extends Pair> {
  /** Time and number of the last checks of a pair. */
  readonly #checked = new Map<P, { count: number; atMs: number }>();

  /** Call about every second. */
  look(ways: Ways<P>, nowMs: number): void {
    for (const pair of ways.candidatePairs) {
      if (this.#checked.get(pair)?.count === pair.requestsReceived) continue;
      this.#checked.set(pair, { count: pair.requestsReceived, atMs: nowMs });
    }
    for (const pair of this.#checked.keys()) if (!ways.candidatePairs.includes(pair)) this.#checked.delete(pair);
    if (ways.nominated === undefined || nowMs - this.#atMs(ways.nominated) < UNUSED_MS) return;
    const used = ways.candidatePairs.filter((pair) => pair.requestsReceived > 0 && pair.state === CHECKED);
    const newest = used.reduce<P | null>(
      (best, pair) => (best && this.#atMs(best) >= this.#atMs(pair) ? best : pair),
      null,
    );
    if (newest !== null && nowMs - this.#atMs(newest) < UNUSED_MS) ways.nominated = newest;
  }

  #atMs(pair: P): number {
    return this.#checked.get(pair)?.atMs ?? Number.NEGATIVE_INFINITY;
  }
}

/**
 * Whether a UDP port of the range is free, tried on all addresses. werift would leak a socket for each address without
 * a free port.
 * @param range inclusive
 */
async function hasFreePort([from, to]: readonly [number, number]): Promise<boolean> {
  for (let port = from; port <= to; port++) if (await canBind(port)) return true;
  return false;
}

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => socket.close(() => resolve(false)));
    socket.once('listening', () => socket.close(() => resolve(true)));
    socket.bind(port);
  });
}

/** Interval of checks. */
const LOOK_MS = 1_000;
/** A check later than this means that this thread was blocked, not that the other side is gone. */
const MAX_BETWEEN_LOOKS_MS = 2 * LOOK_MS;

/**
 * Whether anything arrives from the other side. A muted microphone does not count as silence: a live peer sends consent
 * checks (RFC 7675, 5.1) and answers ours, every 4 to 6 s each.
 */
export class Liveness {
  readonly #limitMs: number;
  #count = -1;
  #silentMs = 0;
  #atMs: number;

  /** @param limitMs silence after which the other side is gone */
  constructor(limitMs: number, nowMs: number) {
    this.#limitMs = limitMs;
    this.#atMs = nowMs;
  }

  /** @param count everything received so far; false: nothing for too long */
  look(count: number, nowMs: number): boolean {
    this.#silentMs = count === this.#count ? this.#silentMs + Math.min(nowMs - this.#atMs, MAX_BETWEEN_LOOKS_MS) : 0;
    this.#count = count;
    this.#atMs = nowMs;
    return this.#silentMs < this.#limitMs;
  }
}

interface Named {
  encodings: { ssrc: number }[];
  codecs: RTCRtpCodecParameters[];
  headerExtensions: never[];
}

/** werift's router of packets. */
interface Router {
  readonly ssrcTable: Readonly<Record<number, unknown>>;
  routeRtp: (packet: WeriftPacket) => void;
  registerRtpReceiverBySsrc(transceiver: RTCRtpTransceiver, named: Named): void;
}

/**
 * Accepts sources that the offer does not name: browsers name theirs (`a=ssrc`), other programs need not. The first
 * packet of a negotiated payload type then names the source (RFC 9143, 9.2). werift would drop its packets. Named
 * sources are not affected. Call once.
 */
function hearUnnamed(connection: RTCPeerConnection): void {
  const { router } = connection as unknown as { router: Router };
  const { routeRtp } = router;
  router.routeRtp = (packet) => {
    const { ssrc, payloadType } = packet.header;
    if (!(ssrc in router.ssrcTable)) {
      const unnamed = connection
        .getTransceivers()
        .find(
          ({ kind, codecs, receiver }) =>
            kind === 'audio' &&
            receiver.tracks.length === 0 &&
            codecs.some((codec) => codec.payloadType === payloadType),
        );
      if (unnamed !== undefined) {
        const { codecs } = unnamed;
        router.registerRtpReceiverBySsrc(unnamed, { encodings: [{ ssrc }], codecs, headerExtensions: [] });
      }
    }
    routeRtp(packet);
  };
}
