import { FRAME_MS, frameSamples } from '../../../audio/frame.js';
import { decodeG711, encodeG711, type G711Law } from '../../../audio/codecs/g711.js';
import { LossConcealer } from '../../../audio/dsp/plc.js';
import type { Random } from '../../../base/random.js';

/** Effects of a phone line on audio, in each direction. */
export interface LineQuality {
  /** Default `mulaw`. */
  codec?: G711Law;
  /** Delay of a packet, 0 to 500 ms. Default 40. */
  delayMs?: number;
  /** Additional random delay, uniformly distributed, 0 to 300 ms. Default 0. */
  jitterMs?: number;
  /** Maximum jitter that the receiver compensates; later packets are lost. Default 60 ms. */
  bufferMs?: number;
  /** Share of lost packets, 0 to 0.5. Default 0. */
  loss?: number;
  /** Noise at the far end, dBFS. Default none. */
  noiseDbfs?: number;
}

/** Telephone audio: 8 kHz, as in G.711. */
export const PHONE_RATE_HZ = 8000;

/** Encodes and decodes frames of 20 ms. */
export interface FrameCodec {
  readonly sampleRateHz: number;
  encode(frame: Int16Array): Uint8Array;
  /** @param out receives the decoded frame */
  decode(packet: Uint8Array, out: Int16Array<ArrayBuffer>): void;
}

export function g711Codec(law: G711Law): FrameCodec {
  return {
    sampleRateHz: PHONE_RATE_HZ,
    encode: (frame) => encodeG711(law, frame),
    decode: (packet, out) => void decodeG711(law, packet, out),
  };
}

/** The packet of a silent frame, which skips the codec. */
const SILENCE = new Uint8Array(0);

/**
 * One direction of a phone line: each tick a frame goes in and one comes out, delayed by the line and the receiver's
 * jitter buffer, passed through the codec, with lost and late packets concealed.
 */
export class PhonePath {
  /** Packets with audio sent, and those of them lost or late. */
  sent = 0;
  lost = 0;
  readonly #codec: FrameCodec;
  readonly #loss: number;
  readonly #random: Random;
  readonly #concealer: LossConcealer;
  /** Packets in transit, null = lost. The oldest comes out next. */
  readonly #underWay: (Uint8Array | null)[] = [];
  /** Only silence has come out since the concealer got audio. */
  #quiet = false;

  /** @param codec default G.711 with the law of `quality` */
  constructor(quality: LineQuality, random: Random, codec = g711Codec(quality.codec ?? 'mulaw')) {
    const { delayMs = 40, jitterMs = 0, bufferMs = 60, loss = 0 } = quality;
    this.#codec = codec;
    this.#concealer = new LossConcealer(codec.sampleRateHz);
    this.#random = random;
    const tooLate = jitterMs > bufferMs ? 1 - bufferMs / jitterMs : 0;
    this.#loss = 1 - (1 - loss) * (1 - tooLate);
    const waits = Math.round((delayMs + Math.min(jitterMs, bufferMs)) / FRAME_MS);
    for (let packet = 0; packet < waits; packet++) this.#underWay.push(SILENCE);
  }

  /** Number of ticks from in to out. */
  get delayFrames(): number {
    return this.#underWay.length;
  }

  /** Sends a frame of 20 ms, null = silence; returns the frame at the other end, null = silence. */
  pass(frame: Int16Array | null): Int16Array | null {
    this.#underWay.push(this.#send(frame));
    const packet = this.#underWay.shift() ?? null;
    if (packet === SILENCE && this.#quiet) return null;
    const out = new Int16Array(frameSamples(this.#codec.sampleRateHz));
    if (packet === null) {
      this.#concealer.conceal(out);
    } else {
      if (packet !== SILENCE) this.#codec.decode(packet, out);
      this.#concealer.accept(out);
    }
    this.#quiet = packet === SILENCE && !this.#concealer.concealing;
    return out;
  }

  #send(frame: Int16Array | null): Uint8Array | null {
    if (frame === null) return SILENCE;
    this.sent++;
    if (this.#loss > 0 && this.#random.chance(this.#loss)) {
      this.lost++;
      return null;
    }
    return this.#codec.encode(frame);
  }
}
