import { Scratch } from '../../audio/dsp/scratch.js';
import type { Clock } from '../../base/clock.js';
import type { Random } from '../../base/random.js';
import { OVERTAKEN_MS } from './early-media.js';
import { ReportedLoss, Reports, type ReportStats, type SentSoFar } from './rtcp.js';
import { type Agreement, isNowhere } from './negotiation.js';
import { isRtcp, LONGEST_DATAGRAM_BYTES, parseRtp, RTP_HEADER_BYTES, type RtpPacket, serialiseRtp } from './packet.js';
import type { PortPair } from './ports.js';
import type { DatagramSocket } from './socket.js';
import { isSameKey, SrtpReceiver, SrtpSender } from './srtp.js';

export interface WireOptions {
  pair: PortPair;
  /** How long another address than the negotiated one may prove to be the other side's. */
  learnMs: number;
  clock: Clock;
  /** Spreads the reports. */
  random: Pick<Random, 'int'>;
  /** The source of sent audio. */
  ssrc: number;
  /** What was sent, for reports. */
  sent: () => SentSoFar;
  /** Gets received packets until `hearBy`. */
  listener: PacketListener;
  /** Expected packet loss, 0 to 1. */
  onExpectedLoss: (share: number) => void;
}

/** Receives packets. Their payload is overwritten afterwards. */
export interface PacketListener {
  packet(packet: RtpPacket, nowMs: number): void;
}

/** Ignored datagrams. */
export interface Unheard {
  /** From another address. */
  strangers: number;
  /** Not authenticated, or repeated. */
  forged: number;
  /** Neither RTP nor RTCP. */
  junk: number;
}

/** A packet until it is sent. */
const datagramOut = new Scratch(new Uint8Array(LONGEST_DATAGRAM_BYTES));
/** A second of packets. */
const MOST_OVERTAKEN = 64;

/** Between the sockets and the other side: source checks, encryption, and reports. */
export class Wire {
  readonly #rtp: DatagramSocket;
  readonly #rtcp: DatagramSocket;
  readonly #learnMs: number;
  readonly #ssrc: number;
  readonly #clock: Clock;
  readonly #sent: WireOptions['sent'];
  #listener: PacketListener;
  readonly #onExpectedLoss: WireOptions['onExpectedLoss'];
  readonly #reports: Reports;
  readonly #loss = new ReportedLoss();
  readonly #unheard: Unheard = { strangers: 0, forged: 0, junk: 0 };
  #agreement: Agreement | null = null;
  #lock: SourceLock | null = null;
  #sealer: SrtpSender | null = null;
  #opener: SrtpReceiver | null = null;
  /** Type and clock rate of the last packet. */
  #type: number | null = null;
  #clockRateHz: number | null = null;
  #lastHeardMs = -Infinity;
  #isOver = false;
  /** Datagrams from addresses that were not negotiated: audio may overtake its answer. */
  readonly #overtaken: { datagram: Uint8Array; from: MediaAddress; isRtcpPort: boolean; atMs: number }[] = [];

