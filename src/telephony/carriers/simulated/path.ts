import { FRAME_MS, frameSamples } from '../../../audio/frame.js';
import { decodeG711, encodeG711, G711_SILENCE, type G711Law } from '../../../audio/codecs/g711.js';
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
const FRAME = frameSamples(PHONE_RATE_HZ);

/**
 * One direction of a phone line: a frame goes in each tick and one comes out, later by the line's delay and the
 * receiver's jitter buffer, through G.711, with what is lost or too late concealed.
 */
export class PhonePath {
  /** Packets with sound that were sent, and of these the ones that were lost or late. */
  sent = 0;
  lost = 0;
  readonly #codec: G711Law;
  readonly #loss: number;
  readonly #random: Random;
  readonly #concealer = new LossConcealer(PHONE_RATE_HZ);
  /** Packets under way, null = lost. The oldest is what comes out next. */
  readonly #underWay: (Uint8Array | null)[] = [];
  readonly #silence: Uint8Array;
  /** Only silence has come out since the concealer got some. */
  #quiet = false;

  constructor(quality: LineQuality, random: Random) {
    const { codec = 'mulaw', delayMs = 40, jitterMs = 0, bufferMs = 60, loss = 0 } = quality;
    this.#codec = codec;
    this.#random = random;
    const tooLate = jitterMs > bufferMs ? 1 - bufferMs / jitterMs : 0;
    this.#loss = 1 - (1 - loss) * (1 - tooLate);
    this.#silence = new Uint8Array(FRAME).fill(G711_SILENCE[codec]);
    const waits = Math.round((delayMs + Math.min(jitterMs, bufferMs)) / FRAME_MS);
    for (let packet = 0; packet < waits; packet++) this.#underWay.push(this.#silence);
  }

  /** Ticks from in to out. */
  get delayFrames(): number {
    return this.#underWay.length;
  }

  /** A frame of 160 samples goes in, null = silence; what comes out at the other end, null = silence. */
  pass(frame: Int16Array | null): Int16Array | null {
    this.#underWay.push(this.#send(frame));
    const packet = this.#underWay.shift() ?? null;
    if (packet === this.#silence && this.#quiet) return null;
    const out = new Int16Array(FRAME);
    if (packet === null) {
      this.#concealer.conceal(out);
    } else {
      if (packet !== this.#silence) decodeG711(this.#codec, packet, out);
      this.#concealer.accept(out);
    }
    this.#quiet = packet === this.#silence && !this.#concealer.concealing;
    return out;
  }

  #send(frame: Int16Array | null): Uint8Array | null {
    if (frame === null) return this.#silence;
    this.sent++;
    if (this.#loss > 0 && this.#random.chance(this.#loss)) {
      this.lost++;
      return null;
    }
    return encodeG711(this.#codec, frame);
  }
}
