import type { JitterStats } from '../../audio/jitter-buffer.js';
import type { Opus } from '../../audio/codecs/opus.js';
import { type InboundListener, InboundStream } from './inbound-stream.js';
import { TelephoneEvents } from './telephone-event.js';
import { type CodecFacts, COMFORT_NOISE_TYPE, mediaDecoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';
import type { RtpPacket } from './packet.js';

export interface ReceiverOptions {
  /** Rate of the output. */
  rateHz: number;
  /** Loaded, if it may be negotiated. */
  opus: Opus | null;
  line: ReceivingLine;
}

/** Gets the audio and the keys. */
export interface ReceivingLine extends InboundListener {
  digits(key: string): void;
}

const NO_SOUND = new Uint8Array();
/** Number of consecutive packets after which another codec is accepted. */
const SWITCH_AFTER = 2;
/**
 * Audio within this time after a key's packet is not the user's: gateways that send keys as events let part of the tone
 * through, which would be a second key.
 */
const KEY_SOUNDS_MS = 120;
type Counts = Pick<JitterStats, 'received' | 'lost' | 'late' | 'duplicate' | 'reordered'> &
  Pick<InboundStream, 'undecodable' | 'concealedMs'>;

/** Turns received packets into audio and keys. */
export class Receiver {
  readonly #rateHz: number;
  readonly #opus: Opus | null;
  readonly #line: ReceivingLine;
  readonly #keys = new TelephoneEvents();
  #agreement: Agreement | null = null;
  /** Type and codec of the current packets, to avoid looking them up each time. */
  #type: number | null = null;
  #facts: CodecFacts | null = null;
  /** The current stream and its codec. */
  #stream: InboundStream | null = null;
  #codec: CodecFacts | null = null;
  #others = 0;
  #ssrc: number | null = null;
  #unknown = 0;
  #keySoundsUntilMs = -Infinity;
  /** Final values of the last stream. */
  #closed: Pick<JitterStats, 'jitterMs' | 'patienceMs'> = { jitterMs: 0, patienceMs: 0 };
  /** Counts of past streams. */
  #before: Counts = { received: 0, lost: 0, late: 0, duplicate: 0, reordered: 0, undecodable: 0, concealedMs: 0 };

  constructor(options: ReceiverOptions) {
    this.#rateHz = options.rateHz;
    this.#opus = options.opus;
    this.#line = options.line;
  }

  /** For the whole call; jitter and patience are current. */
  get stats(): Omit<JitterStats, 'lagMs'> {
    const { received, lost, late, duplicate, reordered } = this.#counts();
    const { jitterMs, patienceMs } = this.#stream?.stats ?? this.#closed;
    return { received, lost, late, duplicate, reordered, jitterMs, patienceMs };
  }

  /** Duration of concealed audio. */
  get concealedMs(): number {
    return this.#before.concealedMs + (this.#stream?.concealedMs ?? 0);
  }

  /** Undecodable packets, and packets of types that were not negotiated. */
  get junk(): { undecodable: number; unknownTypes: number } {
    return { undecodable: this.#before.undecodable + (this.#stream?.undecodable ?? 0), unknownTypes: this.#unknown };
  }

  configure(agreement: Agreement): void {
    this.#agreement = agreement;
    this.#type = null;
  }

  packet(packet: RtpPacket, nowMs: number): void {
    const { payloadType, sequence, timestamp, payload } = packet;
    const begins = this.#ssrc !== null && packet.ssrc !== this.#ssrc;
    if (payloadType === this.#type && this.#facts !== null) {
      this.#sound(packet, this.#facts, begins, nowMs);
      return;
    }
    if (this.#agreement?.receives !== true) return;
    if (this.#agreement.eventTypes.has(payloadType)) {
      this.#keySoundsUntilMs = nowMs + KEY_SOUNDS_MS;
      if (this.#stream !== null) this.#stream.mutedUntilMs = this.#keySoundsUntilMs;
      const key = this.#keys.read(payload, timestamp);
      if (key !== null) this.#line.digits(key);
      if (!begins) this.#stream?.push({ sequence, timestamp, payload: NO_SOUND }, nowMs);
      return;
    }
    if (payloadType === COMFORT_NOISE_TYPE) {
      if (begins) return;
      this.#stream?.noiseLevel(payload.length > 0 ? payload[0]! & 0x7f : null);
      this.#stream?.push({ sequence, timestamp, payload: NO_SOUND, silent: true }, nowMs);
      return;
    }
    const facts = this.#agreement.codecs.get(payloadType);
    if (facts === undefined) {
      this.#unknown++;
      return;
    }
    [this.#type, this.#facts] = [payloadType, facts];
    this.#sound(packet, facts, begins, nowMs);
  }

  /** As `InboundStream.poll`. */
  poll(nowMs: number): void {
    this.#stream?.poll(nowMs);
  }

  close(): void {
    this.#endStream();
    this.#agreement = null;
    this.#type = null;
  }

  /** Whether the packet has the current codec; a new codec becomes the current one soon. */
  #isCurrent(facts: CodecFacts): boolean {
    if (this.#codec === facts) {
      this.#others = 0;
      return true;
    }
    if (this.#stream !== null && ++this.#others < SWITCH_AFTER) return false;
    this.#others = 0;
    this.#endStream();
    this.#codec = facts;
    this.#stream = new InboundStream({
      decoder: mediaDecoder(facts, this.#opus),
      clockRateHz: facts.clockRateHz,
      sampleRateHz: facts.sampleRateHz,
      rateHz: this.#rateHz,
      listener: this.#line,
    });
    this.#stream.mutedUntilMs = this.#keySoundsUntilMs;
    return true;
  }

  #endStream(): void {
    if (this.#stream === null) return;
    this.#before = this.#counts();
    this.#closed = this.#stream.stats;
    this.#stream.close();
    this.#stream = null;
    this.#codec = null;
  }

  #counts(): Counts {
    const stream = this.#stream;
    if (stream === null) return this.#before;
    const { stats } = stream;
    return {
      received: this.#before.received + stats.received,
      lost: this.#before.lost + stats.lost,
      late: this.#before.late + stats.late,
      duplicate: this.#before.duplicate + stats.duplicate,
      reordered: this.#before.reordered + stats.reordered,
      undecodable: this.#before.undecodable + stream.undecodable,
      concealedMs: this.#before.concealedMs + stream.concealedMs,
    };
  }

  #sound({ ssrc, sequence, timestamp, payload }: RtpPacket, facts: CodecFacts, begins: boolean, nowMs: number): void {
    if (!this.#isCurrent(facts)) return;
    this.#ssrc = ssrc;
    this.#stream?.push({ sequence, timestamp, payload, begins }, nowMs);
  }
}
