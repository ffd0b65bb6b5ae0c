const KEYS = '0123456789*#ABCD';
const END_BIT = 0x80;
/** Number of keys to remember, so that their late packets do not count as new keys. */
const REMEMBERED = 8;

/**
 * Reads keys from telephone events (RFC 4733, 2.3). A key has many packets, some may be lost, and browsers send only
 * the last ones: any first packet reports the key, and its timestamp distinguishes it from the next.
 *
 * A long key continues in another event (2.5.1.3) that starts where the last one ended; and some gateways increase the
 * timestamp with each packet.
 */
export class TelephoneEvents {
  /** Timestamps of reported keys, the newest last. */
  #reported: number[] = [];
  /** The key that is held down, as far as is known. */
  #held: { event: number; timestamp: number; duration: number } | null = null;

  /** @returns the key, at its first packet; null for later packets, events that are not keys, and invalid ones */
  read(payload: Uint8Array, timestamp: number): string | null {
    const event = payload[0] ?? KEYS.length;
    const key = payload.length >= 4 ? KEYS[event] : undefined;
    if (key === undefined) return null;
    const held = this.#held;
    const isEnd = (payload[1]! & END_BIT) !== 0;
    const duration = (payload[2]! << 8) | payload[3]!;
    const since = held === null ? -1 : (timestamp - held.timestamp) >>> 0;
    const goesOn = held !== null && held.event === event && since <= held.duration;
    const isKnown = this.#reported.includes(timestamp);
    // A late packet of an earlier key says nothing about the current one.
    if (!isKnown || timestamp === held?.timestamp) this.#held = isEnd ? null : { event, timestamp, duration };
    if (isKnown) return null;
    this.#reported.push(timestamp);
    if (this.#reported.length > REMEMBERED) this.#reported.shift();
    return goesOn ? null : key;
  }
}
