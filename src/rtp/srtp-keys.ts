import { randomBytes } from 'node:crypto';
import type { CryptoLine } from './sdp.js';

/** Ways to protect packets (RFC 4568, 6.2; RFC 7714, 14.2), the ones that we offer first. */
export const SRTP_SUITES = ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32', 'AEAD_AES_128_GCM'] as const;
export type SrtpSuite = (typeof SRTP_SUITES)[number];

/** A master key and salt. */
export interface SrtpKey {
  suite: SrtpSuite;
  /** 16 bytes. */
  key: Uint8Array;
  /** 14 bytes; 12 with AEAD. */
  salt: Uint8Array;
}

const KEY_BYTES = 16;
const SALT_BYTES: Readonly<Record<SrtpSuite, number>> = {
  AES_CM_128_HMAC_SHA1_80: 14,
  AES_CM_128_HMAC_SHA1_32: 14,
  AEAD_AES_128_GCM: 12,
};

export function newSrtpKey(suite: SrtpSuite): SrtpKey {
  return { suite, key: randomBytes(KEY_BYTES), salt: randomBytes(SALT_BYTES[suite]) };
}

/** The key of a line of SDP; null for suites, lengths and parameters that are not ours. */
export function keyOfLine({ suite, inline, isExtended }: CryptoLine): SrtpKey | null {
  const known = SRTP_SUITES.find((each) => each === suite);
  const bytes = Buffer.from(inline, 'base64');
  if (known === undefined || isExtended || bytes.length !== KEY_BYTES + SALT_BYTES[known]) return null;
  return { suite: known, key: bytes.subarray(0, KEY_BYTES), salt: bytes.subarray(KEY_BYTES) };
}

export function lineOfKey({ suite, key, salt }: SrtpKey, tag: number): CryptoLine {
  return { tag, suite, inline: Buffer.concat([key, salt]).toString('base64'), isExtended: false };
}

export function isSameKey(one: SrtpKey, other: SrtpKey): boolean {
  return (
    one.suite === other.suite && Buffer.compare(one.key, other.key) === 0 && Buffer.compare(one.salt, other.salt) === 0
  );
}
