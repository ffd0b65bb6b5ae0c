import { randomBytes } from 'node:crypto';
import { unixSeconds } from '../../base/real-clock.js';
import type { PublicKey } from './access.js';

/** How long a token can be used. */
const LIFETIME_MS = 60_000;
/** Tokens kept at most; the oldest give way. */
const MAX_TOKENS = 10_000;

export interface SessionToken {
  token: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** Tokens that a public key mints and that open one session each, as the key could. They live in memory only. */
export class SessionTokens {
  readonly #minted = new Map<string, { expiresMs: number; key: PublicKey }>();
  readonly #nowUnixMs: () => number;

  constructor(nowUnixMs: () => number) {
    this.#nowUnixMs = nowUnixMs;
  }

  mint(key: PublicKey): SessionToken {
    this.#sweep();
    const token = `st_${randomBytes(24).toString('base64url')}`;
    const expiresMs = this.#nowUnixMs() + LIFETIME_MS;
    this.#minted.set(token, { expiresMs, key });
    return { token, expiresAt: unixSeconds(expiresMs) };
  }

  /** Uses a token up. Returns the key that minted it, null where it is not good (any more). */
  redeem(token: string): PublicKey | null {
    const minted = this.#minted.get(token);
    this.#minted.delete(token);
    return minted !== undefined && minted.expiresMs > this.#nowUnixMs() ? minted.key : null;
  }

  #sweep(): void {
    const now = this.#nowUnixMs();
    for (const [token, { expiresMs }] of this.#minted) {
      if (expiresMs > now && this.#minted.size < MAX_TOKENS) break; // in order of their making
      this.#minted.delete(token);
    }
  }
}
