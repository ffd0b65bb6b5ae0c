import { createHmac, randomBytes } from 'node:crypto';
import { unixSeconds } from '../../base/real-clock.js';
import { isEqualSecret } from '../../base/secret.js';
import { pinOf, type VersionPin } from '../../store/agents.js';
import type { Keys } from '../../store/secret-keys.js';
import type { TokenUses } from '../../store/token-uses.js';

export interface SessionTokensOptions {
  /** The first one signs, all verify. Tokens are valid in all processes with these keys and uses. */
  keys: Keys;
  uses: TokenUses;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
}

export interface SessionToken {
  token: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** A version of an agent. */
export interface AgentPin {
  agentId: string;
  version: VersionPin;
}

/** What a valid token says. */
export interface TokenClaim {
  /** The id of the public key that made it; null = the key of the daemon's own page. */
  keyId: string | null;
  /** The only agent and its version; null = those of the key. */
  pin: AgentPin | null;
}

/** How long a token is valid. */
const LIFETIME_MS = 60_000;
const PREFIX = 'st_';
const NONCE_BYTES = 12;
const TIME_BYTES = 6;
/** Of HMAC-SHA256, truncated (RFC 2104, 5). */
const SIGNATURE_BYTES = 16;
const MAX_CHARS = 400;

/**
 * Tokens. Each opens one session with the rights of its public key: it is signed, so any node can check it, and its use
 * is remembered. A token is `st_` and base64url of nonce, time of expiry, id of the key, `@`, version, `@` and agent for some,
 * and signature.
 */
export class SessionTokens {
  readonly #options: SessionTokensOptions;

  constructor(options: SessionTokensOptions) {
    this.#options = options;
  }

  /**
   * @param keyId of the public key; null = the key of the daemon's own page
   * @param pin the only agent of its session and its version; null = those of the key
   */
  mint(keyId: string | null, pin: AgentPin | null = null): SessionToken {
    const { keys, nowUnixMs } = this.#options;
    const expiresMs = Math.floor(nowUnixMs()) + LIFETIME_MS;
    const time = Buffer.alloc(TIME_BYTES);
    const only = pin === null ? '' : `@${String(pin.version)}@${pin.agentId}`;
    time.writeUIntBE(expiresMs, 0, TIME_BYTES);
    const body = Buffer.concat([randomBytes(NONCE_BYTES), time, Buffer.from(`${keyId ?? ''}${only}`)]);
    const token = PREFIX + Buffer.concat([body, signatureOf(keys[0], body)]).toString('base64url');
    return { token, expiresAt: unixSeconds(expiresMs) };
  }

  /**
   * Redeems a token; null = the token is invalid, has expired or was used.
   * @throws ParleyError DATABASE_UNREACHABLE if nobody can know whether it was used
   */
  async redeem(token: string): Promise<TokenClaim | null> {
    const { keys, uses, nowUnixMs } = this.#options;
    if (!token.startsWith(PREFIX) || token.length > MAX_CHARS) return null;
    const bytes = Buffer.from(token.slice(PREFIX.length), 'base64url');
    if (bytes.length < NONCE_BYTES + TIME_BYTES + SIGNATURE_BYTES) return null;
    const body = bytes.subarray(0, -SIGNATURE_BYTES);
    const signature = bytes.subarray(-SIGNATURE_BYTES);
    if (!keys.some((key) => isEqualSecret(signature, signatureOf(key, body)))) return null;
    const expiresMs = body.readUIntBE(NONCE_BYTES, TIME_BYTES);
    if (expiresMs <= nowUnixMs()) return null;
    const nonce = body.subarray(0, NONCE_BYTES).toString('base64url');
    if (!(await uses.use(nonce, expiresMs))) return null;
    const [keyId = '', version, ...agentId] = body
      .subarray(NONCE_BYTES + TIME_BYTES)
      .toString()
      .split('@');
    const pinned = pinOf(version ?? null);
    const pin = pinned === null ? null : { version: pinned, agentId: agentId.join('@') };
    return { keyId: keyId === '' ? null : keyId, pin };
  }
}

/** The key also signs URLs, so the purpose is part of what is signed. */
function signatureOf(key: Buffer, body: Buffer): Buffer {
  return createHmac('sha256', key).update('session token\n').update(body).digest().subarray(0, SIGNATURE_BYTES);
}
