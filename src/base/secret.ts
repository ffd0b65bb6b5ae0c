import { timingSafeEqual } from 'node:crypto';

/** Compares two secrets or signatures in a time that does not depend on where they differ. */
export function isEqualSecret(one: string | Buffer, other: string | Buffer): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
