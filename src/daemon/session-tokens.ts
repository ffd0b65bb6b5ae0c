import { randomBytes } from 'node:crypto';

/** How long a token can be used. */
const LIFETIME_MS = 60_000;
/** Tokens kept at most; the oldest give way. */
const MAX_TOKENS = 10_000;

export interface SessionToken {
  token: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** Tokens that a public key mints and that open one session each. They live in memory only. */
export class SessionTokens {
  readonly #expiry = new Map<string, number>();
  readonly #unixMs: () => number;

  constructor(unixMs: () => number) {
    this.#unixMs = unixMs;
  }

  mint(): SessionToken {
    this.#sweep();
    const token = `st_${randomBytes(24).toString('base64url')}`;
    const expiresMs = this.#unixMs() + LIFETIME_MS;
    this.#expiry.set(token, expiresMs);
    return { token, expiresAt: Math.floor(expiresMs / 1000) };
  }

  /** Uses a token up. Returns whether it was good. */
  redeem(token: string): boolean {
    const expiresMs = this.#expiry.get(token);
    this.#expiry.delete(token);
    return expiresMs !== undefined && expiresMs > this.#unixMs();
  }

  #sweep(): void {
    const now = this.#unixMs();
    for (const [token, expiresMs] of this.#expiry) {
      if (expiresMs > now && this.#expiry.size < MAX_TOKENS) break; // in order of their making
      this.#expiry.delete(token);
    }
  }
}
