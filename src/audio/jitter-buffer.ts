/** The fields of a media packet that order it in time (RFC 3550, 5.1). */
export interface MediaPacket {
  /** 16 bits. */
  sequence: number;
  /** 32 bits, in ticks of the media clock. */
  timestamp: number;
  /** Empty = the packet carries no sound (such as an RFC 4733 key); it counts as received. */
  payload: Uint8Array;
  /** The sender may now pause (Opus DTX, comfort noise). */
  silent?: boolean;
  /** First packet of another source, with unrelated sequence numbers and timestamps. */
  begins?: boolean;
}

/** The next piece of media to play. */
export type Arrival =
  | { kind: 'packet'; payload: Uint8Array }
  /** A lost packet. `following` may hold a copy of it (Opus FEC). */
  | { kind: 'lost'; ms: number; following: Uint8Array | null }
  | { kind: 'silence'; ms: number };

export interface JitterBufferOptions {
  /** Ticks a second of the media clock: 48 000 for Opus, 8000 for G.711. */
  clockRateHz: number;
  /** Packet length to assume until two consecutive packets show it. Default 20. */
  packetMs?: number;
  /** Maximum wait for a packet that others have overtaken. Default 200. */
  maxPatienceMs?: number;
}

export interface JitterStats {
  received: number;
  lost: number;
  /** Arrived after they had been declared lost. */
  late: number;
  duplicate: number;
  /** Arrived after a later packet, but in time. */
  reordered: number;
  /** Interarrival jitter (RFC 3550, 6.4.1). */
  jitterMs: number;
  /** Current wait for a missing packet. */
  patienceMs: number;
  /** Delay that inserted silence has added, because packets arrived late. */
  lagMs: number;
}

const MIN_PATIENCE_MS = 40;
/** The wait covers the lateness of this share of packets, plus the margin. */
const PATIENT_SHARE = 0.97;
const MARGIN_MS = 5;
/** Silence is inserted for an active sender only after this stall. */
const STALL_MS = 120;
/** A longer gap is a jump of the sender's sequence numbers, not a loss. */
const MAX_HOLE = 50;
/** A sequence number this far from the last one starts a new stream. */
const FAR_AWAY = 3_000;
/** Packets of a gap to conceal; the rest becomes silence. */
const MAX_CONCEALED = 5;
const MAX_WAITING = 256;
/** Histogram of lateness in bins of 5 ms, and its decay per packet. */
const BIN_MS = 5;
const BINS = 100;
const MEMORY = 0.996;
const MAX_WEIGHT = 1e9;
const NOTHING: readonly Arrival[] = [];
/** The minimum transit time rises by this per packet, to follow clock drift. */
const CREEP_MS = 0.02;

/**
 * Orders the packets of a stream for a consumer that needs no even pace: speech recognition, not playback. The next
 * packet in order passes at once. An overtaken packet is awaited for as long as packets of this stream are usually
 * late, then counts as lost. When the sender pauses or stalls, `poll` inserts silence to keep time; delayed packets
 * are still delivered, and `skipped` reduces the delay during silence. The caller passes in the time, in milliseconds
 * of any monotonic clock.
 */
export class JitterBuffer {
  readonly #clockRateHz: number;
  readonly #maxPatienceMs: number;
  readonly #waiting = new Map<number, MediaPacket & { startMs: number }>();
  /** Whether `#waiting` has packets. It rarely does, and this is cheaper than the map for each packet. */
  #isWaiting = false;
  readonly #late = new Float64Array(BINS);
  #weight = 1;
  /** Sum of `#late`. */
  #counted = 0;
  /** Sequence numbers declared lost, to tell late packets from duplicates. */
  readonly #givenUp = new Set<number>();
  #packetMs: number;
  #isBegun = false;
  /** Unwrapped sequence number and media time of the newest packet. */
  #newestSequence = 0;
  #newestTicks = 0;
  #next = 0;
  /** Media time delivered so far, including inserted silence. */
  #endMs = 0;
  #lagMs = 0;
  /** Arrival minus media time of the fastest packet. */
  #fastestMs = Number.POSITIVE_INFINITY;
  #transitMs: number | null = null;
  #isSilent = false;
  #stats = { received: 0, lost: 0, late: 0, duplicate: 0, reordered: 0, jitterMs: 0 };

  constructor({ clockRateHz, packetMs = 20, maxPatienceMs = 200 }: JitterBufferOptions) {
    this.#clockRateHz = clockRateHz;
    this.#packetMs = packetMs;
    this.#maxPatienceMs = maxPatienceMs;
  }

