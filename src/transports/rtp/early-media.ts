import type { RtpPacket } from './packet.js';
import { signed16 } from '../../audio/jitter-buffer.js';
import type { Opus } from '../../audio/codecs/opus.js';
import { type SpecialInformation, SpecialInformationDetector } from '../../audio/tones/special-information-tones.js';
import type { MediaDecoder } from './inbound-stream.js';
import { type CodecFacts, mediaDecoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';

/** Maximum age of audio that overtook the answer. */
export const OVERTAKEN_MS = 1_000;
/** Maximum number of such packets, at 10 ms each. */
const MOST_KEPT = 100;

interface Early {
  packet: RtpPacket;
  atMs: number;
}

/**
 * Audio before the answer of a call: ringing, announcements, and the callee's first words if they overtake the answer
 * (RFC 3264, 5.1, RFC 3960). Ringing and announcements are only counted. First words are kept: recent audio without a
 * description of its own, or from another source than the ringing.
 */
export class EarlyMedia {
  #packets = 0;
  #source: { ssrc: number; sinceMs: number; isFirst: boolean } | null = null;
  #kept: Early[] = [];

  /** Packets before the answer that were not played. */
  get packets(): number {
    return this.#packets - this.#kept.length;
  }

  packet(packet: RtpPacket, atMs: number): void {
    this.#packets++;
    const source = this.#source;
    if (source?.ssrc !== packet.ssrc) {
      this.#source = { ssrc: packet.ssrc, sinceMs: atMs, isFirst: source === null };
      this.#kept = [];
    }
    const isNew = atMs - (this.#source?.sinceMs ?? 0) <= OVERTAKEN_MS && this.#kept.length < MOST_KEPT;
    // The datagram's memory is reused after this call.
    if (isNew) this.#kept.push({ packet: { ...packet, payload: new Uint8Array(packet.payload) }, atMs });
    else this.#kept = [];
  }

  /**
   * The call was answered.
   * @param isDescribed an early answer described the far end's media before: its first source is ringing
   * @returns the packets to play, in order of arrival
   */
  answered(nowMs: number, isDescribed: boolean): readonly Early[] {
    const source = this.#source;
    const isSpeech = source !== null && nowMs - source.sinceMs <= OVERTAKEN_MS && !(isDescribed && source.isFirst);
    if (!isSpeech) this.#kept = [];
    return this.#kept;
  }
}

/**
 * Detects special information tones (ITU-T E.180) before the answer, which precede a network's announcement. Packets
 * are processed on arrival; lost, late and broken ones are skipped, because the tones are long enough.
 */
export class EarlyTones {
  readonly #opus: Opus | null;
  #agreement: Agreement | null = null;
  #heard: { facts: CodecFacts; ssrc: number; decoder: MediaDecoder; tones: SpecialInformationDetector } | null = null;
  #sequence = 0;

  /** @param opus loaded; required if it may be negotiated */
  constructor(opus: Opus | null) {
    this.#opus = opus;
  }

  configure(agreement: Agreement): void {
    this.#agreement = agreement;
  }

  /** Returns the meaning of the tones once they are detected. */
  packet({ payloadType, ssrc, sequence, payload }: RtpPacket): SpecialInformation | null {
    const facts = this.#agreement?.codecs.get(payloadType);
    if (facts === undefined) return null; // keys, comfort noise, or a type that was not negotiated
    if (this.#heard?.facts !== facts || this.#heard.ssrc !== ssrc) {
      this.close();
      const tones = new SpecialInformationDetector(facts.sampleRateHz);
      this.#heard = { facts, ssrc, tones, decoder: mediaDecoder(facts, this.#opus) };
    } else if (signed16(sequence - this.#sequence) <= 0) return null;
    this.#sequence = sequence;
    try {
      return this.#heard.tones.push(this.#heard.decoder.decode(payload));
    } catch {
      return null; // the decoder continues with the next packet
    }
  }

  /** May be called twice. */
  close(): void {
    this.#heard?.decoder.close();
    this.#heard = null;
  }
}
