import { randomBytes } from 'node:crypto';
import { FRAME_MS } from '../../audio/frame.js';
import type { Opus } from '../../audio/codecs/opus.js';
import type { SpecialInformation } from '../../audio/tones/special-information-tones.js';
import type { Cancel, Clock } from '../../base/clock.js';
import { Random } from '../../base/random.js';
import type { Ticker } from '../../base/ticker.js';
import { ParleyError } from '../../base/errors.js';
import type { LineStats, TransferOutcome, Transport, TransportSink } from '../transport.js';
import { type CodecName, CODECS } from './media-codec.js';
import { EarlyMedia, EarlyTones } from './early-media.js';
import type { Agreement } from './negotiation.js';
import type { PortPair } from './ports.js';
import { Receiver } from './receiver.js';
import { Sender } from './sender.js';
import type { ReportStats } from './rtcp.js';
import type { RtpTotals } from './totals.js';
import type { RtpPacket } from './packet.js';
import { type Unheard, Wire } from './wire.js';
import { LineInput } from '../line-input.js';

export interface RtpMediaOptions {
  clock: Clock;
  /** The 20 ms ticker of all calls of a thread. */
  ticker: Ticker;
  /** The codecs to negotiate; the first one's rate is the line's rate. */
  codecs: readonly CodecName[];
  /** How long another address than the negotiated one may prove to be the other side's; 0 = never. Default 10 s. */
  learnMs?: number;
  /**
   * The call is broken after this long without packets, although the other side should send. Default 60 s, 0 = never.
   */
  silentMs?: number;
  /** Transfers the call; becomes the line's `transfer`. If omitted, the line has none. */
  transfer?: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  listener?: RtpListener;
  /** Spreads the reports of calls that start together. Default: by chance. */
  random?: Pick<Random, 'int'>;
  /** Counts the call. */
  totals?: RtpTotals;
}

/** Events of the media for the call's signalling. None of these may throw. */
export interface RtpListener {
  /** The agent has closed the line: hang up, unless the other side was transferred. */
  lineClosed?(): void;
  /** The other side has put the call on hold, or resumed it. */
  held?(isHeld: boolean): void;
  /** No more packets arrive; the line has been notified. */
  lost?(error: Error): void;
  /** Special information tones were detected before the answer. Called once; if omitted, they are not detected. */
  announced?: ((what: SpecialInformation) => void) | undefined;
}

/** Statistics of a call's media, in addition to those of its line. */
export interface RtpStats extends LineStats, ReportStats, Unheard {
  /** Null before the negotiation. */
  codec: CodecName | null;
  roundTripMs: number | null;
  concealedMs: number;
  isSecure: boolean;
  /** Packets of types that were not negotiated. */
  unknownTypes: number;
  /** Packets that their codec could not decode. */
  undecodable: number;
  /** Packets before the answer that were not played. */
  early: number;
}

const LEARN_MS = 10_000;
const SILENT_MS = 60_000;
/** Like `silentMs`, after an RTCP BYE. */
const GONE_MS = 10_000;
/** Interval of checks. */
const WATCH_TICKS = 5;
/** Without frames for this long, silence is sent, so that the other side and NATs see traffic. */
const FILL_AFTER_MS = 5 * FRAME_MS;

/**
 * The media of one call over RTP: sockets, receiving and sending, as negotiated by its signalling. It is independent of
 * offers and answers, so it can run in another thread.
 */
export class RtpMedia implements LineEnds {
  readonly transfer: LineEnds['transfer'];
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #silentMs: number;
  readonly #listener: RtpListener | undefined;
  readonly #totals: RtpTotals | undefined;
  readonly #pair: PortPair;
  readonly #line: RtpLine;
  readonly #wire: Wire;
  readonly #receiver: Receiver;
  readonly #sender: Sender;
  readonly #stopWatching: Cancel;
  /** Null: frames arrive, or no one would hear them. */
  #stopFilling: Cancel | null = null;
  readonly #early = new EarlyMedia();
  /** Null after detection, or if not needed. */
  #earlyTones: EarlyTones | null;
  #agreement: Agreement | null = null;
  /** Time of the first negotiation. */
  #agreedMs: number | null = null;
  #isAnswered = false;
  #isHeld = false;
  #isLost = false;
  /** Due time of the last frame from the session. */
  #givenMs: number | null = null;
  /** From this time on packets are expected. */
  #awaitedMs: number;
  #closing: Promise<void> | null = null;

