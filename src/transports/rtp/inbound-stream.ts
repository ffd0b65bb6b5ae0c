import type { OpusDecoder } from '../../audio/codecs/opus.js';
import { ComfortNoise } from '../../audio/dsp/comfort-noise.js';
import { levelOf } from '../../audio/dsp/level.js';
import { type Resampler, resamplerBetween } from '../../audio/dsp/resample.js';
import { FRAME_MS } from '../../audio/frame.js';
import { type Arrival, JitterBuffer, type JitterStats, type MediaPacket } from '../../audio/jitter-buffer.js';

/** Decodes payloads to mono samples at the codec's rate. The result may be overwritten by the next call of any decoder. */
export interface MediaDecoder {
  /** @throws ParleyError AUDIO_UNDECODABLE; later packets can still be decoded */
  decode(payload: Uint8Array): Int16Array;
  /** Substitute for a gap. @param following the packet behind the gap, which may hold a copy of the lost one (Opus) */
  conceal(ms: number, following: Uint8Array | null): Int16Array;
  close(): void;
}

export class OpusMediaDecoder implements MediaDecoder {
  readonly #decoder: Pick<OpusDecoder, 'decode' | 'recover' | 'conceal' | 'close'>;

  constructor(decoder: Pick<OpusDecoder, 'decode' | 'recover' | 'conceal' | 'close'>) {
    this.#decoder = decoder;
  }

  decode(payload: Uint8Array): Int16Array {
    return this.#decoder.decode(payload);
  }

  conceal(ms: number, following: Uint8Array | null): Int16Array {
    return following === null ? this.#decoder.conceal(ms) : this.#decoder.recover(following, ms);
  }

  close(): void {
    this.#decoder.close();
  }
}

/** Gets each frame: an object, because a closure for each stream would be one more object in memory to read. */
export interface InboundListener {
  /** The samples may be overwritten afterwards. */
  hear(samples: Int16Array): void;
}

export interface InboundStreamOptions {
  decoder: MediaDecoder;
  /** Ticks of the RTP clock per second. */
  clockRateHz: number;
  /** Rate of the decoder's output. */
  sampleRateHz: number;
  /** Rate of the delivered audio. */
  rateHz: number;
  listener: InboundListener;
}

/** To catch up after a delay, frames below this level are left out. */
const QUIET_DB = -50;

/**
 * The inbound audio of one codec, from packets to samples: jitter buffer, decoder, concealment of lost packets, comfort
 * noise, and catching up in quiet moments after packets were delayed. Calls over RTP and WebRTC share it.
 */
export class InboundStream {
  readonly #decoder: MediaDecoder;
  readonly #jitter: JitterBuffer;
  readonly #sampleRateHz: number;
  /** Null: the decoder has the rate of the delivered audio. */
  readonly #resampler: Resampler | null;
  readonly #noise = new ComfortNoise();
  readonly #listener: InboundListener;
  #isHeard = false;
  #isClosed = false;
  /** Packets that are not valid in their codec. */
  undecodable = 0;
  /** Duration of concealed audio. */
  concealedMs = 0;
  /** Audio until then is replaced by silence. */
  mutedUntilMs = -Infinity;

  constructor({ decoder, clockRateHz, sampleRateHz, rateHz, listener }: InboundStreamOptions) {
    this.#decoder = decoder;
    this.#jitter = new JitterBuffer({ clockRateHz });
    this.#sampleRateHz = sampleRateHz;
    this.#resampler = resamplerBetween(sampleRateHz, rateHz);
    this.#listener = listener;
  }

  get stats(): JitterStats {
    return this.#jitter.stats;
  }

  push(packet: MediaPacket, nowMs: number): void {
    this.#hear(this.#jitter.push(packet, nowMs), nowMs);
  }

  /** Call it at each tick: gives up on lost packets, and inserts silence, when their time has come. */
  poll(nowMs: number): void {
    // The listener may answer a frame at once and poll from within `hear`; it still holds the samples of that frame.
    if (this.#isHeard) return;
    const arrivals = this.#jitter.poll(nowMs);
    if (arrivals.length > 0) this.#hear(arrivals, nowMs);
  }

  /** Sets the level of comfort noise, in -dBov (RFC 3389); null = digital silence. */
  noiseLevel(level: number | null): void {
    this.#noise.level(level);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#decoder.close();
  }

  #hear(arrivals: readonly Arrival[], nowMs: number): void {
    this.#isHeard = true;
    try {
      this.#hearAll(arrivals, nowMs);
    } finally {
      this.#isHeard = false;
    }
  }

  #hearAll(arrivals: readonly Arrival[], nowMs: number): void {
    for (const arrival of arrivals) {
      if (this.#isClosed) return;
      const samples = this.#samplesOf(arrival);
      if (nowMs < this.mutedUntilMs) samples.fill(0);
      const ms = (samples.length * 1_000) / this.#sampleRateHz;
      const mayBeLeftOut = arrival.kind === 'packet' && this.#jitter.lagMs >= ms;
      if (mayBeLeftOut && levelOf(samples).rmsDbfs < QUIET_DB) this.#jitter.skipped(ms);
      else this.#listener.hear(this.#resampler === null ? samples : this.#resampler.process(samples));
    }
  }

  #samplesOf(arrival: Arrival): Int16Array {
    if (arrival.kind === 'silence') {
      const samples = new Int16Array(Math.round((this.#sampleRateHz * arrival.ms) / 1_000));
      this.#noise.into(samples);
      return samples;
    }
    try {
      if (arrival.kind === 'lost') {
        this.concealedMs += arrival.ms;
        return this.#decoder.conceal(arrival.ms, arrival.following);
      }
      this.#noise.level(null);
      return this.#decoder.decode(arrival.payload);
    } catch {
      this.undecodable++;
      return this.#decoder.conceal(FRAME_MS, null);
    }
  }
}