  constructor(options: WireOptions) {
    const { pair } = options;
    this.#rtp = pair.rtp;
    this.#rtcp = pair.rtcp;
    this.#learnMs = options.learnMs;
    this.#ssrc = options.ssrc;
    this.#clock = options.clock;
    this.#sent = options.sent;
    this.#listener = options.listener;
    this.#onExpectedLoss = options.onExpectedLoss;
    this.#reports = new Reports(options.clock.nowMs(), options.random);
    let from: MediaAddress = { address: '', port: 0 };
    pair.rtp.listen((datagram, address, port) => {
      // Usually the same address as before.
      if (port !== from.port || address !== from.address) from = { address, port };
      this.#onDatagram(datagram, from, false);
    });
    pair.rtcp.listen((datagram, address, port) => this.#onDatagram(datagram, { address, port }, true));
  }

  get unheard(): Unheard {
    return { ...this.#unheard };
  }

  get reportStats(): ReportStats {
    return this.#reports.stats;
  }

  /** Time of the last audio or report from the other side. */
  get lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  /** Whether the other side has sent RTCP BYE, and nothing since. */
  get hasLeft(): boolean {
    return this.#reports.hasLeft;
  }

  /** Destination of audio; null before the negotiation. */
  get target(): MediaAddress | null {
    return this.#lock?.target ?? null;
  }

  agree(agreement: Agreement): void {
    const nowMs = this.#clock.nowMs();
    // A hold without an address keeps the last one, if it is known.
    if (isNowhere(agreement.remote.address)) this.#lock?.extend(nowMs);
    else if (this.#lock !== null) this.#lock.move(agreement.remote, nowMs);
    else this.#lock = new SourceLock({ expected: agreement.remote, learnMs: this.#learnMs, nowMs });
    const keysBefore = this.#agreement?.srtp ?? null;
    const { srtp } = agreement;
    this.#agreement = agreement;
    this.#type = null;
    // Unchanged keys keep their counters (RFC 4568, 7.1.4).
    if (srtp === null) [this.#sealer, this.#opener] = [null, null];
    else {
      if (keysBefore === null || !isSameKey(keysBefore.send, srtp.send)) this.#sealer = new SrtpSender(srtp.send);
      if (keysBefore === null || !isSameKey(keysBefore.receive, srtp.receive))
        this.#opener = new SrtpReceiver(srtp.receive);
    }
    this.#hearOvertaken(nowMs);
  }

  /** Another listener receives packets from now on. */
  hearBy(listener: PacketListener): void {
    this.#listener = listener;
  }

  /** The other side may be behind NAT and start to send only now. */
  extendLearning(): void {
    this.#lock?.extend(this.#clock.nowMs());
  }

  send(packet: RtpPacket): void {
    if (this.#lock === null) return;
    const { address, port } = this.#lock.target;
    const length = RTP_HEADER_BYTES + packet.payload.length;
    const datagram = serialiseRtp(packet, datagramOut.of(length));
    this.#rtp.send(this.#sealer === null ? datagram : this.#sealer.protect(datagram), address, port);
  }

  /** Call about ten times a second. */
  tick(nowMs: number): void {
    if (this.#agreement === null || nowMs < this.#reports.nextMs) return;
    this.#sendReport(this.#reports.next(this.#sent(), nowMs));
  }

  /** May be called twice. @param saysGoodbye sends BYE, to a side that has received packets */
  close(saysGoodbye: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#agreement === null || !saysGoodbye) return;
    this.#sendReport(this.#reports.goodbye(this.#sent(), this.#clock.nowMs()));
  }

  #sendReport(report: Uint8Array): void {
    const [agreement, lock] = [this.#agreement, this.#lock];
    if (agreement === null || lock === null) return;
    const datagram = this.#sealer?.protectRtcp(report) ?? report;
    const [rtp, rtcp] = [this.#rtp, this.#rtcp];
    const { address, port } = lock.target;
    if (agreement.rtcpMux) rtp.send(datagram, address, port);
    else if (lock.isExpected(lock.target) && !isNowhere(agreement.remote.rtcpAddress)) {
      rtcp.send(datagram, agreement.remote.rtcpAddress, agreement.remote.rtcpPort);
    } else rtcp.send(datagram, address, port + 1);
  }

  #onDatagram(datagram: Uint8Array, from: MediaAddress, isRtcpPort: boolean, nowMs = this.#clock.nowMs()): void {
    const lock = this.#lock;
    if (this.#isOver) return;
    if (lock === null) {
      this.#keep(datagram, from, isRtcpPort, nowMs);
      return;
    }
    if (isRtcpPort || isRtcp(datagram)) this.#onReport(datagram, from, lock, nowMs);
    else this.#onRtp(datagram, from, lock, nowMs);
  }

  #onRtp(datagram: Uint8Array, from: MediaAddress, lock: SourceLock, nowMs: number): void {
    if (lock.isLocked && !lock.isTarget(from) && !lock.isExpected(from)) {
      this.#unheard.strangers++;
      this.#keep(datagram, from, false, nowMs);
      return;
    }
    const opened = this.#opener === null ? datagram : this.#opener.open(datagram);
    const packet = opened === null ? null : parseRtp(opened);
    if (packet === null) {
      this.#unheard[opened === null ? 'forged' : 'junk']++;
      return;
    }
    // parley's own packets come back: a loop (RFC 3550, 8.2).
    if (packet.ssrc === this.#ssrc || !lock.accepts(from, packet, nowMs, this.#opener !== null)) {
      this.#unheard.strangers++;
      return;
    }
    this.#lastHeardMs = nowMs;
    if (packet.payloadType !== this.#type) {
      this.#type = packet.payloadType;
      this.#clockRateHz = this.#agreement?.codecs.get(packet.payloadType)?.clockRateHz ?? null;
    }
    this.#reports.take(packet, this.#clockRateHz, nowMs);
    this.#listener.packet(packet, nowMs);
  }

  /** Only from the address negotiated now: earlier packets do not prove another one. */
  #hearOvertaken(nowMs: number): void {
    for (const { datagram, from, isRtcpPort, atMs } of this.#overtaken.splice(0)) {
      const isTheirs = isRtcpPort || this.#lock?.isExpected(from) === true;
      if (isTheirs && nowMs - atMs <= OVERTAKEN_MS) this.#onDatagram(datagram, from, isRtcpPort, atMs);
    }
  }

  #keep(datagram: Uint8Array, from: MediaAddress, isRtcpPort: boolean, atMs: number): void {
    this.#overtaken.push({ datagram: new Uint8Array(datagram), from, isRtcpPort, atMs });
    if (this.#overtaken.length > MOST_OVERTAKEN) this.#overtaken.shift();
  }

  #onReport(datagram: Uint8Array, from: MediaAddress, lock: SourceLock, nowMs: number): void {
    const isTheirs = from.address === lock.target.address || from.address === this.#agreement?.remote.rtcpAddress;
    if (!isTheirs) {
      this.#unheard.strangers++;
      return;
    }
    const opened = this.#opener === null ? datagram : this.#opener.open(datagram);
    if (opened === null) {
      this.#unheard.forged++;
      return;
    }
    const before = this.#reports.stats;
    if (!this.#reports.read(opened, this.#ssrc, nowMs)) {
      this.#unheard.junk++;
      return;
    }
    this.#lastHeardMs = nowMs;
    const { stats } = this.#reports;
    const expected = stats === before || stats.reportedLoss === null ? null : this.#loss.take(stats.reportedLoss);
    if (expected !== null) this.#onExpectedLoss(expected);
  }
}

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
