import { signed16 } from '../../audio/jitter-buffer.js';
import type { Opus } from '../../audio/codecs/opus.js';
import { type SpecialInformation, SpecialInformationDetector } from '../../audio/tones/special-information-tones.js';
import { type CodecFacts, mediaDecoder, type MediaDecoder } from './media-codec.js';
import type { Agreement } from './negotiation.js';
import type { RtpPacket } from './packet.js';

/**
 * Listens for special information tones (ITU-T E.180) in what comes before the answer: of announcements that networks
 * play in place of the person who was called. Packets are heard as they come; one that is lost, late or broken is left
 * out, which the tones are long enough for.
 */
export class EarlyTones {
  readonly #opus: Opus | null;
  #agreement: Agreement | null = null;
  #heard: { facts: CodecFacts; ssrc: number; decoder: MediaDecoder; tones: SpecialInformationDetector } | null = null;
  #sequence = 0;

  /** @param opus loaded; needed where it may be agreed upon */
  constructor(opus: Opus | null) {
    this.#opus = opus;
  }

  configure(agreement: Agreement): void {
    this.#agreement = agreement;
  }

  /** Returns what the tones say once they have been heard. */
  packet({ payloadType, ssrc, sequence, payload }: RtpPacket): SpecialInformation | null {
    const facts = this.#agreement?.codecs.get(payloadType);
    if (facts === undefined) return null; // keys, comfort noise, or nothing that was agreed upon
    if (this.#heard?.facts !== facts || this.#heard.ssrc !== ssrc) {
      this.close();
      const tones = new SpecialInformationDetector(facts.sampleRateHz);
      this.#heard = { facts, ssrc, tones, decoder: mediaDecoder(facts, this.#opus) };
    } else if (signed16(sequence - this.#sequence) <= 0) return null;
    this.#sequence = sequence;
    try {
      return this.#heard.tones.push(this.#heard.decoder.decode(payload));
    } catch {
      return null; // the decoder goes on with the next one
    }
  }

  /** May be called twice. */
  close(): void {
    this.#heard?.decoder.close();
    this.#heard = null;
  }
}
