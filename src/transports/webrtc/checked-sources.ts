import { createHmac, timingSafeEqual } from 'node:crypto';

/** Source of a datagram: address and port. */
type Source = readonly [string, number];
type Receive = (datagram: Buffer, source: Source) => void;

/** werift's candidate pair. */
interface Pair {
  readonly protocol: unknown;
  readonly remoteAddr: Source;
  /** Answers to parley's own checks of the pair; werift accepts only those that the other end has signed. */
  readonly responsesReceived: number;
}

/** werift's socket: local, or of a relay (TURN). */
type Protocol = { datagramReceived: Receive } | { handleStunMessage: Receive };

/** werift's ICE agent. */
interface Agreement {
  readonly candidatePairs: readonly Pair[];
  /** Local passwords of each round, by local user name. */
  readonly userHistory: Readonly<Record<string, string>>;
  ensureProtocol(protocol: Protocol): void;
}

const HEADER_BYTES = 20;
const ATTRIBUTE_HEADER_BYTES = 4;
const USERNAME = 0x0006;
const MESSAGE_INTEGRITY = 0x0008;
const SIGNATURE_BYTES = 20;
/** The bits of a message's type that are set in other classes than requests (RFC 8489, 5). */
const CLASS_BITS = 0x0110;
/** The first byte of DTLS, TURN channels and RTP is higher (RFC 7983, 7). */
const MAX_STUN_BYTE = 3;

const kept = new WeakSet<Agreement>();

/**
 * Keeps unauthenticated datagrams out of a connection. werift answers unsigned checks, changes its role because of
 * them, and passes everything to DTLS, where one datagram of an attacker can end a handshake or a call. With this
 * filter a check counts if it is signed with the local password (RFC 8445, 7.3; RFC 8489, 9.1.3), and other datagrams
 * count if they come from an address that answered a local check. Call it before candidates are gathered; calling it
 * again has no effect.
 */
export function keepStrangersOut(agreement: unknown): void {
  const ice = agreement as Agreement;
  if (kept.has(ice)) return;
  kept.add(ice);
  const ensureProtocol = ice.ensureProtocol.bind(ice);
  ice.ensureProtocol = (protocol) => {
    ensureProtocol(protocol);
    const sources = new CheckedSources(ice, protocol);
    if ('datagramReceived' in protocol) {
      const receive = protocol.datagramReceived.bind(protocol);
      protocol.datagramReceived = (datagram, source) => take(datagram, source, receive);
    } else {
      const receive = protocol.handleStunMessage;
      protocol.handleStunMessage = (datagram, source) => take(datagram, source, receive);
    }

    function take(datagram: Buffer, source: Source, receive: Receive): void {
      if ((datagram[0] ?? 0) > MAX_STUN_BYTE) {
        if (sources.has(source)) receive(datagram, source);
      } else if (datagram.length >= HEADER_BYTES) {
        const isRequest = (datagram.readUInt16BE(0) & CLASS_BITS) === 0;
        const message = isRequest ? signedPart(datagram, ice.userHistory) : datagram;
        if (message !== null) receive(message, source);
      }
    }
  };
}

/** Addresses that answered local checks, for one socket, including earlier rounds (ICE restart). */
class CheckedSources {
  readonly #ice: Agreement;
  readonly #protocol: Protocol;
  readonly #known: Source[] = [];

  constructor(ice: Agreement, protocol: Protocol) {
    this.#ice = ice;
    this.#protocol = protocol;
  }

  has(source: Source): boolean {
    if (this.#known.some((known) => isSame(known, source))) return true;
    const isChecked = this.#ice.candidatePairs.some(
      ({ protocol, remoteAddr, responsesReceived }) =>
        protocol === this.#protocol && responsesReceived > 0 && isSame(remoteAddr, source),
    );
    if (isChecked) this.#known.push(source);
    return isChecked;
  }
}

function isSame([address, port]: Source, [otherAddress, otherPort]: Source): boolean {
  return port === otherPort && address === otherAddress;
}

/**
 * A request without what follows its signature, which anyone may have added (RFC 8489, 14.5).
 * @param passwords by local user name
 * @returns null: it is not signed with the password of its user name
 */
function signedPart(request: Buffer, passwords: Readonly<Record<string, string>>): Buffer | null {
  let password: string | undefined;
  for (let at = HEADER_BYTES; at + ATTRIBUTE_HEADER_BYTES <= request.length;) {
    const type = request.readUInt16BE(at);
    const start = at + ATTRIBUTE_HEADER_BYTES;
    const end = start + request.readUInt16BE(at + 2);
    if (end > request.length) return null;
    if (type === USERNAME && password === undefined) {
      const [ours = ''] = request.toString('utf8', start, end).split(':');
      password = Object.hasOwn(passwords, ours) ? passwords[ours] : undefined;
    }
    if (type === MESSAGE_INTEGRITY) {
      if (password === undefined || end - start !== SIGNATURE_BYTES) return null;
      const signed = Buffer.from(request.subarray(0, end));
      signed.writeUInt16BE(end - HEADER_BYTES, 2);
      const signature = createHmac('sha1', password).update(signed.subarray(0, at)).digest();
      return timingSafeEqual(signature, signed.subarray(start, end)) ? signed : null;
    }
    at = Math.ceil(end / 4) * 4;
  }
  return null;
}
