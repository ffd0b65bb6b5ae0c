import { timingSafeEqual } from 'node:crypto';

/** Whether two secrets or signatures are the same, in a time that tells nothing of where they differ. */
export function isEqualSecret(one: string | Buffer, other: string | Buffer): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
