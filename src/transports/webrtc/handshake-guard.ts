import { createHash, createHmac, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
import type { RTCDtlsTransport } from 'werift';

/** werift's handshake message (RFC 6347, 4.3.2), reassembled from its fragments. */
interface HandshakeMessage {
  readonly msg_type: number;
  /** Numbers the messages of one end; a repetition has the same number. */
  readonly message_seq: number;
  readonly fragment: Buffer;
  serialize(): Buffer;
}

/** werift's DTLS endpoint. */
interface DtlsEnd {
  readonly sessionType: number;
  /** Messages sent and received so far, the first of each type, in the order of RFC 5246, 7.3. */
  readonly dtls: {
    readonly sortedHandshakeCache: readonly HandshakeMessage[];
    /** The last flight sent (RFC 6347, 4.2.4), which is repeated until a later one. */
    flight: number;
  };
  readonly cipher: {
    readonly masterSecret?: Buffer;
    readonly remoteCertificate?: Buffer;
    readonly remoteKeyPair?: { readonly publicKey?: Buffer };
  };
  onHandleHandshakes: (messages: readonly HandshakeMessage[]) => Promise<void>;
}

/** `DtlsEnd.sessionType` of a server. */
const SERVER = 2;

const CLIENT_HELLO = 1;
const SERVER_HELLO = 2;
const HELLO_VERIFY_REQUEST = 3;
const CERTIFICATE = 11;
const SERVER_KEY_EXCHANGE = 12;
const CERTIFICATE_REQUEST = 13;
const SERVER_HELLO_DONE = 14;
const CERTIFICATE_VERIFY = 15;
const CLIENT_KEY_EXCHANGE = 16;
const FINISHED = 20;

/** Messages of the other end, by local role. Others are dropped, such as a request for another handshake. */
const FROM_SERVER = [
  HELLO_VERIFY_REQUEST,
  SERVER_HELLO,
  CERTIFICATE,
  SERVER_KEY_EXCHANGE,
  CERTIFICATE_REQUEST,
  SERVER_HELLO_DONE,
  FINISHED,
];
const FROM_CLIENT = [CLIENT_HELLO, CERTIFICATE, CLIENT_KEY_EXCHANGE, CERTIFICATE_VERIFY, FINISHED];
/** Without these a Finished proves nothing. */
const NEEDED_OF_SERVER = [CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, SERVER_KEY_EXCHANGE, CLIENT_KEY_EXCHANGE, FINISHED];
const NEEDED_OF_CLIENT = [CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, CLIENT_KEY_EXCHANGE, CERTIFICATE_VERIFY];
/** A repetition of these makes the answering flight repeat (RFC 6347, 4.2.4). */
const ASKS_AGAIN = [CLIENT_HELLO, SERVER_HELLO_DONE, FINISHED];

/** Higher than any flight. */
const NO_FLIGHT = 99;
/** How far messages may be ahead of order: more than one end of a handshake sends. */
const MAX_HELD = 8;

const RANDOM_BYTES = 32;
const VERSION_BYTES = 2;
const VERIFY_DATA_BYTES = 12;
/** A named curve (RFC 8422, 5.4). */
const NAMED_CURVE = 3;
/** Hash and signature algorithm (RFC 5246, 7.4.1.4.1) that werift offers, with their type of key. */
const SHA256 = 4;
const KEY_TYPES: Readonly<Record<number, string>> = { 1: 'rsa', 3: 'ec' };

/**
 * Verifies the other end of a DTLS handshake, which werift does not do: that the certificate's key has signed (RFC
 * 5246, 7.4.3 and 7.4.8), and that both ends have seen the same handshake (Finished, 7.4.9). werift itself compares the
 * certificate's fingerprint with the SDP. If the verification fails, `onHandleHandshakes` rejects.
 *
 * Messages reach werift in order (RFC 6347, 4.2.2) and once per type: werift would also accept out-of-order messages,
 * and second ones of a type, which are not in the transcript.
 */
export class HandshakeGuard {
  /** Early messages, by number. */
  readonly #held = new Map<number, HandshakeMessage>();
  /** Accepted messages, by number. */
  readonly #taken = new Map<number, Buffer>();
  readonly #types = new Set<number>();
  /** The next number; null = before the other end's hello. */
  #next: number | null = null;
  #end: DtlsEnd | null = null;
  #isProven = false;

  /**
   * Create it before the connection is established.
   * @param onRefused called once, with the reason, if the verification fails
   */
  constructor(transport: RTCDtlsTransport, onRefused: (reason: string) => void) {
    const start = transport.start.bind(transport);
    transport.start = () => {
      const connected = start();
      const { dtls } = transport as unknown as { dtls?: DtlsEnd };
      if (dtls !== undefined) this.#guard(dtls, onRefused);
      return connected;
    };
  }

  /** Whether the other end is verified. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Stops werift's repetitions, which last half a minute even after the connection closes. May be called twice. */
  close(): void {
    if (this.#end !== null) this.#end.dtls.flight = NO_FLIGHT;
  }

  #guard(end: DtlsEnd, onRefused: (reason: string) => void): void {
    this.#end = end;
    const handle = end.onHandleHandshakes;
    end.onHandleHandshakes = async (messages) => {
      const handled: Promise<void>[] = [];
      for (const message of messages.flatMap((each) => this.#inOrder(end, each))) {
        const reason = message.msg_type === FINISHED && !this.#isProven ? refusal(end, message.fragment) : null;
        if (reason !== null) {
          this.close();
          onRefused(reason);
          handled.push(Promise.reject(new Error(reason)));
          break;
        }
        this.#isProven ||= message.msg_type === FINISHED;
        handled.push(handle([message]));
      }
      await Promise.all(handled);
    };
  }

  /** Messages to handle now: this one, and those that waited for it, or none. */
  #inOrder(end: DtlsEnd, message: HandshakeMessage): HandshakeMessage[] {
    const { msg_type: type, message_seq: number } = message;
    if (!(isServer(end) ? FROM_CLIENT : FROM_SERVER).includes(type)) return [];
    // A cookie request, and the hello before it, are not part of the handshake (RFC 6347, 4.2.1).
    const isBefore = type === HELLO_VERIFY_REQUEST || (type === CLIENT_HELLO && !hasCookie(message.fragment));
    if (isBefore) return this.#next === null ? [message] : [];
    const first = this.#taken.get(number);
    if (first !== undefined) return ASKS_AGAIN.includes(type) && first.equals(message.serialize()) ? [message] : [];
    if (this.#next === null && (type === CLIENT_HELLO || type === SERVER_HELLO)) this.#next = number;
    const isNear = number < (this.#next ?? 0) + MAX_HELD;
    if (isNear && !this.#held.has(number)) this.#held.set(number, message);
    return this.#release();
  }

  #release(): HandshakeMessage[] {
    const released: HandshakeMessage[] = [];
    while (this.#next !== null && !this.#isProven) {
      const message = this.#held.get(this.#next);
      if (message === undefined || this.#types.has(message.msg_type)) break;
      this.#held.delete(this.#next);
      this.#taken.set(this.#next, message.serialize());
      this.#types.add(message.msg_type);
      this.#next++;
      released.push(message);
    }
    return released;
  }
}

const isServer = (end: DtlsEnd): boolean => end.sessionType === SERVER;

/** Why the handshake proves nothing; null = it does. The other end's Finished is not in the transcript yet. */
function refusal(end: DtlsEnd, verifyData: Buffer): string | null {
  try {
    return refusalOf(end, end.dtls.sortedHandshakeCache, verifyData);
  } catch {
    return 'it cannot be read';
  }
}

function refusalOf(end: DtlsEnd, transcript: readonly HandshakeMessage[], verifyData: Buffer): string | null {
  const types = transcript.map(({ msg_type: type }) => type);
  const needed = isServer(end) ? NEEDED_OF_CLIENT : NEEDED_OF_SERVER;
  const { masterSecret } = end.cipher;
  if (masterSecret === undefined || needed.some((type) => !types.includes(type))) return 'it lacks messages';
  const certificate = certificateOf(end);
  if (certificate === null) return 'its certificate was exchanged for another one';
  if (!isAgreedKey(end)) return 'its key was exchanged for another one';
  const isSigned = isServer(end) ? signsTranscript(transcript, certificate) : signsKey(transcript, certificate);
  if (!isSigned) return 'it is not signed with the key of its certificate';
  const label = isServer(end) ? 'client finished' : 'server finished';
  const seed = Buffer.concat([Buffer.from(label), createHash('sha256').update(bytesOf(transcript)).digest()]);
  const expected = pseudoRandom(masterSecret, seed, VERIFY_DATA_BYTES);
  const isSame = verifyData.length === VERIFY_DATA_BYTES && timingSafeEqual(verifyData, expected);
  return isSame ? null : 'it was changed on its way';
}

/** The other end's certificate, if it is the one in the transcript whose fingerprint werift compares. */
function certificateOf(end: DtlsEnd): X509Certificate | null {
  const used = end.cipher.remoteCertificate;
  const bodies = end.dtls.sortedHandshakeCache.filter(({ msg_type: type }) => type === CERTIFICATE);
  // A client sends its certificate after the server's.
  const body = bodies[isServer(end) ? 1 : 0]?.fragment;
  if (body === undefined || used === undefined) return null;
  // Lengths of the list and of its first entry, three bytes each (RFC 5246, 7.4.2).
  const first = body.subarray(6, 6 + body.readUIntBE(3, 3));
  return first.equals(used) ? new X509Certificate(first) : null;
}

/** Whether the secrets come from the key in the transcript. */
function isAgreedKey(end: DtlsEnd): boolean {
  const used = end.cipher.remoteKeyPair?.publicKey;
  const body = find(end.dtls.sortedHandshakeCache, isServer(end) ? CLIENT_KEY_EXCHANGE : SERVER_KEY_EXCHANGE);
  const key = isServer(end) ? body.subarray(1, 1 + body.readUInt8(0)) : keyParameters(body).subarray(4);
  return used !== undefined && key.equals(used);
}

/** A server has signed its key for the secrets, and both random numbers (RFC 8422, 5.4). */
function signsKey(transcript: readonly HandshakeMessage[], certificate: X509Certificate): boolean {
  const body = find(transcript, SERVER_KEY_EXCHANGE);
  const parameters = keyParameters(body);
  const random = (type: number): Buffer => find(transcript, type).subarray(VERSION_BYTES, VERSION_BYTES + RANDOM_BYTES);
  const signed = Buffer.concat([random(CLIENT_HELLO), random(SERVER_HELLO), parameters]);
  return isSignature(body.subarray(parameters.length), signed, certificate);
}

/** A client has signed all earlier messages (RFC 5246, 7.4.8). */
function signsTranscript(transcript: readonly HandshakeMessage[], certificate: X509Certificate): boolean {
  const at = transcript.findIndex(({ msg_type: type }) => type === CERTIFICATE_VERIFY);
  return isSignature(find(transcript, CERTIFICATE_VERIFY), bytesOf(transcript.slice(0, at)), certificate);
}

/** @param body hash and signature algorithm, the length in two bytes, the signature (RFC 5246, 4.7) */
function isSignature(body: Buffer, signed: Buffer, { publicKey }: X509Certificate): boolean {
  const [hash, algorithm] = [body.readUInt8(0), body.readUInt8(1)];
  if (hash !== SHA256 || publicKey.asymmetricKeyType !== KEY_TYPES[algorithm]) return false;
  const signature = body.subarray(4);
  return signature.length === body.readUInt16BE(2) && verify('sha256', signed, publicKey, signature);
}

/** Curve and public key of a ServerKeyExchange: type, curve in two bytes, length, key. */
function keyParameters(body: Buffer): Buffer {
  if (body.readUInt8(0) !== NAMED_CURVE) throw new RangeError('not a named curve');
  return body.subarray(0, 4 + body.readUInt8(3));
}

function find(transcript: readonly HandshakeMessage[], type: number): Buffer {
  const message = transcript.find((each) => each.msg_type === type);
  if (message === undefined) throw new RangeError(`no message of type ${String(type)}`);
  return message.fragment;
}

function bytesOf(messages: readonly HandshakeMessage[]): Buffer {
  return Buffer.concat(messages.map((message) => message.serialize()));
}

/** Version, random number, session id, cookie (RFC 6347, 4.2.1). */
function hasCookie(hello: Buffer): boolean {
  const sessionAt = VERSION_BYTES + RANDOM_BYTES;
  const cookieAt = sessionAt + 1 + hello.readUInt8(sessionAt);
  return hello.readUInt8(cookieAt) > 0;
}

/** P_SHA256 (RFC 5246, 5), which all suites that werift offers use. */
function pseudoRandom(secret: Buffer, seed: Buffer, length: number): Buffer {
  const hmac = (data: Buffer): Buffer => createHmac('sha256', secret).update(data).digest();
  let chain = hmac(seed);
  let out = hmac(Buffer.concat([chain, seed]));
  while (out.length < length) {
    chain = hmac(chain);
    out = Buffer.concat([out, hmac(Buffer.concat([chain, seed]))]);
  }
  return out.subarray(0, length);
}
