import { type RTCDtlsTransport, type RTCRtpReceiver, type RTCRtpSender, RtpPacket as WeriftPacket } from 'werift';
import { nowUnixMs } from '../../base/real-clock.js';
import { isRtcp, parseRtp, RTP_HEADER_BYTES, type RtpPacket, serialiseRtp } from '../rtp/packet.js';
import { SrtpReceiver, SrtpSender } from '../rtp/srtp.js';
import type { SrtpSuite } from '../rtp/srtp-cipher.js';

/**
 * The SRTP profile of every browser (RFC 8827, 6.5), by its number in DTLS (RFC 5764, 4.1.2). werift would prefer
 * AES-GCM, for which Node creates a new cipher for each packet: four times the work.
 */
const PROFILE = 0x0001;
const SUITE: SrtpSuite = 'AES_CM_128_HMAC_SHA1_80';
const KEY_BYTES = 16;
const SALT_BYTES = 14;
/** Of a record (RFC 6347, 4.1). */
const DTLS_HEADER_BYTES = 13;
const CHANGE_CIPHER_SPEC = 20;
const HANDSHAKE = 22;
/** Of a handshake (RFC 6347, 4.3.2). */
const HELLO_VERIFY_REQUEST = 3;
/** From 1900, the epoch of NTP, to 1970. */
const NTP_EPOCH_S = 2_208_988_800;

/** Handles the packets of a source after werift has handled its first. */
type Route = (packet: RtpPacket) => void;

/** werift's DTLS socket. */
interface DtlsSocket {
  onData: (datagram: Buffer) => void;
}

/** werift's counters of a source, for its reports. */
interface Receiving {
  readonly remoteStreams: Readonly<Record<number, { add(packet: Counted): void } | undefined>>;
}
interface Counted {
  header: { sequenceNumber: number; timestamp: number; serializeSize: number };
  payload: Uint8Array;
}

/** werift's counters of sending, and the time of its next report. */
interface Sending {
  packetCount: number;
  octetCount: number;
  rtpTimestamp: number;
  ntpTimestamp: bigint;
  runRtcp(): Promise<void>;
}

type Keys = Readonly<Record<'localKey' | 'localSalt' | 'remoteKey' | 'remoteSalt', Uint8Array>>;

/**
 * Audio bypasses werift once DTLS has keys: parley's own SRTP and RTP take a fraction of the time. werift handles the
 * first packet of each source, and everything else: ICE, DTLS, the data channel, and RTCP reports, for which its
 * counters are updated.
 */
export class MediaPath {
  readonly #transport: RTCDtlsTransport;
  readonly #routes = new Map<number, Route>();
  #sender: SrtpSender | null = null;
  #receiver: SrtpReceiver | null = null;