  /** @param opus loaded; required if Opus is among the codecs */
  constructor(options: RtpMediaOptions, pair: PortPair, opus: Opus | null) {
    const { clock, ticker, learnMs = LEARN_MS, codecs } = options;
    this.#clock = clock;
    this.#ticker = ticker;
    this.#silentMs = options.silentMs ?? SILENT_MS;
    this.#listener = options.listener;
    this.#totals = options.totals;
    this.#pair = pair;
    const rateHz = Math.max(...codecs.map((name) => CODECS[name].sampleRateHz));
    const random = randomBytes(10);
    const ssrc = random.readUInt32BE(0);
    this.transfer = options.transfer;
    this.#earlyTones = options.listener?.announced === undefined ? null : new EarlyTones(opus);
    this.#wire = new Wire({
      pair,
      learnMs,
      ssrc,
      clock,
      random: options.random ?? new Random(random.readUInt32BE(0)),
      listener: { packet: (packet, atMs) => this.#earlyPacket(packet, atMs) },
      sent: () => this.#sender.sentAt(clock.nowMs()),
      onExpectedLoss: (share) => this.#sender.expectLoss(share),
    });
    this.#sender = new Sender({
      rateHz,
      opus,
      ssrc,
      wire: this.#wire,
      sequence: random.readUInt16BE(4) & 0x7fff,
      timestamp: random.readUInt32BE(6),
    });
    this.#line = new RtpLine(rateHz, this);
    this.#receiver = new Receiver({ rateHz, opus, line: this.#line });
    this.#awaitedMs = clock.nowMs();
    this.#totals?.opened();
    this.#stopWatching = ticker.every(WATCH_TICKS).subscribe(() => this.#watch());
  }

  get line(): Transport {
    return this.#line;
  }

  /** Whether the other side has put the call on hold. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Applies the result of a negotiation, the first or a later one. */
  agree(agreement: Agreement): void {
    if (this.#closing !== null) return;
    this.#agreement = agreement;
    this.#sender.configure(agreement);
    this.#receiver.configure(agreement);
    this.#earlyTones?.configure(agreement);
    this.#wire.agree(agreement);
    this.#agreedMs ??= this.#clock.nowMs();
    this.#awaitedMs = this.#clock.nowMs();
    if (agreement.sends !== this.#isHeld) return;
    this.#isHeld = !agreement.sends;
    this.#listener?.held?.(this.#isHeld);
  }

  /** The call was answered: audio flows both ways from now on. */
  answered(): void {
    if (this.#isAnswered || this.#closing !== null) return;
    this.#isAnswered = true;
    const nowMs = this.#clock.nowMs();
    this.#awaitedMs = nowMs;
    this.#endEarlyTones();
    this.#wire.extendLearning();
    this.#wire.hearBy(this.#receiver);
    this.#fill();
    const isDescribed = this.#agreedMs !== null && nowMs - this.#agreedMs >= FRAME_MS;
    for (const { packet, atMs } of this.#early.answered(nowMs, isDescribed)) this.#receiver.packet(packet, atMs);
  }

  stats(): RtpStats {
    const agreement = this.#agreement;
    return {
      ...this.lineStats(),
      concealedMs: this.#receiver.concealedMs,
      ...this.#wire.reportStats,
      ...this.#wire.unheard,
      ...this.#receiver.junk,
      codec: agreement?.codec.facts.name ?? null,
      isSecure: agreement?.srtp != null,
      early: this.#early.packets,
    };
  }

  /** Ends the line and frees the ports. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopWatching();
    this.#stopFilling?.();
    this.#endEarlyTones();
    this.#wire.close(this.#isAnswered);
    this.#sender.close();
    this.#receiver.close();
    this.#line.end();
    this.#totals?.closed(this.stats());
    await this.#pair.close();
  }

  #earlyPacket(packet: RtpPacket, atMs: number): void {
    this.#early.packet(packet, atMs);
    const what = this.#earlyTones?.packet(packet) ?? null;
    if (what === null) return;
    this.#endEarlyTones();
    this.#listener?.announced?.(what);
  }

  #endEarlyTones(): void {
    this.#earlyTones?.close();
    this.#earlyTones = null;
  }

  /** The line's next 20 ms. */
  play(frame: Int16Array | null): void {
    if (!this.#isAnswered || this.#closing !== null) return;
    if (this.#stopFilling !== null) {
      this.#stopFilling();
      this.#stopFilling = null;
    }
    const frameMs = this.#frameMs;
    this.#givenMs = frameMs;
    this.#send(frame, frameMs);
  }

  /** Keys of the agent's, for the other side. */
  press(keys: string, signal: AbortSignal): Promise<void> {
    return this.#sender.press(keys, signal);
  }

  /** The agent has closed its side. */
  lineClosed(): void {
    this.#listener?.lineClosed?.();
  }

  #send(frame: Int16Array | null, frameMs: number): void {
    this.#sender.frame(frame, frameMs);
    // Received packets are processed at the pace of sent ones.
    this.#receiver.poll(this.#clock.nowMs());
  }

  /** Sends silence as long as no frames arrive. */
  #fill(): void {
    this.#stopFilling ??= this.#ticker.subscribe(() => {
      const frameMs = this.#frameMs;
      // If this thread was blocked, the frames of that time are sent now: silence among them would be one frame too
      // many.
      if (frameMs - (this.#givenMs ?? -Infinity) >= FILL_AFTER_MS) this.#send(null, frameMs);
    });
  }

  /**
   * Due time of the current frame, in whole milliseconds: late ticks that are caught up at once are not a gap in the
   * stream.
   */
  get #frameMs(): number {
    // V8 stores a fractional field separately, but a small integer in the object.
    return Math.round(this.#ticker.dueMs ?? this.#clock.nowMs());
  }

  /** Nothing is sent while it rings: some telephones stop ringing when audio arrives. */
  #watch(): void {
    if (!this.#isAnswered) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs - (this.#givenMs ?? -Infinity) >= FILL_AFTER_MS) this.#fill();
    this.#wire.tick(nowMs);
    this.#listen(nowMs);
  }

  /** Checks whether the other side is still there; reports count, too, if it is silent. */
  #listen(nowMs: number): void {
    const patienceMs = this.#silentMs;
    // Some send BYE when they change their source or transfer the call: the call has not ended yet.
    const limitMs = this.#wire.hasLeft ? Math.min(patienceMs, GONE_MS) : patienceMs;
    // On hold, the side that holds may send nothing at all.
    const agreement = this.#agreement;
    const isAwaited = agreement?.receives === true && agreement.sends;
    if (!isAwaited) this.#awaitedMs = nowMs;
    const silentMs = nowMs - Math.max(this.#awaitedMs, this.#wire.lastHeardMs);
    if (limitMs === 0 || this.#isLost || silentMs < limitMs) return;
    this.#isLost = true;
    const error = new ParleyError('LINE_LOST', { reason: `nothing came for ${String(limitMs / 1_000)} s` });
    this.#line.end(error);
    this.#listener?.lost?.(error);
  }

  lineStats(): LineStats {
    const { reportedLoss, roundTripMs } = this.#wire.reportStats;
    const codec = this.#agreement?.codec.facts.name ?? null;
    const { stats, concealedMs } = this.#receiver;
    return { ...stats, sent: this.#sender.sentAt(0).packets, reportedLoss, roundTripMs, codec, concealedMs };
  }
}

/** The call of the line. */
interface LineEnds {
  play(frame: Int16Array | null): void;
  press(keys: string, signal: AbortSignal): Promise<void>;
  lineStats(): LineStats;
  /** The agent's side has closed. */
  lineClosed(): void;
  readonly transfer?: ((target: string, signal: AbortSignal) => Promise<TransferOutcome>) | undefined;
}

/** The agent's end of a call over RTP. */
class RtpLine implements Transport {
  readonly name = 'rtp';
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly transfer?: (target: string, signal: AbortSignal) => Promise<TransferOutcome>;
  readonly #ends: LineEnds;
  readonly #input = new LineInput();

  constructor(rateHz: number, ends: LineEnds) {
    this.#ends = ends;
    this.inputRateHz = rateHz;
    this.outputRateHz = rateHz;
    if (ends.transfer !== undefined) this.transfer = ends.transfer;
  }

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null): void {
    if (!this.#input.isOver) this.#ends.play(frame);
  }

  send(): void {
    // A telephone has no display.
  }

  sendDigits(digits: string, signal: AbortSignal): Promise<void> {
    return this.#input.isOver ? Promise.reject(new Error('the call is over')) : this.#ends.press(digits, signal);
  }

  lineStats(): LineStats {
    return this.#ends.lineStats();
  }

  close(): Promise<void> {
    if (!this.#input.isOver) {
      this.end();
      this.#ends.lineClosed();
    }
    return Promise.resolve();
  }

  /** Audio of the other side; may be overwritten afterwards. */
  hear(samples: Int16Array): void {
    this.#input.audio(samples);
  }

  digits(keys: string): void {
    this.#input.digits(keys);
  }

  /** The call has ended. May be called twice. */
  end(error?: Error): void {
    this.#input.end(error);
  }
}
