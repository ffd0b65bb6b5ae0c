/** Where packets come from, or go to. */
export interface Place {
  address: string;
  port: number;
}

export interface SourceLockOptions {
  /** The place that was negotiated. */
  expected: Place;
  /** How long another place may prove to be the other side behind a translated address; 0 = not at all. */
  learnMs: number;
  nowMs: number;
}

/** Packets in a row that prove it: of another host, and of another port of the host that was negotiated. */
const PROOF = 4;
const PROOF_OF_SAME_HOST = 2;

/**
 * Whose packets are heard. The place that was negotiated is believed at once and for good. Behind a NAT the other side
 * sends from elsewhere: within a short time after the negotiation, a place that sends some packets in a row is believed,
 * as long as nothing has come from the one that was negotiated; packets that a key of SRTP vouches for are believed at once.
 * After that nobody else is heard, and nothing is sent to anybody else: a stranger who finds the port can neither
 * listen in nor be heard.
 */
export class SourceLock {
  readonly #expected: Place;
  readonly #learnMs: number;
  #untilMs: number;
  #locked: Place | null = null;
  /** The object by which that place is known to whoever asks: compared first, before what is in it. */
  #known: Place | null = null;
  #candidate: (Place & { ssrc: number; sequence: number; count: number }) | null = null;

  constructor(options: SourceLockOptions) {
    const { address, port } = options.expected;
    this.#expected = { address, port };
    this.#learnMs = options.learnMs;
    this.#untilMs = options.nowMs + options.learnMs;
  }

  /** Where packets are to be sent. */
  get target(): Place {
    return this.#locked ?? this.#expected;
  }

  get isLocked(): boolean {
    return this.#locked !== null;
  }

  /** The time to learn begins again, where nothing has been heard yet. */
  extend(nowMs: number): void {
    this.#untilMs = nowMs + this.#learnMs;
  }

  isTarget(place: Place): boolean {
    if (this.#locked === null) return isSame(place, this.#expected);
    if (place === this.#known) return true;
    if (!isSame(place, this.#locked)) return false;
    this.#known = place;
    return true;
  }

  /** Whether that place was negotiated. */
  isExpected(place: Place): boolean {
    return isSame(place, this.#expected);
  }

  /** Whether the packet is to be heard. `isVouchedFor`: it was authenticated. */
  accepts(from: Place, packet: { ssrc: number; sequence: number }, nowMs: number, isVouchedFor = false): boolean {
    if (this.#locked !== null) return this.isTarget(from);
    const expected = this.#expected;
    if (isSame(from, expected)) {
      this.#locked = expected;
      return true;
    }
    if (nowMs >= this.#untilMs) return false;
    const { ssrc, sequence } = packet;
    const last = this.#candidate;
    const goesOn = last !== null && isSame(from, last) && ssrc === last.ssrc && isNext(last.sequence, sequence);
    // One candidate at a time would let a stranger keep the other side out; the latest one is it.
    const count = goesOn ? last.count + 1 : 1;
    this.#candidate = { address: from.address, port: from.port, ssrc, sequence, count };
    const proof = from.address === expected.address ? PROOF_OF_SAME_HOST : PROOF;
    if (count < proof && !isVouchedFor) return false;
    this.#locked = { address: from.address, port: from.port };
    return true;
  }
}

function isSame(one: Place, other: Place): boolean {
  return one.port === other.port && one.address === other.address;
}

/** A hole of a few is allowed. */
function isNext(before: number, sequence: number): boolean {
  const step = (sequence - before) & 0xffff;
  return step > 0 && step <= 4;
}
