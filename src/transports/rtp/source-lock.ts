/** Source or destination of packets. */
export interface MediaAddress {
  address: string;
  port: number;
}

export interface SourceLockOptions {
  /** The negotiated address. */
  expected: MediaAddress;
  /** How long another address may prove to be the other side behind NAT; 0 = not at all. */
  learnMs: number;
  nowMs: number;
}

/** Consecutive packets that prove it: from another host, and from another port of the negotiated host. */
const PROOF = 4;
const PROOF_OF_SAME_HOST = 2;
/**
 * For this long the address before a renegotiation is not a candidate: it continues to send until it learns of the
 * change, and a lost fork may play ringback until its CANCEL arrives.
 */
const FORMER_MS = 5_000;
/** Forks, and quick changes. */
const MOST_FORMER = 8;

/** An earlier negotiated address, and the actual source of its packets. */
interface Former {
  expected: MediaAddress;
  heard: MediaAddress;
  untilMs: number;
}

/**
 * Decides whose packets are accepted. The negotiated address wins as soon as it sends, permanently. Behind NAT the
 * other side sends from another address: for a short time after the negotiation, an address that sends several packets
 * in a row is accepted, if nothing has come from the negotiated one. Packets that SRTP authenticates are accepted at
 * once. After that only the negotiated address can take over: an attacker who finds the port can neither listen nor be
 * heard, and one who was faster than the caller loses the call again.
 */
export class SourceLock {
  #expected: MediaAddress;
  readonly #learnMs: number;
  #untilMs: number;
  #locked: MediaAddress | null = null;
  /** The caller's object for that address: compared first, before its contents. */
  #known: MediaAddress | null = null;
  #candidate: (MediaAddress & { ssrc: number; sequence: number; count: number }) | null = null;
  #former: Former[] = [];

  constructor(options: SourceLockOptions) {
    const { address, port } = options.expected;
    this.#expected = { address, port };
    this.#learnMs = options.learnMs;
    this.#untilMs = options.nowMs + options.learnMs;
  }

  /** Destination of packets. */
  get target(): MediaAddress {
    return this.#locked ?? this.#expected;
  }

  get isLocked(): boolean {
    return this.#locked !== null;
  }

  /** Restarts the learning time, if nothing has arrived yet. */
  extend(nowMs: number): void {
    this.#untilMs = nowMs + this.#learnMs;
  }

  /** Another address was negotiated. Packets from the previous one are ignored. */
  move({ address, port }: MediaAddress, nowMs: number): void {
    this.extend(nowMs);
    const expected = { address, port };
    if (isSame(expected, this.#expected)) return;
    const left = { expected: this.#expected, heard: this.target, untilMs: nowMs + FORMER_MS };
    // An address that returns, as after a hold, is recognised by its earlier source.
    this.#former = [...this.#former, left].filter((former) => !isSame(former.expected, expected)).slice(-MOST_FORMER);
    this.#expected = expected;
    this.#locked = null;
    this.#known = null;
    this.#candidate = null;
  }

  isTarget(place: MediaAddress): boolean {
    if (this.#locked === null) return isSame(place, this.#expected);
    if (place === this.#known) return true;
    if (!isSame(place, this.#locked)) return false;
    this.#known = place;
    return true;
  }

  /** Whether the address was negotiated. */
  isExpected(place: MediaAddress): boolean {
    return isSame(place, this.#expected);
  }

  /** Whether to accept the packet. `isVouchedFor`: it was authenticated. */
  accepts(
    from: MediaAddress,
    packet: { ssrc: number; sequence: number },
    nowMs: number,
    isVouchedFor = false,
  ): boolean {
    if (this.#locked !== null && this.isTarget(from)) return true;
    const expected = this.#expected;
    if (isSame(from, expected)) {
      this.#locked = expected;
      this.#known = null;
      return true;
    }
    if (this.#locked !== null || nowMs >= this.#untilMs || this.#isFormer(from, nowMs)) return false;
    const { ssrc, sequence } = packet;
    const last = this.#candidate;
    const goesOn = last !== null && isSame(from, last) && ssrc === last.ssrc && isNext(last.sequence, sequence);
    // Keeping the first candidate would let an attacker block the other side, so the latest one counts.
    const count = goesOn ? last.count + 1 : 1;
    this.#candidate = { address: from.address, port: from.port, ssrc, sequence, count };
    const proof = from.address === expected.address ? PROOF_OF_SAME_HOST : PROOF;
    if (count < proof && !isVouchedFor) return false;
    this.#locked = { address: from.address, port: from.port };
    return true;
  }

  #isFormer(place: MediaAddress, nowMs: number): boolean {
    return this.#former.some(
      ({ expected, heard, untilMs }) => nowMs < untilMs && (isSame(place, heard) || isSame(place, expected)),
    );
  }
}

function isSame(one: MediaAddress, other: MediaAddress): boolean {
  return one.port === other.port && one.address === other.address;
}

/** A small gap is allowed. */
function isNext(before: number, sequence: number): boolean {
  const step = (sequence - before) & 0xffff;
  return step > 0 && step <= 4;
}
