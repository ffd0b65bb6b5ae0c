import { FRAME_MS, frameSamples } from '../../../audio/frame.js';
import { decodeG711, encodeG711, type G711Law } from '../../../audio/codecs/g711.js';
import { LossConcealer } from '../../../audio/dsp/plc.js';
import type { Random } from '../../../base/random.js';

/** What a phone line does to sound, in each direction. */
export interface LineQuality {
  /** Default `mulaw`. */
  codec?: G711Law;
  /** Time that a packet takes, 0..500 ms. Default 40. */
  delayMs?: number;
  /** Packets come later than that by up to so much, evenly spread, 0..300 ms. Default 0. */
  jitterMs?: number;
  /** How much of the jitter the receiver waits for; what comes later is lost. Default 60 ms. */
  bufferMs?: number;
  /** Share of packets that never come, 0..0.5. Default 0. */
  loss?: number;
  /** Noise on the far end's side of the line, dBFS. Default none. */
  noiseDbfs?: number;
}

/** Telephone sound: 8 kHz, as G.711 has it. */
export const PHONE_RATE_HZ = 8000;

/** Codes frames of 20 ms. */
export interface FrameCodec {
  readonly sampleRateHz: number;
  encode(frame: Int16Array): Uint8Array;
  /** @param out the frame that the packet holds */
  decode(packet: Uint8Array, out: Int16Array<ArrayBuffer>): void;
}

export function g711Codec(law: G711Law): FrameCodec {
  return {
    sampleRateHz: PHONE_RATE_HZ,
    encode: (frame) => encodeG711(law, frame),
    decode: (packet, out) => void decodeG711(law, packet, out),
  };
}

/** The packet of a frame of silence, which no codec sees. */
const SILENCE = new Uint8Array(0);

/**
 * One direction of a phone line: a frame goes in each tick and one comes out, later by the line's delay and the
 * receiver's jitter buffer, through the codec, with what is lost or too late concealed.
 */
export class PhonePath {
  /** Packets with sound that were sent, and of these the ones that were lost or late. */
  sent = 0;
  lost = 0;
  readonly #codec: FrameCodec;
  readonly #loss: number;
  readonly #random: Random;
  readonly #concealer: LossConcealer;
  /** Packets under way, null = lost. The oldest is what comes out next. */
  readonly #underWay: (Uint8Array | null)[] = [];
  /** Only silence has come out since the concealer got some. */
  #quiet = false;

  /** @param codec default G.711 by the law of `quality` */
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

  /** Ticks from in to out. */
  get delayFrames(): number {
    return this.#underWay.length;
  }

  /** A frame of 20 ms goes in, null = silence; what comes out at the other end, null = silence. */
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
