import { FRAME_MS } from '../audio/frame.js';
import { type Arrival, JitterBuffer, type JitterStats, type MediaPacket } from '../audio/jitter-buffer.js';
import { levelOf } from '../audio/level.js';
import { Resampler } from '../audio/resample.js';
import { TelephoneEvents } from '../transports/telephone-event.js';
import { type CodecFacts, COMFORT_NOISE_TYPE } from './codecs.js';
import { type MediaDecoder, mediaDecoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';
import type { RtpPacket } from './packet.js';

export interface ReceiverOptions {
  /** Rate of what is delivered. */
  rateHz: number;
  onAudio: (samples: Int16Array) => void;
  onDigit: (key: string) => void;
}

/** One payload type's way from packets to sound. */
interface Stream {
  readonly facts: CodecFacts;
  readonly decoder: MediaDecoder;
  readonly jitter: JitterBuffer;
  readonly resampler: Resampler;
}

/** Quieter frames may be left out to catch up with what was held up. */
const QUIET_DB = -50;
const NO_SOUND = new Uint8Array();
/** Another codec is believed when so many packets in a row have come as it. */
const SWITCH_AFTER = 2;

/** What the other side sends, from packets to sound and keys. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #keys = new TelephoneEvents();
  readonly #streams = new Map<CodecFacts['name'], Stream>();
  #agreement: Agreement | null = null;
  #stream: Stream | null = null;
  #others = 0;
  #ssrc: number | null = null;
  #undecodable = 0;
  #unknown = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  get jitterStats(): JitterStats | null {
    return this.#stream?.jitter.stats ?? null;
  }

  /** Packets that were no sound of their codec, and ones of types that were not agreed upon. */
  get junk(): { undecodable: number; unknown: number } {
    return { undecodable: this.#undecodable, unknown: this.#unknown };
  }

  configure(agreement: Agreement): void {
    this.#agreement = agreement;
  }

  packet(packet: RtpPacket, nowMs: number): void {
    const { payloadType, sequence, timestamp, payload } = packet;
    const begins = this.#ssrc !== null && packet.ssrc !== this.#ssrc;
    if (this.#agreement?.eventTypes.has(payloadType) === true) {
      const key = this.#keys.read(payload, timestamp);
      if (key !== null) this.#options.onDigit(key);
      if (!begins) this.#push({ sequence, timestamp, payload: NO_SOUND }, nowMs);
      return;
    }
    if (payloadType === COMFORT_NOISE_TYPE) {
      if (!begins) this.#push({ sequence, timestamp, payload: NO_SOUND, silent: true }, nowMs);
      return;
    }
    const facts = this.#agreement?.codecs.get(payloadType);
    if (facts === undefined) {
      this.#unknown++;
      return;
    }
    if (!this.#isCurrent(facts)) return;
    this.#ssrc = packet.ssrc;
    this.#push({ sequence, timestamp, payload, begins }, nowMs);
  }

  /** To be called every 20 ms or so: what is given up, or put in, because time has passed. */
  poll(nowMs: number): void {
    if (this.#stream !== null) this.#hear(this.#stream, this.#stream.jitter.poll(nowMs));
  }

  close(): void {
    for (const { decoder } of this.#streams.values()) decoder.close();
    this.#streams.clear();
    this.#stream = null;
    this.#agreement = null;
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
    this.#streams.get(facts.name)?.decoder.close();
    const stream = {
      facts,
      decoder: mediaDecoder(facts),
      jitter: new JitterBuffer({ clockRateHz: facts.clockRateHz }),
      resampler: new Resampler(facts.sampleRateHz, this.#options.rateHz),
    };
    this.#streams.set(facts.name, stream);
    return stream;
  }

  #push(packet: MediaPacket, nowMs: number): void {
    const stream = this.#stream;
    if (stream !== null) this.#hear(stream, stream.jitter.push(packet, nowMs));
  }

  #hear(stream: Stream, arrivals: readonly Arrival[]): void {
    for (const arrival of arrivals) {
      if (this.#stream !== stream) return;
      const samples = this.#samplesOf(stream, arrival);
      const ms = (samples.length * 1_000) / stream.facts.sampleRateHz;
      const mayBeLeftOut = arrival.kind === 'packet' && stream.jitter.lagMs >= ms;
      if (mayBeLeftOut && levelOf(samples).rmsDbfs < QUIET_DB) stream.jitter.skipped(ms);
      else this.#options.onAudio(stream.resampler.process(samples));
    }
  }

  #samplesOf({ facts, decoder }: Stream, arrival: Arrival): Int16Array {
    if (arrival.kind === 'silence') return new Int16Array((facts.sampleRateHz * arrival.ms) / 1_000);
    if (arrival.kind === 'lost') return decoder.conceal(arrival.ms, arrival.following);
    try {
      return decoder.decode(arrival.payload);
    } catch {
      this.#undecodable++;
      return decoder.conceal(FRAME_MS, null);
    }
  }
}
