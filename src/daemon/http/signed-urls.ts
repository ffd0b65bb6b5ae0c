import { createHmac, randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import { isEqualSecret } from '../../base/secret.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { Client } from './clients.js';

export interface SignedUrlsOptions {
  /** 32 random bytes, see `signingKey`. */
  key: Buffer;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  /** Scheme and authority that clients reach the daemon by, and a path where it stands below one. */
  base: () => string;
  /** The operator has said what that is: where a request came to does not matter. Default false. */
  isPublic?: boolean;
}

const KEY_FILE = 'signing.key';
const KEY_BYTES = 32;

/** What a signed address has in its query; the endpoint's `gate` calls `check`. */
export const signedQuery = {
  expires: z.int().describe('Unix seconds'),
  signature: z.string().max(100),
};

/**
 * Addresses on this daemon that open without a key until they expire: HMAC-SHA256 (RFC 2104) over the path and the
 * time. Whoever has the address has what it leads to, so it is given to those who may see that, and lives briefly.
 */
export class SignedUrls {
  readonly #options: SignedUrlsOptions;

  constructor(options: SignedUrlsOptions) {
    this.#options = options;
  }

  /**
   * @param path as it will be asked for: percent-encoded, without a query
   * @param base in place of the daemon's own, such as where the request came to
   */
  url(path: string, lifeS: number, base: string = this.#options.base()): string {
    const expires = unixSeconds(this.#options.nowUnixMs()) + lifeS;
    const signature = this.#signature(path, expires).toString('base64url');
    return `${base}${path}?expires=${String(expires)}&signature=${signature}`;
  }

  /** What the addresses in an answer begin with: where the request came to, unless the operator has said it. */
  baseOf({ protocol, host = '' }: Pick<Client, 'protocol' | 'host'>): string {
    const { base, isPublic = false } = this.#options;
    const asked = `${protocol}://${host}`;
    return isPublic || !URL.canParse(asked) || new URL(asked).host !== host.toLowerCase() ? base() : asked;
  }

  /**
   * @param url of the request: path and query
   * @throws ParleyError LINK_INVALID where it was not signed here, was changed or has expired
   */
  check(url: string): void {
    const [path = '', query = ''] = url.split('?', 2);
    const parameters = new URLSearchParams(query);
    const expires = Number(parameters.get('expires'));
    const given = Buffer.from(parameters.get('signature') ?? '', 'base64url');
    if (!isEqualSecret(given, this.#signature(path, expires))) {
      throw new ParleyError('LINK_INVALID', { reason: 'its signature is missing or wrong' });
    }
    if (this.#options.nowUnixMs() >= expires * 1000)
      throw new ParleyError('LINK_INVALID', { reason: 'it has expired' });
  }

  #signature(path: string, expires: number): Buffer {
    return createHmac('sha256', this.#options.key)
      .update(`${String(expires)}\n${path}`, 'utf8')
      .digest();
  }
}

/**
 * The key of a data folder, made at the first start. Without the file all addresses that were given out are void.
 * @throws what the file system refuses
 */
export function signingKey(dataDir: string): Buffer {
  const path = join(dataDir, KEY_FILE);
  const known = readKey(path);
  if (known !== null) return known;
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(fresh, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' });
  try {
    linkSync(fresh, path); // whole or not at all, and never over one that is there
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
  const key = readKey(path);
  if (key === null)
    throw new Error(`${path} is no key of ${String(KEY_BYTES)} bytes; remove it to have a new one made`);
  return key;
}

/** Null where there is none. */
function readKey(path: string): Buffer | null {
  try {
    const key = readFileSync(path);
    return key.length === KEY_BYTES ? key : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
