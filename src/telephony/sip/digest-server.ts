import { createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { isEqualSecret } from '../../base/secret.js';
import { type Challenge, digestResponse, parseFields } from './digest.js';
import type { SipRequest } from './message.js';
import { numberOf, quoted } from './scan.js';
import { parseSipUri } from './uri.js';

export type DigestAlgorithm = 'SHA-256' | 'MD5';

export interface DigestServerOptions {
  clock: Clock;
  /** The authentication realm, shown to callers. */
  realm: string;
  /** Null = unknown name. */
  passwordOf: (user: string) => string | null;
  /** Unpredictable letters and digits, for nonces. */
  token: () => string;
  /** Known only to this process: signs nonces, so that none need be stored before it is used. */
  secret: string;
  /** Accepted algorithms, in order of preference (RFC 8760, 2.4). Default SHA-256, MD5. */
  algorithms?: readonly DigestAlgorithm[];
  /** Lifetime of a nonce. Default 5 min. */
  nonceMs?: number;
  /** Maximum number of used nonces; the oldest become stale. Default 10 000. */
  most?: number;
}

/** The result of a proof. `stale`: it is right, but its nonce is too old or forgotten. */
export type Verdict = { kind: 'proved'; user: string } | { kind: 'none' | 'wrong' | 'stale' | 'replayed' };

const NONCE_MS = 5 * 60_000;
const MOST_NONCES = 10_000;
const ALGORITHMS = ['SHA-256', 'MD5'] as const;

/**
 * Authenticates callers with digest authentication (RFC 3261, 22; RFC 7616; RFC 8760): MD5 and SHA-256, `qop=auth`. A
 * nonce is valid for one address, and each of its counts for one request, so an overheard proof cannot be reused.
 */
export class DigestServer {
  readonly #options: DigestServerOptions;
  /** The highest count by nonce, in the order of first use. */
  readonly #used = new Map<string, { count: number; madeMs: number }>();
  /** Nonces up to this time were forgotten. */
  #forgottenMs = -Infinity;

  constructor(options: DigestServerOptions) {
    this.#options = options;
  }

  /** The values of `WWW-Authenticate`, one per line. */
  challenges(address: string, isStale: boolean): string[] {
    const { clock, token, realm, algorithms = ALGORITHMS } = this.#options;
    const made = `${Math.floor(clock.nowMs()).toString(36)}.${token()}`;
    const nonce = `${made}.${this.#signature(made, address)}`;
    const stale = isStale ? ', stale=true' : '';
    return algorithms.map(
      (algorithm) =>
        `Digest realm=${quoted(realm)}, nonce=${quoted(nonce)}, algorithm=${algorithm}, qop="auth"${stale}`,
    );
  }

  /** @param address source of the request */
  verify(request: SipRequest, address: string): Verdict {
    const { realm } = this.#options;
    for (const line of request.headers.lines('authorization')) {
      const fields = parseFields(line);
      if (fields !== null && fields.get('realm') === realm) return this.#verify(fields, request, address);
    }
    return { kind: 'none' };
  }

  #verify(fields: ReadonlyMap<string, string>, request: SipRequest, address: string): Verdict {
    const user = fields.get('username') ?? '';
    const nonce = fields.get('nonce') ?? '';
    const cnonce = fields.get('cnonce') ?? '';
    const { algorithms = ALGORITHMS } = this.#options;
    const algorithm = algorithms.find((known) => known === (fields.get('algorithm') ?? 'MD5').toUpperCase());
    const count = countOf(fields.get('nc') ?? '');
    const isOurs = this.#isOurs(nonce, address);
    const isWhole = count !== null && cnonce !== '' && fields.get('qop')?.toLowerCase() === 'auth';
    if (algorithm === undefined || !isOurs || !isWhole || !isFor(fields.get('uri') ?? '', request.uri))
      return { kind: 'wrong' };
    const challenge: Challenge = {
      realm: this.#options.realm,
      nonce,
      opaque: null,
      algorithm,
      qop: 'auth',
      stale: false,
    };
    const password = this.#options.passwordOf(user);
    // An unknown name takes the same time as a known one, so timing reveals nothing.
    const { method, body } = request;
    const uri = fields.get('uri') ?? '';
    const right = digestResponse({ challenge, user, password: password ?? 'none', method, uri, count, cnonce, body });
    if (!isEqualSecret(right, (fields.get('response') ?? '').toLowerCase()) || password === null)
      return { kind: 'wrong' };
    return this.#use(nonce, count) ?? { kind: 'proved', user };
  }

  /** Null = this count of the nonce was unused. */
  #use(nonce: string, count: number): Verdict | null {
    const { clock, nonceMs = NONCE_MS, most = MOST_NONCES } = this.#options;
    const nowMs = clock.nowMs();
    const madeMs = madeMsOf(nonce);
    const used = this.#used.get(nonce);
    if (used === undefined && madeMs <= this.#forgottenMs) return { kind: 'stale' };
    if (nowMs - madeMs > nonceMs) return { kind: 'stale' };
    if (used !== undefined && count <= used.count) return { kind: 'replayed' };
    if (used !== undefined) used.count = count;
    else this.#used.set(nonce, { count, madeMs });
    for (const [oldest, entry] of this.#used) {
      const isOld = nowMs - entry.madeMs > nonceMs;
      if (!isOld && this.#used.size <= most) break;
      this.#used.delete(oldest);
      if (!isOld) this.#forgottenMs = Math.max(this.#forgottenMs, entry.madeMs);
    }
    return null;
  }

  #isOurs(nonce: string, address: string): boolean {
    const end = nonce.lastIndexOf('.');
    return end > 0 && isEqualSecret(this.#signature(nonce.slice(0, end), address), nonce.slice(end + 1).toLowerCase());
  }

  #signature(made: string, address: string): string {
    return createHmac('sha256', this.#options.secret).update(`${made} ${address}`).digest('hex').slice(0, 32);
  }
}

function madeMsOf(nonce: string): number {
  return Number.parseInt(nonce.slice(0, nonce.indexOf('.')), 36);
}

/**
 * Whether the proof is for this request. Some clients leave out the called user and prove for the server (sipp does); a
 * proxy may have rewritten the rest.
 */
function isFor(proved: string, requested: string): boolean {
  const [one, other] = [parseSipUri(proved), parseSipUri(requested)];
  if (proved === requested) return true;
  return one !== null && one.host === other?.host && (one.user === null || one.user === other.user);
}

/** `nc`: eight hexadecimal digits. */
function countOf(text: string): number | null {
  return /^[0-9a-f]{8}$/i.test(text) ? numberOf(String(Number.parseInt(text, 16)), 2 ** 32 - 1) : null;
}
