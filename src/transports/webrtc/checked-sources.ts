import { createHmac, timingSafeEqual } from 'node:crypto';

/** Where a datagram comes from: address and port. */
type Source = readonly [string, number];
type Receive = (datagram: Buffer, source: Source) => void;

/** A way to the other end, as werift has it. */
interface Pair {
  readonly protocol: unknown;
  readonly remoteAddr: Source;
  /** Answers to our own checks of the way; werift takes only those that the other end has signed. */
  readonly responsesReceived: number;
}

/** A socket of ours, as werift has it: of this machine, or of a relay (TURN). */
type Protocol = { datagramReceived: Receive } | { handleStunMessage: Receive };

/** What agrees upon ways (ICE), as werift has it. */
interface Agreement {
  readonly candidatePairs: readonly Pair[];
  /** Our passwords, one of each round, by our user names. */
  readonly userHistory: Readonly<Record<string, string>>;
  ensureProtocol(protocol: Protocol): void;
}

const HEADER_BYTES = 20;
const ATTRIBUTE_HEADER_BYTES = 4;
const USERNAME = 0x0006;
const MESSAGE_INTEGRITY = 0x0008;
const SIGNATURE_BYTES = 20;
/** The bits of a message's type that make it something else than a request (RFC 8489, 5). */
const CLASS_BITS = 0x0110;
/** The first byte of DTLS, TURN channels and RTP is higher (RFC 7983, 7). */
const MAX_STUN_BYTE = 3;

const kept = new WeakSet<Agreement>();

/**
 * Keeps strangers out of a connection. werift answers checks that nobody has signed, changes its role because of them, and
 * hands whatever comes to DTLS, where one datagram of a stranger is enough to end a handshake or a call. Here a check
 * counts if it is signed with our password (RFC 8445, 7.3; RFC 8489, 9.1.3), and anything but a check if it comes from
 * where our own check was answered. To be called before candidates are gathered; again changes nothing.
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

/** Where our checks have been answered from, at one of our sockets. Also those of earlier rounds (ICE restart). */
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
 * @param passwords by our user names
 * @returns null: it is not signed with the password of the user name in it
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
