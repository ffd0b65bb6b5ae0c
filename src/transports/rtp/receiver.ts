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
  /** Rate of what is delivered. */
  rateHz: number;
  /** Loaded, where it may be agreed upon. */
  opus: Opus | null;
  /** Called for each frame: an object, not a function made for it, which would be one place more in memory to look at. */
  line: ReceivingLine;
}

/** Who hears what comes. */
export interface ReceivingLine {
  /** The samples may be overwritten afterwards. */
  hear(samples: Int16Array): void;
  digits(key: string): void;
}

/** One payload type's way from packets to sound. */
interface Stream {
  readonly facts: CodecFacts;
  readonly decoder: MediaDecoder;
  readonly jitter: JitterBuffer;
  /** Null: the line has the codec's rate. */
  readonly resampler: Resampler | null;
  readonly noise: ComfortNoise;
}

/** Quieter frames may be left out to catch up with what was held up. */
const QUIET_DB = -50;
const NO_SOUND = new Uint8Array();
/** Another codec is believed when so many packets in a row have come as it. */
const SWITCH_AFTER = 2;
/**
 * What is heard this long behind a packet of a key is none of the user's: gateways that send a key as an event let
 * some of its tone through as well, and it would be a second key.
 */
const KEY_SOUNDS_MS = 120;
type Counts = Pick<JitterStats, 'received' | 'lost' | 'late' | 'duplicate' | 'reordered'>;

/** What the other side sends, from packets to sound and keys. */
export class Receiver {
  readonly #rateHz: number;
  readonly #opus: Opus | null;
  readonly #line: ReceivingLine;
  readonly #keys = new TelephoneEvents();
  readonly #streams = new Map<CodecFacts['name'], Stream>();
  #agreement: Agreement | null = null;
  /** The type of packets that are heard now, and the codec that it is: what nearly all packets are is looked up once. */
  #type: number | null = null;
  #facts: CodecFacts | null = null;
  #stream: Stream | null = null;
  #others = 0;
  /** Something is being heard. */
  #isHeard = false;
  #ssrc: number | null = null;
  #undecodable = 0;
  #concealedMs = 0;
  #unknown = 0;
  #keySoundsUntilMs = -Infinity;
  /** As they were when it was closed. */
  #last: Omit<JitterStats, 'lagMs'> | null = null;
  /** Of streams that are over. */
  #before: Counts = { received: 0, lost: 0, late: 0, duplicate: 0, reordered: 0 };

  constructor(options: ReceiverOptions) {
    this.#rateHz = options.rateHz;
    this.#opus = options.opus;
    this.#line = options.line;
  }

  /** Of the whole call; jitter and patience as they are now. */
  get stats(): Omit<JitterStats, 'lagMs'> {
    if (this.#last !== null) return this.#last;
    const now = this.#stream?.jitter.stats;
    return {
      ...added(this.#before, now),
      jitterMs: now?.jitterMs ?? 0,
      patienceMs: now?.patienceMs ?? 0,
    };
  }

  /** Sound that was made up in place of lost packets. */
  get concealedMs(): number {
    return this.#concealedMs;
  }

  /** Packets that were no sound of their codec, and ones of types that were not agreed upon. */
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

  /** To be called every 20 ms or so: what is given up, or put in, because time has passed. */
  poll(nowMs: number): void {
    const stream = this.#stream;
    // Whoever hears something may give a frame at once, and look for what comes from within: it has the sound still.
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

  /** Whether the packet's codec is the one that is heard; a new one becomes it soon. */
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
