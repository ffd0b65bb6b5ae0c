/** A media packet, as far as its order in time goes (RFC 3550, 5.1). */
export interface MediaPacket {
  /** 16 bits. */
  sequence: number;
  /** 32 bits, in ticks of the media clock. */
  timestamp: number;
  /** Empty: something else than sound has this place in the stream (RFC 4733: a key), and nothing is missing there. */
  payload: Uint8Array;
  /** The sender has gone silent with it: it may send nothing for a while (Opus DTX, comfort noise). */
  silent?: boolean;
  /** The first one of another source: its numbers have nothing to do with those before. */
  begins?: boolean;
}

/** What is to be heard next. */
export type Arrival =
  | { kind: 'packet'; payload: Uint8Array }
  /** It never came. `following` may hold a copy of it (Opus FEC). */
  | { kind: 'lost'; ms: number; following: Uint8Array | null }
  | { kind: 'silence'; ms: number };

export interface JitterBufferOptions {
  /** Ticks a second of the media clock: 48 000 for Opus, 8000 for G.711. */
  clockRateHz: number;
  /** Length of a packet until two in a row have shown it. Default 20. */
  packetMs?: number;
  /** The longest wait for a packet that others have overtaken. Default 200. */
  maxPatienceMs?: number;
}

export interface JitterStats {
  received: number;
  lost: number;
  /** Came when their place had been given up. */
  late: number;
  duplicate: number;
  /** Came behind a later one, in time. */
  reordered: number;
  /** Interarrival jitter (RFC 3550, 6.4.1). */
  jitterMs: number;
  /** How long a missing packet is waited for at present. */
  patienceMs: number;
  /** By how much what is delivered lies behind, because silence was put in where packets were held up. */
  lagMs: number;
}

const MIN_PATIENCE_MS = 40;
/** Beyond the lateness that this share of packets keeps within. */
const PATIENT_SHARE = 0.97;
const MARGIN_MS = 5;
/** A sender that has not gone silent may be held up so long before silence is put in its place. */
const STALL_MS = 120;
/** A hole of more packets than this is no loss: the sender went on elsewhere. */
const MAX_HOLE = 50;
/** A number that is so far from the last one is of a stream that has begun anew. */
const FAR_AWAY = 3_000;
/** Of a hole so many packets are made up; the rest is silence. */
const MAX_CONCEALED = 5;
const MAX_WAITING = 256;
/** Bins of 5 ms in which lateness is counted, and how much of the counts a packet leaves. */
const BIN_MS = 5;
const BINS = 100;
const MEMORY = 0.996;
const MAX_WEIGHT = 1e9;
const NOTHING: readonly Arrival[] = [];
/** The fastest way is forgotten by so much with each packet, so that clocks may drift apart. */
const CREEP_MS = 0.02;

/**
 * Puts the packets of a stream in order for somebody who listens as they come and is in no need of an even pace: speech
 * recognition, not an ear. A packet that is next goes through at once. One that others have overtaken is waited for as
 * long as packets of this stream are usually late; then it counts as lost. Where the sender is silent, or held up, `poll`
 * puts silence in, so that time goes on; what was held up is still delivered, and `skipped` catches up in the quiet.
 * Time is passed in, in milliseconds of any monotonic clock.
 */
export class JitterBuffer {
  readonly #clockRateHz: number;
  readonly #maxPatienceMs: number;
  readonly #waiting = new Map<number, MediaPacket & { startMs: number }>();
  /** Whether any do: they seldom do, and the map is one more thing to look at for each packet. */
  #isWaiting = false;
  readonly #late = new Float64Array(BINS);
  #weight = 1;
  /** All of them. */
  #counted = 0;
  /** Places that were given up, to tell late packets from duplicates. */
  readonly #givenUp = new Set<number>();
  #packetMs: number;
  /** Whether any packet has come. */
  #isBegun = false;
  /** Unwrapped sequence number and media time of the last packet that came. */
  #newestSequence = 0;
  #newestTicks = 0;
  #next = 0;
  /** Media time up to which all has been delivered, with what was put in. */
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

