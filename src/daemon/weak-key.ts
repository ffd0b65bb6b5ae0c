import type { Settings } from '../config/settings.js';
import { isLoopbackName } from './access.js';

/** Shorter keys can be guessed: 16 characters of 64 kinds are 96 bits. */
const LEAST_CHARS = 16;
/** A key of fewer different characters was made by hand. */
const LEAST_KINDS = 6;

/** Whether the private key of the settings can be guessed. */
export function weakKey({ apiKey, host, publicUrl, trustedProxies }: Settings): {
  /** In words, with what to do; null = the key is good. */
  fault: string | null;
  /** Others can reach the daemon: it must not start with such a key. */
  isExposed: boolean;
} {
  const isExposed = !isLoopbackName(host) || publicUrl !== null || trustedProxies.length > 0;
  const isWeak = apiKey !== null && (apiKey.length < LEAST_CHARS || new Set(apiKey).size < LEAST_KINDS);
  const fault = `apiKey (PARLEY_API_KEY) can be guessed: it needs ${String(LEAST_CHARS)} characters or more that are not all alike. \`openssl rand -base64 32\` makes one`;
  return { fault: isWeak ? fault : null, isExposed };
}
