import { createHmac, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { ParleyError } from '../../../base/errors.js';
import { unixSeconds } from '../../../base/real-clock.js';
import { isEqualSecret } from '../../../base/secret.js';
import { InvalidConfigError } from '../../../schema/issues.js';
import type { KeyStore } from '../../../store/keys.js';
import type { Keys } from '../../../store/secret-keys.js';
import { type SessionRequestBody, sessionSchema } from './session-config.js';

export const clientSecretSchema = z.looseObject({
  expires_after: z
    .looseObject({ anchor: z.literal('created_at').nullish(), seconds: z.int().min(10).max(7_200).nullish() })
    .nullish(),
  session: sessionSchema.extend({ model: z.string().min(1).max(200) }),
});

/** What a valid secret allows: sessions with one agent, which begin as it says. */
export interface SecretClaim {
  /** Of the private key that has made it. */
  keyId: string;
  session: SessionRequestBody & { model: string };
}

export interface ClientSecretsOptions {
  /** The first one signs, all verify. */
  keys: Keys;
  apiKeys: Pick<KeyStore, 'latest'>;
  nowUnixMs: () => number;
}

const PREFIX = 'ek_';
const DEFAULT_SECONDS = 600;
const NONCE_BYTES = 12;
const TIME_BYTES = 6;
/** Of HMAC-SHA256, truncated (RFC 2104, 5). */
const SIGNATURE_BYTES = 16;
/** Browsers send a secret in a header, and servers limit headers. */
const MAX_SESSION_BYTES = 4_000;
const MAX_CHARS = 8_000;

/**
 * Secrets for pages and apps. Each opens sessions with one agent until it expires. It is signed and has all that it
 * says, so any node can check it: base64url of nonce, time of expiry, session as JSON, and signature.
 */
export class ClientSecrets {
  readonly #options: ClientSecretsOptions;

  constructor(options: ClientSecretsOptions) {
    this.#options = options;
  }

  /** @throws InvalidConfigError if the session is too long for a secret */
  mint(
    { expires_after: expires, session }: z.output<typeof clientSecretSchema>,
    keyId: string,
  ): { value: string; expiresAt: number } {
    const { keys, nowUnixMs } = this.#options;
    const expiresMs = Math.floor(nowUnixMs()) + (expires?.seconds ?? DEFAULT_SECONDS) * 1_000;
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUIntBE(expiresMs, 0, TIME_BYTES);
    const claim = Buffer.from(JSON.stringify({ keyId, session }));
    if (claim.length > MAX_SESSION_BYTES) {
      const msg = `The session is longer than ${String(MAX_SESSION_BYTES)} bytes; put long instructions into the agent`;
      throw new InvalidConfigError([{ loc: ['body', 'session'], msg, type: 'value_error' }]);
    }
    const body = Buffer.concat([randomBytes(NONCE_BYTES), time, claim]);
    const value = PREFIX + Buffer.concat([body, signatureOf(keys[0], body)]).toString('base64url');
    return { value, expiresAt: unixSeconds(expiresMs) };
  }

  /**
   * Null = it is no secret of this form.
   * @throws ParleyError AUTH_REQUIRED for one that is not valid any more
   */
  async read(secret: string): Promise<SecretClaim | null> {
    const { keys, apiKeys, nowUnixMs } = this.#options;
    if (!secret.startsWith(PREFIX)) return null;
    const bytes = Buffer.from(secret.slice(PREFIX.length), 'base64url');
    if (secret.length > MAX_CHARS || bytes.length < NONCE_BYTES + TIME_BYTES + SIGNATURE_BYTES) throw refused();
    const body = bytes.subarray(0, -SIGNATURE_BYTES);
    const signature = bytes.subarray(-SIGNATURE_BYTES);
    if (!keys.some((key) => isEqualSecret(signature, signatureOf(key, body)))) throw refused();
    if (body.readUIntBE(NONCE_BYTES, TIME_BYTES) <= nowUnixMs()) throw refused();
    const claim = JSON.parse(body.subarray(NONCE_BYTES + TIME_BYTES).toString()) as SecretClaim;
    // The key may have been revoked in the meantime.
    if ((await apiKeys.latest(claim.keyId)) === null) throw refused();
    return claim;
  }
}

function refused(): ParleyError {
  return new ParleyError('AUTH_REQUIRED');
}

/** The key also signs URLs and session tokens, so the purpose is part of what is signed. */
function signatureOf(key: Buffer, body: Buffer): Buffer {
  return createHmac('sha256', key).update('client secret\n').update(body).digest().subarray(0, SIGNATURE_BYTES);
}
