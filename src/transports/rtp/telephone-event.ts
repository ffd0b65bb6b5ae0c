const KEYS = '0123456789*#ABCD';
const END_BIT = 0x80;
/** Keys that are remembered, so that a packet of theirs that comes late is not another one. */
const REMEMBERED = 8;

/**
 * Reads keys from the packets of telephone events (RFC 4733, 2.3). A key comes in many packets, some of which are lost,
 * and from browsers only the last ones are sent: whichever comes first tells it, and its timestamp tells it from the next.
 *
 * A key that is held for long goes on in another event (2.5.1.3), which begins where the last one ended; and there are
 * gateways whose timestamps go on with each packet.
 */
export class TelephoneEvents {
  /** Timestamps of reported keys, the newest last. */
  #told: number[] = [];
  /** The key that is held down, as far as is known. */
  #held: { event: number; timestamp: number; duration: number } | null = null;

  /** @returns the key, at its first packet; null for the others, for events that are no keys and for junk */
  read(payload: Uint8Array, timestamp: number): string | null {
    const event = payload[0] ?? KEYS.length;
    const key = payload.length >= 4 ? KEYS[event] : undefined;
    if (key === undefined) return null;
    const held = this.#held;
    const isEnd = (payload[1]! & END_BIT) !== 0;
    const duration = (payload[2]! << 8) | payload[3]!;
    const since = held === null ? -1 : (timestamp - held.timestamp) >>> 0;
    const goesOn = held !== null && held.event === event && since <= held.duration;
    const isKnown = this.#told.includes(timestamp);
    // A late packet of an earlier key says nothing of the one that is held.
    if (!isKnown || timestamp === held?.timestamp) this.#held = isEnd ? null : { event, timestamp, duration };
    if (isKnown) return null;
    this.#told.push(timestamp);
    if (this.#told.length > REMEMBERED) this.#told.shift();
    return goesOn ? null : key;
  }
}
