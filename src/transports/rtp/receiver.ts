import { FRAME_MS } from '../../audio/frame.js';
import { type Arrival, JitterBuffer, type JitterStats, type MediaPacket } from '../../audio/jitter-buffer.js';
import { levelOf } from '../../audio/dsp/level.js';
import { type Resampler, resamplerBetween } from '../../audio/dsp/resample.js';
import type { Opus } from '../../audio/codecs/opus.js';
import { ComfortNoise } from '../../audio/dsp/comfort-noise.js';
import { TelephoneEvents } from './telephone-event.js';
import { type CodecFacts, COMFORT_NOISE_TYPE, mediaDecoder, type MediaDecoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';
import type { RtpPacket } from './packet.js';

export interface ReceiverOptions {
  /** Rate of the output. */
  rateHz: number;
  /** Loaded, if it may be negotiated. */
  opus: Opus | null;
  /** Called for each frame: an object instead of a closure, to touch less memory. */
  line: ReceivingLine;
}

/** Receives the audio. */
export interface ReceivingLine {
  /** The samples may be overwritten afterwards. */
  hear(samples: Int16Array): void;
  digits(key: string): void;
}

/** The decoding path of one payload type. */
interface Stream {
  readonly facts: CodecFacts;
  readonly decoder: MediaDecoder;
  readonly jitter: JitterBuffer;
  /** Null: the line has the codec's rate. */
  readonly resampler: Resampler | null;
  readonly noise: ComfortNoise;
}

/** Quieter frames may be dropped to catch up after a delay. */
const QUIET_DB = -50;
const NO_SOUND = new Uint8Array();
/** Number of consecutive packets after which another codec is accepted. */
const SWITCH_AFTER = 2;
/**
 * Audio within this time after a key's packet is not the user's: gateways that send keys as events let part of the tone
 * through, which would be a second key.
 */
const KEY_SOUNDS_MS = 120;
type Counts = Pick<JitterStats, 'received' | 'lost' | 'late' | 'duplicate' | 'reordered'>;

/** Turns received packets into audio and keys. */
export class Receiver {
  readonly #rateHz: number;
  readonly #opus: Opus | null;
  readonly #line: ReceivingLine;
  readonly #keys = new TelephoneEvents();
  readonly #streams = new Map<CodecFacts['name'], Stream>();
  #agreement: Agreement | null = null;
  /** Type and codec of the current packets, to avoid looking them up each time. */
  #type: number | null = null;
  #facts: CodecFacts | null = null;
  #stream: Stream | null = null;
  #others = 0;
  /** A frame is being processed. */
  #isHeard = false;
  #ssrc: number | null = null;
  #undecodable = 0;
  #concealedMs = 0;
  #unknown = 0;
  #keySoundsUntilMs = -Infinity;
  /** Final values after the close. */
  #last: Omit<JitterStats, 'lagMs'> | null = null;
  /** Counts of past streams. */
  #before: Counts = { received: 0, lost: 0, late: 0, duplicate: 0, reordered: 0 };

  constructor(options: ReceiverOptions) {
    this.#rateHz = options.rateHz;
    this.#opus = options.opus;
    this.#line = options.line;
  }

  /** For the whole call; jitter and patience are current. */
  get stats(): Omit<JitterStats, 'lagMs'> {
    if (this.#last !== null) return this.#last;
    const now = this.#stream?.jitter.stats;
    return {
      ...added(this.#before, now),
      jitterMs: now?.jitterMs ?? 0,
      patienceMs: now?.patienceMs ?? 0,
    };
  }

  /** Duration of concealed audio. */
  get concealedMs(): number {
    return this.#concealedMs;
  }

  /** Undecodable packets, and packets of types that were not negotiated. */
  get junk(): { undecodable: number; unknownTypes: number } {
    return { undecodable: this.#undecodable, unknownTypes: this.#unknown };
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
      const key = this.#keys.read(payload, timestamp);
      if (key !== null) this.#line.digits(key);
      if (!begins) this.#push({ sequence, timestamp, payload: NO_SOUND }, nowMs);
      return;
    }
    if (payloadType === COMFORT_NOISE_TYPE) {
      if (begins) return;
      this.#stream?.noise.level(payload.length > 0 ? payload[0]! & 0x7f : null);
      this.#push({ sequence, timestamp, payload: NO_SOUND, silent: true }, nowMs);
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

  /** Call about every 20 ms: gives up late packets and conceals losses. */
  poll(nowMs: number): void {
    const stream = this.#stream;
    // The listener may send a frame at once, which polls from within while the audio is still in use.
    if (stream === null || this.#isHeard) return;
    const arrivals = stream.jitter.poll(nowMs);
    if (arrivals.length > 0) this.#hear(stream, arrivals, nowMs);
  }

  close(): void {
    for (const { decoder } of this.#streams.values()) decoder.close();
    this.#last = this.stats;
    this.#streams.clear();
    this.#stream = null;
    this.#agreement = null;
    this.#type = null;
  }

  /** Whether the packet has the current codec; a new codec becomes the current one soon. */
  #isCurrent(facts: CodecFacts): boolean {
    if (this.#stream?.facts === facts) {
      this.#others = 0;
      return true;
    }
    if (this.#stream !== null && ++this.#others < SWITCH_AFTER) return false;
    this.#others = 0;
    this.#stream = this.#streamOf(facts);
    return true;
  }

  #streamOf(facts: CodecFacts): Stream {
    this.#before = added(this.#before, this.#stream?.jitter.stats);
    this.#streams.get(facts.name)?.decoder.close();
    const stream = {
      facts,
      decoder: mediaDecoder(facts, this.#opus),
      jitter: new JitterBuffer({ clockRateHz: facts.clockRateHz }),
      resampler: resamplerBetween(facts.sampleRateHz, this.#rateHz),
      noise: new ComfortNoise(),
    };
    this.#streams.set(facts.name, stream);
    return stream;
  }

  #sound({ ssrc, sequence, timestamp, payload }: RtpPacket, facts: CodecFacts, begins: boolean, nowMs: number): void {
    if (!this.#isCurrent(facts)) return;
    this.#ssrc = ssrc;
    this.#push({ sequence, timestamp, payload, begins }, nowMs);
  }

  #push(packet: MediaPacket, nowMs: number): void {
    const stream = this.#stream;
    if (stream !== null) this.#hear(stream, stream.jitter.push(packet, nowMs), nowMs);
  }

  #hear(stream: Stream, arrivals: readonly Arrival[], nowMs: number): void {
    this.#isHeard = true;
    try {
      this.#hearAll(stream, arrivals, nowMs);
    } finally {
      this.#isHeard = false;
    }
  }

  #hearAll(stream: Stream, arrivals: readonly Arrival[], nowMs: number): void {
    for (const arrival of arrivals) {
      if (this.#stream !== stream) return;
      const samples = this.#samplesOf(stream, arrival);
      if (nowMs < this.#keySoundsUntilMs) samples.fill(0);
      const ms = (samples.length * 1_000) / stream.facts.sampleRateHz;
      const mayBeLeftOut = arrival.kind === 'packet' && stream.jitter.lagMs >= ms;
      if (mayBeLeftOut && levelOf(samples).rmsDbfs < QUIET_DB) stream.jitter.skipped(ms);
      else this.#line.hear(stream.resampler === null ? samples : stream.resampler.process(samples));
    }
  }

  #samplesOf({ facts, decoder, noise }: Stream, arrival: Arrival): Int16Array {
    if (arrival.kind === 'silence') {
      const samples = new Int16Array(Math.round((facts.sampleRateHz * arrival.ms) / 1_000));
      noise.into(samples);
      return samples;
    }
    try {
      if (arrival.kind === 'lost') {
        this.#concealedMs += arrival.ms;
        return decoder.conceal(arrival.ms, arrival.following);
      }
      noise.level(null);
      return decoder.decode(arrival.payload);
    } catch {
      this.#undecodable++;
      return decoder.conceal(FRAME_MS, null);
    }
  }
}

function added(one: Counts, other: Counts | undefined): Counts {
  return {
    received: one.received + (other?.received ?? 0),
    lost: one.lost + (other?.lost ?? 0),
    late: one.late + (other?.late ?? 0),
    duplicate: one.duplicate + (other?.duplicate ?? 0),
    reordered: one.reordered + (other?.reordered ?? 0),
  };
}
