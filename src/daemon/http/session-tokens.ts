import { randomBytes } from 'node:crypto';
import { unixSeconds } from '../../base/real-clock.js';
import type { PublicKey } from './access.js';

/** How long a token is valid. */
const LIFETIME_MS = 60_000;
/** The maximum of valid tokens. Beyond it, the oldest become invalid. */
const MAX_TOKENS = 10_000;

export interface SessionToken {
  token: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** Tokens of public keys. Each opens one session with the rights of its key. They exist in memory only. */
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

  /** Redeems a token. Returns the key that made it; null = the token is invalid or has expired. */
  redeem(token: string): PublicKey | null {
    const minted = this.#minted.get(token);
    this.#minted.delete(token);
    return minted !== undefined && minted.expiresMs > this.#nowUnixMs() ? minted.key : null;
  }

  #sweep(): void {
    const now = this.#nowUnixMs();
    for (const [token, { expiresMs }] of this.#minted) {
      if (expiresMs > now && this.#minted.size < MAX_TOKENS) break; // sorted by creation
      this.#minted.delete(token);
    }
  }
}
