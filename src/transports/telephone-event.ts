const KEYS = '0123456789*#ABCD';

/**
 * Reads keys from the packets of telephone events (RFC 4733, 2.3). A key comes in many packets, some of which are lost,
 * and from browsers only the last ones are sent: whichever comes first tells it, and its timestamp tells it from the next.
 */
export class TelephoneEvents {
  #last: number | null = null;

  /** @returns the key, at its first packet; null for the others, for events that are no keys and for junk */
  read(payload: Uint8Array, timestamp: number): string | null {
    const key = payload.length >= 4 ? KEYS[payload[0] ?? KEYS.length] : undefined;
    if (key === undefined || timestamp === this.#last) return null;
    this.#last = timestamp;
    return key;
  }
}
