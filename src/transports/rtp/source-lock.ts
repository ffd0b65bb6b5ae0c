/** Where packets come from, or go to. */
export interface MediaAddress {
  address: string;
  port: number;
}

export interface SourceLockOptions {
  /** The place that was negotiated. */
  expected: MediaAddress;
  /** How long another place may prove to be the other side behind a translated address; 0 = not at all. */
  learnMs: number;
  nowMs: number;
}

/** Packets in a row that prove it: of another host, and of another port of the host that was negotiated. */
const PROOF = 4;
const PROOF_OF_SAME_HOST = 2;
/**
 * The place before a renegotiation is no candidate for so long: it goes on sending until it learns of the change, and
 * a fork that lost may play its ringback until its CANCEL arrives.
 */
const FORMER_MS = 5_000;
/** Forks, and changes in quick succession. */
const MOST_FORMER = 8;

/** A place that was negotiated before, and the one that its packets came from. */
interface Former {
  expected: MediaAddress;
  heard: MediaAddress;
  untilMs: number;
}

/**
 * Whose packets are heard. The negotiated place wins as soon as it is heard, and for good. Behind a NAT the other side
 * sends from elsewhere: for a short time after the negotiation, a place that sends some packets in a row is believed, as
 * long as nothing has come from the negotiated one; packets that SRTP authenticates are believed at once. After that
 * only the negotiated place can take over: a stranger who finds the port can neither listen in nor be heard, and one who
 * was quicker than the caller loses the call again.
 */
export class SourceLock {
  #expected: MediaAddress;
  readonly #learnMs: number;
  #untilMs: number;
  #locked: MediaAddress | null = null;
  /** The object by which the caller of `isTarget` knows that place: compared first, before its contents. */
  #known: MediaAddress | null = null;
  #candidate: (MediaAddress & { ssrc: number; sequence: number; count: number }) | null = null;
  #former: Former[] = [];

  constructor(options: SourceLockOptions) {
    const { address, port } = options.expected;
    this.#expected = { address, port };
    this.#learnMs = options.learnMs;
    this.#untilMs = options.nowMs + options.learnMs;
  }

  /** Where packets are to be sent. */
  get target(): MediaAddress {
    return this.#locked ?? this.#expected;
  }

  get isLocked(): boolean {
    return this.#locked !== null;
  }

  /** The time to learn begins again, where nothing has been heard yet. */
  extend(nowMs: number): void {
    this.#untilMs = nowMs + this.#learnMs;
  }

  /** Another place has been negotiated. The one before is not heard any more, whatever is still under way from it. */
  move({ address, port }: MediaAddress, nowMs: number): void {
    this.extend(nowMs);
    const expected = { address, port };
    if (isSame(expected, this.#expected)) return;
    const left = { expected: this.#expected, heard: this.target, untilMs: nowMs + FORMER_MS };
    // A place that comes back, as behind a hold, is known by what it sent from then.
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

  /** Whether that place was negotiated. */
  isExpected(place: MediaAddress): boolean {
    return isSame(place, this.#expected);
  }

  /** Whether the packet is to be heard. `isVouchedFor`: it was authenticated. */
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
    // One candidate at a time would let a stranger keep the other side out; the latest one is it.
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

/** A hole of a few is allowed. */
function isNext(before: number, sequence: number): boolean {
  const step = (sequence - before) & 0xffff;
  return step > 0 && step <= 4;
}