  /** By how much what is delivered lies behind. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** Takes a packet, of which it keeps a copy where it has to wait. Returns what can be heard now. */
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
    // Nearly always: it is next, and nobody waits.
    if (!this.#isWaiting && sequence === this.#next) return this.#deliver(packet, startMs);
    for (const other of this.#waiting.keys()) {
      if (other < sequence) continue;
      this.#stats.reordered++;
      break;
    }
    // It waits beyond this call: whatever it is a view of is used again.
    this.#waiting.set(sequence, { ...packet, payload: new Uint8Array(packet.payload), startMs });
    this.#isWaiting = true;
    if (this.#waiting.size > MAX_WAITING) return this.#giveUp(nowMs, true);
    return this.#release(nowMs);
  }

  /** To be called every 20 ms or so: what is given up, or put in, because time has passed. */
  poll(nowMs: number): readonly Arrival[] {
    if (!this.#isBegun) return NOTHING;
    const arrivals = this.#isWaiting ? this.#release(nowMs) : NOTHING;
    if (this.#isWaiting) return arrivals;
    const missingMs = nowMs - this.#fastestMs - this.#endMs;
    // Nearly always: nothing is missing, whatever this stream's patience is.
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

  /** The listener has left out so much of what was delivered, because it was quiet. */
  skipped(ms: number): void {
    const caughtUpMs = Math.min(ms, this.#lagMs);
    this.#lagMs -= caughtUpMs;
    this.#endMs -= caughtUpMs;
  }

  /** Delivers what is next, as long as there is something; places whose packet is overdue are given up. */
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

  /** The packet that is next. */
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
      // The sender was silent meanwhile. What was put in for it counts; what is missing still is put in now.
      const putInMs = Math.min(gapMs, this.#lagMs);
      this.#lagMs -= putInMs;
      restMs = Math.min(gapMs - putInMs, 1_000);
      this.#endMs = startMs + this.#lagMs;
    }
    this.#endMs += this.#packetMs;
    this.#isSilent = packet.silent ?? false;
    return restMs > 0 ? [silence(restMs), arrival] : [arrival];
  }

  /** When a packet as slow as most would have come. */
  #isOverdue(nowMs: number): boolean {
    const dueMs = this.#fastestMs + (this.#endMs - this.#lagMs) + this.#patienceMs();
    return nowMs >= dueMs;
  }

  /** Gives up the places before the first packet that waits. */
  #giveUp(nowMs: number, all: boolean): Arrival[] {
    const first = Math.min(...this.#waiting.keys());
    const { payload: following, startMs } = this.#waiting.get(first) ?? { payload: null, startMs: this.#endMs };
    const count = first - this.#next;
    // The sender's own clock tells how long they were.
    const eachMs = Math.min(Math.max(0, startMs - (this.#endMs - this.#lagMs)) / count, this.#packetMs * 6);
    const arrivals: Arrival[] = [];
    for (let n = 0; n < count; n++) {
      this.#remember(this.#next + n);
      this.#stats.lost++;
      // What a silent sender leaves open is for `#deliver` to fill, and so is a hole that is no loss.
      if (eachMs === 0 || this.#isSilent || count > MAX_HOLE) continue;
      if (this.#lagMs >= eachMs) {
        this.#lagMs -= eachMs; // silence stands in its place already
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

  /** A later packet than all before has come. */
  #renew(sequence: number, ticks: number, isSound: boolean): void {
    const isNext = sequence === this.#newestSequence + 1;
    this.#newestSequence = sequence;
    if (!isSound) return; // what its time means is its own affair
    const lengthMs = ((ticks - this.#newestTicks) * 1000) / this.#clockRateHz;
    this.#newestTicks = ticks;
    // A pause of the sender is no length of a packet.
    if (isNext && !this.#isSilent && lengthMs >= 5 && lengthMs <= 60) this.#packetMs = lengthMs;
  }

  /** The first packet, or one of a stream that goes on far away: what was before it is over. */
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
    // In place of making all that was counted lighter each packet counts for more than the one before.
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

/** A difference of numbers that wrap after 16 bits, as the nearest one. */
export function signed16(difference: number): number {
  return (difference << 16) >> 16;
}

/** After 32 bits. */
function signed32(difference: number): number {
  return difference | 0;
}
