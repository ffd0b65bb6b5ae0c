import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import { isEqualSecret } from '../../base/secret.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { Keys } from '../../store/secret-keys.js';
import type { Client } from './clients.js';

export interface SignedUrlsOptions {
  /** Of 32 bytes. The first one signs, all verify. */
  keys: Keys;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  /** The base address at which clients reach the daemon: scheme, authority and possibly a path. */
  base: () => string;
  /** Whether the operator configured the base address. If so, the address of a request does not matter. Default false. */
  isPublic?: boolean;
  /** The base path, behind the address of a request. Default ''. */
  prefix?: string;
}

/** Query parameters of a signed URL. The endpoint's `gate` calls `check`. */
export const signedQuery = {
  expires: z.int().describe('Unix seconds'),
  signature: z.string().max(100),
};

/**
 * URLs of this daemon that need no key until they expire: HMAC-SHA256 (RFC 2104) over the path and the time. Anyone with
 * the URL can read its content, so only clients with access get one, and it expires soon.
 */
export class SignedUrls {
  readonly #options: SignedUrlsOptions;

  constructor(options: SignedUrlsOptions) {
    this.#options = options;
  }

  /**
   * @param path percent-encoded, without a query
   * @param base in place of the daemon's own, such as the address of a request
   */
  url(path: string, lifeS: number, base: string = this.#options.base()): string {
    const expires = unixSeconds(this.#options.nowUnixMs()) + lifeS;
    const signature = signatureOf(this.#options.keys[0], path, expires).toString('base64url');
    return `${base}${path}?expires=${String(expires)}&signature=${signature}`;
  }

  /** The base of URLs in an answer: the operator's, or else the address of the request. */
  baseOf({ protocol, host = '' }: Pick<Client, 'protocol' | 'host'>): string {
    const { base, isPublic = false, prefix = '' } = this.#options;
    const asked = `${protocol}://${host}`;
    return isPublic || !URL.canParse(asked) || new URL(asked).host !== host.toLowerCase() ? base() : asked + prefix;
  }

  /**
   * @param url of the request: path and query
   * @throws ParleyError LINK_INVALID if it was not signed here, was changed or has expired
   */
  check(url: string): void {
    const [path = '', query = ''] = url.split('?', 2);
    const parameters = new URLSearchParams(query);
    const expires = Number(parameters.get('expires'));
    const given = Buffer.from(parameters.get('signature') ?? '', 'base64url');
    if (!this.#options.keys.some((key) => isEqualSecret(given, signatureOf(key, path, expires)))) {
      throw new ParleyError('LINK_INVALID', { reason: 'its signature is missing or wrong' });
    }
    if (this.#options.nowUnixMs() >= expires * 1000)
      throw new ParleyError('LINK_INVALID', { reason: 'it has expired' });
  }
}

function signatureOf(key: Buffer, path: string, expires: number): Buffer {
  return createHmac('sha256', key)
    .update(`${String(expires)}\n${path}`, 'utf8')
    .digest();
}
