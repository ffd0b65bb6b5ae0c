import type { RtpPacket } from './packet.js';

/** What the far end said before we knew that it had answered is at most so old. */
export const OVERTAKEN_MS = 1_000;
/** As many packets as that may be, of 10 ms each. */
const MOST_KEPT = 100;

interface Early {
  packet: RtpPacket;
  atMs: number;
}

/**
 * Sound that comes before a call is answered: ringing, announcements, and the first words of somebody whose sound has
 * overtaken the answer (RFC 3264, 5.1, RFC 3960). The former are nobody's speech and are counted only. The latter is kept: it
 * is what has no description of its own, or comes of another source than the ringing did, and has begun just now.
 */
export class EarlyMedia {
  #packets = 0;
  #source: { ssrc: number; sinceMs: number; isFirst: boolean } | null = null;
  #kept: Early[] = [];

  /** Packets that came before the answer, and were not heard. */
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
    // Beyond this call its datagram is another one's.
    if (isNew) this.#kept.push({ packet: { ...packet, payload: new Uint8Array(packet.payload) }, atMs });
    else this.#kept = [];
  }

  /**
   * The call has been answered.
   * @param isDescribed the far end's media were described before, by an early answer: its first source is ringing
   * @returns what is to be heard, in the order in which it came
   */
  answered(nowMs: number, isDescribed: boolean): readonly Early[] {
    const source = this.#source;
    const isSpeech = source !== null && nowMs - source.sinceMs <= OVERTAKEN_MS && !(isDescribed && source.isFirst);
    if (!isSpeech) this.#kept = [];
    return this.#kept;
  }
}
