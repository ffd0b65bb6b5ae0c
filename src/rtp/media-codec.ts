import { frameSamples } from '../audio/frame.js';
import { decodeG711, encodeG711, type G711Law } from '../audio/g711.js';
import { LossConcealer } from '../audio/plc.js';
import { ParleyError } from '../errors.js';
import type { CodecFacts } from './codecs.js';

/** Mono sound at the codec's rate, 20 ms at a time, into payloads. */
export interface MediaEncoder {
  encode(frame: Int16Array): Uint8Array;
  /** How much is lost on the way, 0..1, where the codec can do something about it. */
  expectLoss?(share: number): void;
  /** May be called twice. */
  close(): void;
}

/** Payloads into mono sound at the codec's rate. What it gives is overwritten by the next call. */
export interface MediaDecoder {
  /** @throws ParleyError AUDIO_UNDECODABLE; the decoder goes on with the next one */
  decode(payload: Uint8Array): Int16Array;
  /** What might have been there. @param following the packet behind the gap, which may hold a copy (Opus) */
  conceal(ms: number, following: Uint8Array | null): Int16Array;
  close(): void;
}

/** The longest packet that is taken: 120 ms (RFC 3551 knows no limit; nobody sends longer ones). */
const MAX_PACKET_MS = 120;
/** A gap of this length at most is filled in one go. */
const MAX_GAP_MS = 120;

export function mediaEncoder({ name }: CodecFacts): MediaEncoder {
  return new G711Encoder(name === 'PCMA' ? 'alaw' : 'mulaw');
}

export function mediaDecoder({ name }: CodecFacts): MediaDecoder {
  return new G711Decoder(name === 'PCMA' ? 'alaw' : 'mulaw');
}

class G711Encoder implements MediaEncoder {
  readonly #law: G711Law;
  readonly #out = new Uint8Array(frameSamples(8_000));

  constructor(law: G711Law) {
    this.#law = law;
  }

  encode(frame: Int16Array): Uint8Array {
    return encodeG711(this.#law, frame, this.#out);
  }

  close(): void {
    // It holds nothing.
  }
}

class G711Decoder implements MediaDecoder {
  readonly #law: G711Law;
  readonly #concealer = new LossConcealer(8_000);
  readonly #out = new Int16Array(MAX_PACKET_MS * 8);

  constructor(law: G711Law) {
    this.#law = law;
  }

  decode(payload: Uint8Array): Int16Array {
    if (payload.length === 0 || payload.length > this.#out.length) {
      throw new ParleyError('AUDIO_UNDECODABLE', { reason: `G.711: a packet of ${String(payload.length)} bytes` });
    }
    const samples = decodeG711(this.#law, payload, this.#out);
    this.#concealer.accept(samples);
    return samples;
  }

  conceal(ms: number): Int16Array {
    const out = this.#out.subarray(0, Math.round(Math.min(ms, MAX_GAP_MS) * 8));
    this.#concealer.conceal(out);
    return out;
  }

  close(): void {
    // It holds nothing.
  }
}
