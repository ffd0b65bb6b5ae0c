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