  /** Create it before the connection is established. */
  constructor(transport: RTCDtlsTransport) {
    this.#transport = transport;
    (transport as unknown as { srtpProfiles: number[] }).srtpProfiles = [PROFILE];
    const startSrtp = transport.startSrtp.bind(transport);
    const { onData } = transport.iceTransport.connection;
    transport.startSrtp = () => {
      const { subscribe } = onData;
      // The one listener that this adds is werift's for media.
      onData.subscribe = (listener) =>
        subscribe((datagram) => {
          if (this.#receiver === null || !isRtp(datagram)) listener(datagram);
          else this.#open(this.#receiver, datagram);
        });
      try {
        startSrtp();
      } finally {
        onData.subscribe = subscribe;
      }
      this.#takeKeys();
    };
    const start = transport.start.bind(transport);
    transport.start = () => {
      const connected = start();
      this.#guardDtls();
      return connected;
    };
  }

  /** Sends all further packets of a source here. */
  route(ssrc: number, receiver: RTCRtpReceiver, onPacket: Route): void {
    const { remoteStreams } = receiver as unknown as Receiving;
    this.#routes.set(ssrc, (packet) => {
      const { sequence: sequenceNumber, timestamp, payload } = packet;
      remoteStreams[ssrc]?.add({ header: { sequenceNumber, timestamp, serializeSize: RTP_HEADER_BYTES }, payload });
      onPacket(packet);
    });
  }

  /** Sends a packet for a sender of this transport. Lost before there are keys. */
  send(sender: RTCRtpSender, packet: Omit<RtpPacket, 'ssrc' | 'payloadType'>): void {
    if (this.#sender === null || sender.codec === undefined) return;
    const { marker, sequence, timestamp, payload } = packet;
    const { ssrc, codec } = sender;
    const datagram = serialiseRtp({ payloadType: codec.payloadType, marker, sequence, timestamp, ssrc, payload });
    const sealed = this.#sender.protect(datagram);
    // A datagram that cannot be sent is lost.
    this.#transport.iceTransport.connection.send(buffer(sealed)).catch(() => undefined);
    const counts = sender as unknown as Sending;
    counts.packetCount = (counts.packetCount + 1) >>> 0;
    counts.octetCount += payload.length;
    counts.rtpTimestamp = timestamp;
    counts.ntpTimestamp = ntpNow();
    void counts.runRtcp();
  }

  #takeKeys(): void {
    const keys = this.#transport.dtls?.extractSessionKeys(KEY_BYTES, SALT_BYTES) as Keys;
    this.#sender = new SrtpSender({ suite: SUITE, key: keys.localKey, salt: keys.localSalt });
    this.#receiver = new SrtpReceiver({ suite: SUITE, key: keys.remoteKey, salt: keys.remoteSalt });
  }

  /**
   * Keeps datagrams from DTLS that would end the call. Before there are keys: a second cookie request, which comes if
   * the first step took long or was repeated on the way (RFC 6347, 4.2.4). Afterwards: unprotected records, which can
   * be forged from the other end's address (RFC 6347, 4.1.2.7; RFC 5246, 7.2). werift is always the DTLS client here.
   */
  #guardDtls(): void {
    const { dtls } = this.#transport as unknown as { dtls?: { transport: { socket: DtlsSocket } } };
    if (dtls === undefined) return;
    const { socket } = dtls.transport;
    const { onData } = socket;
    let hasCookie = false;
    socket.onData = (datagram) => {
      if (this.#receiver !== null) {
        if (!isForged(datagram)) onData(datagram);
        return;
      }
      const asksForCookie = datagram[0] === HANDSHAKE && datagram[DTLS_HEADER_BYTES] === HELLO_VERIFY_REQUEST;
      if (!(asksForCookie && hasCookie)) onData(datagram);
      hasCookie ||= asksForCookie;
    };
  }

  #open(receiver: SrtpReceiver, datagram: Buffer): void {
    const opened = receiver.open(datagram);
    const packet = opened === null ? null : parseRtp(opened);
    if (opened === null || packet === null) return;
    const route = this.#routes.get(packet.ssrc);
    if (route !== undefined) route(packet);
    else this.#sort(opened);
  }

  /** A new source. */
  #sort(opened: Uint8Array): void {
    let packet: WeriftPacket;
    try {
      packet = WeriftPacket.deSerialize(buffer(opened));
    } catch {
      return; // werift's parser is stricter
    }
    this.#transport.onRtp.execute(packet);
  }
}

/** Whether a datagram is RTP; others are RTCP, DTLS or STUN (RFC 7983, 7). */
function isRtp(datagram: Uint8Array): boolean {
  const first = datagram[0] ?? 0;
  return first >= 128 && first <= 191 && !isRtcp(datagram);
}

/** Whether it contains an unprotected record; a server's last flight starts with one, and may be repeated. */
function isForged(datagram: Buffer): boolean {
  for (let at = 0; at < datagram.length;) {
    if (at + DTLS_HEADER_BYTES > datagram.length) return true;
    const isProtected = datagram.readUInt16BE(at + 3) > 0;
    if (!isProtected && datagram[at] !== CHANGE_CIPHER_SPEC) return true;
    at += DTLS_HEADER_BYTES + datagram.readUInt16BE(at + 11);
  }
  return false;
}

function buffer({ buffer: memory, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(memory, byteOffset, byteLength);
}

/** Real time, 32 bits of seconds and 32 bits of their fraction. */
function ntpNow(): bigint {
  const ms = nowUnixMs();
  const seconds = Math.floor(ms / 1000);
  const fraction = Math.floor(((ms % 1000) / 1000) * 2 ** 32);
  return (BigInt(seconds + NTP_EPOCH_S) << 32n) | BigInt(fraction);
}
