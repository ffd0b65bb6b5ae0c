import { timingSafeEqual } from 'node:crypto';

/** Compares two secrets or signatures in a time that does not depend on where they differ. */
export function isEqualSecret(one: string | Buffer, other: string | Buffer): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The 32 bytes of an encryption key, written as base64 (of either alphabet) or hexadecimal; null for anything else. */
export function secretKeyBytes(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[\w+/-]{43}=?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 32 ? bytes : null;
}
