import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { ParleyError } from '../../../base/errors.js';

/** DER prefix of a 32-byte Ed25519 key (RFC 8410, 4). */
const DER_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
/** Maximum age of a webhook, also into the future, as in Telnyx's SDKs. */
export const TOLERANCE_S = 300;

/**
 * The account's webhook key, as shown in Mission Control: 32 bytes in base64.
 * @throws ParleyError CONFIG_INVALID
 */
export function publicKeyOf(base64: string): KeyObject {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 32) {
    throw new ParleyError('CONFIG_INVALID', { reason: "Telnyx's public key should be 32 bytes in base64" });
  }
  return createPublicKey({ key: Buffer.concat([DER_HEAD, bytes]), format: 'der', type: 'spki' });
}

/**
 * Whether a webhook is Telnyx's and recent: the Ed25519 signature covers its timestamp, a bar and the raw body.
 * (developers.telnyx.com, Webhook signature verification; telnyx 7.24.0 agrees with it in the tests.)
 */
export function isSigned(
  key: KeyObject,
  headers: Readonly<Record<string, string | undefined>>,
  body: Buffer,
  unixMs: number,
): boolean {
  const timestamp = headers['telnyx-timestamp'] ?? '';
  const signature = Buffer.from(headers['telnyx-signature-ed25519'] ?? '', 'base64');
  if (!/^\d{1,12}$/.test(timestamp) || signature.length !== 64) return false;
  if (Math.abs(unixMs / 1000 - Number(timestamp)) > TOLERANCE_S) return false;
  return verify(null, Buffer.concat([Buffer.from(`${timestamp}|`), body]), key, signature);
}