  get stats(): JitterStats {
    return { ...this.#stats, patienceMs: this.#patienceMs(), lagMs: this.#lagMs };
  }

  /** Delay that inserted silence has added. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** Takes a packet, and copies it if it has to wait. Returns what is ready. */
  push(packet: MediaPacket, nowMs: number): readonly Arrival[] {
    if (!this.#isBegun || packet.begins === true) this.#begin(packet.sequence, packet.timestamp);
    let sequence = this.#newestSequence + signed16(packet.sequence - this.#newestSequence);
    if (Math.abs(sequence - this.#newestSequence) > FAR_AWAY) {
      this.#begin(packet.sequence, packet.timestamp);
      sequence = packet.sequence;
    }
    const ticks = this.#newestTicks + signed32(packet.timestamp - this.#newestTicks);
    if (sequence > this.#newestSequence) this.#renew(sequence, ticks, packet.payload.length > 0);
    this.#stats.received++;
    const startMs = (ticks * 1000) / this.#clockRateHz;
    if (sequence < this.#next) {
      if (this.#givenUp.delete(sequence)) this.#stats.late++;
      else this.#stats.duplicate++;
      return NOTHING;
    }
    if (this.#isWaiting && this.#waiting.has(sequence)) {
      this.#stats.duplicate++;
      return NOTHING;
    }
    if (packet.payload.length > 0) this.#measure(nowMs - startMs);
    // The usual case: the packet is next and none is waiting.
    if (!this.#isWaiting && sequence === this.#next) return this.#deliver(packet, startMs);
    for (const other of this.#waiting.keys()) {
      if (other < sequence) continue;
      this.#stats.reordered++;
      break;
    }
    // Copied because the caller reuses its buffer.
    this.#waiting.set(sequence, { ...packet, payload: new Uint8Array(packet.payload), startMs });
    this.#isWaiting = true;
    if (this.#waiting.size > MAX_WAITING) return this.#giveUp(nowMs, true);
    return this.#release(nowMs);
  }

  /** Call about every 20 ms. Returns losses and silence that are due because time has passed. */
  poll(nowMs: number): readonly Arrival[] {
    if (!this.#isBegun) return NOTHING;
    const arrivals = this.#isWaiting ? this.#release(nowMs) : NOTHING;
    if (this.#isWaiting) return arrivals;
    const missingMs = nowMs - this.#fastestMs - this.#endMs;
    // The usual case: nothing is missing, for any patience.
    if (missingMs <= Math.min(MIN_PATIENCE_MS, this.#maxPatienceMs)) return arrivals;
    const patienceMs = this.#patienceMs();
    const allowedMs = this.#isSilent ? patienceMs : Math.max(patienceMs, STALL_MS);
    const packets = Math.floor((missingMs - allowedMs) / this.#packetMs);
    if (packets <= 0) return arrivals;
    const ms = packets * this.#packetMs;
    this.#endMs += ms;
    this.#lagMs += ms;
    return [...arrivals, { kind: 'silence', ms }];
  }

  /** The consumer skipped this much delivered silence. */
  skipped(ms: number): void {
    const caughtUpMs = Math.min(ms, this.#lagMs);
    this.#lagMs -= caughtUpMs;
    this.#endMs -= caughtUpMs;
  }

  /** Delivers packets in order; declares overdue ones lost. */
  #release(nowMs: number): Arrival[] {
    const arrivals: Arrival[] = [];
    for (;;) {
      const packet = this.#waiting.get(this.#next);
      if (packet !== undefined) {
        this.#waiting.delete(this.#next);
        this.#isWaiting = this.#waiting.size > 0;
        arrivals.push(...this.#deliver(packet, packet.startMs));
        continue;
      }
      if (!this.#isWaiting || !this.#isOverdue(nowMs)) return arrivals;
      arrivals.push(...this.#giveUp(nowMs, false));
    }
  }

  /** Delivers the next packet in order. */
  #deliver(packet: MediaPacket, startMs: number): Arrival[] {
    this.#next++;
    if (packet.payload.length === 0) {
      this.#isSilent ||= packet.silent ?? false;
      return [];
    }
    const arrival: Arrival = { kind: 'packet', payload: packet.payload };
    const gapMs = startMs - (this.#endMs - this.#lagMs);
    let restMs = 0;
    if (gapMs > this.#packetMs / 2) {
      // The sender paused. Silence that was inserted already counts; the rest is inserted now.
      const putInMs = Math.min(gapMs, this.#lagMs);
      this.#lagMs -= putInMs;
      restMs = Math.min(gapMs - putInMs, 1_000);
      this.#endMs = startMs + this.#lagMs;
    }
    this.#endMs += this.#packetMs;
    this.#isSilent = packet.silent ?? false;
    return restMs > 0 ? [silence(restMs), arrival] : [arrival];
  }

  /** Whether even a slow packet would have arrived by now. */
  #isOverdue(nowMs: number): boolean {
    const dueMs = this.#fastestMs + (this.#endMs - this.#lagMs) + this.#patienceMs();
    return nowMs >= dueMs;
  }

  /** Declares the packets before the first waiting one lost. */
  #giveUp(nowMs: number, all: boolean): Arrival[] {
    const first = Math.min(...this.#waiting.keys());
    const { payload: following, startMs } = this.#waiting.get(first) ?? { payload: null, startMs: this.#endMs };
    const count = first - this.#next;
    // The timestamps give their length.
    const eachMs = Math.min(Math.max(0, startMs - (this.#endMs - this.#lagMs)) / count, this.#packetMs * 6);
    const arrivals: Arrival[] = [];
    for (let n = 0; n < count; n++) {
      this.#remember(this.#next + n);
      this.#stats.lost++;
      // `#deliver` fills pauses of the sender and jumps of its sequence numbers.
      if (eachMs === 0 || this.#isSilent || count > MAX_HOLE) continue;
      if (this.#lagMs >= eachMs) {
        this.#lagMs -= eachMs; // silence was inserted for it already
        continue;
      }
      const isLast = n === count - 1;
      const isMadeUp = n < MAX_CONCEALED || isLast;
      arrivals.push(isMadeUp ? { kind: 'lost', ms: eachMs, following: isLast ? following : null } : silence(eachMs));
      this.#endMs += eachMs;
    }
    this.#next = first;
    return all ? [...arrivals, ...this.#release(nowMs)] : arrivals;
  }

  #remember(sequence: number): void {
    this.#givenUp.add(sequence);
    for (const old of this.#givenUp) {
      if (this.#givenUp.size <= MAX_WAITING) return;
      this.#givenUp.delete(old);
    }
  }

  /** Records the newest packet so far. */
  #renew(sequence: number, ticks: number, isSound: boolean): void {
    const isNext = sequence === this.#newestSequence + 1;
    this.#newestSequence = sequence;
    if (!isSound) return; // its timestamp may mark an event's start
    const lengthMs = ((ticks - this.#newestTicks) * 1000) / this.#clockRateHz;
    this.#newestTicks = ticks;
    // A pause of the sender does not show the packet length.
    if (isNext && !this.#isSilent && lengthMs >= 5 && lengthMs <= 60) this.#packetMs = lengthMs;
  }

  /** Starts over with the first packet of a stream. */
  #begin(sequence: number, timestamp: number): void {
    this.#isBegun = true;
    this.#waiting.clear();
    this.#isWaiting = false;
    this.#givenUp.clear();
    this.#late.fill(0);
    this.#weight = 1;
    this.#counted = 0;
    this.#newestSequence = sequence;
    this.#newestTicks = timestamp;
    this.#next = sequence;
    this.#endMs = (timestamp * 1000) / this.#clockRateHz;
    this.#lagMs = 0;
    this.#fastestMs = Number.POSITIVE_INFINITY;
    this.#transitMs = null;
    this.#isSilent = false;
  }

  #measure(transitMs: number): void {
    if (this.#transitMs !== null) {
      this.#stats.jitterMs += (Math.abs(transitMs - this.#transitMs) - this.#stats.jitterMs) / 16;
    }
    this.#transitMs = transitMs;
    this.#fastestMs = Math.min(transitMs, this.#fastestMs + CREEP_MS);
    const bin = Math.min(BINS - 1, Math.floor((transitMs - this.#fastestMs) / BIN_MS));
    // Raises the weight of new packets instead of decaying all counts.
    this.#weight /= MEMORY;
    this.#late[bin] = (this.#late[bin] ?? 0) + this.#weight;
    this.#counted += this.#weight;
    if (this.#weight < MAX_WEIGHT) return;
    for (let n = 0; n < BINS; n++) this.#late[n] = (this.#late[n] ?? 0) / this.#weight;
    this.#counted = this.#late.reduce((sum, count) => sum + count, 0);
    this.#weight = 1;
  }

  #patienceMs(): number {
    const most = this.#counted * PATIENT_SHARE;
    let bin = 0;
    let sum = 0;
    while (bin < BINS - 1 && (sum += this.#late[bin] ?? 0) < most) bin++;
    return Math.min(Math.max((bin + 1) * BIN_MS + MARGIN_MS, MIN_PATIENCE_MS), this.#maxPatienceMs);
  }
}

function silence(ms: number): Arrival {
  return { kind: 'silence', ms };
}

/** The shortest difference between two numbers that wrap at 16 bits. */
export function signed16(difference: number): number {
  return (difference << 16) >> 16;
}

/** The same at 32 bits. */
function signed32(difference: number): number {
  return difference | 0;
}
