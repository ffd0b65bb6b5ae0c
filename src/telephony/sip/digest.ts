import { createHash } from 'node:crypto';
import type { SipRequest, SipResponse } from './message.js';
import { quoted, splitOutside, trimmed, unquoted } from './scan.js';

export interface Credentials {
  user: string;
  password: string;
}

/** A server's challenge (RFC 3261, 22; RFC 7616; RFC 8760). */
export interface Challenge {
  realm: string;
  nonce: string;
  opaque: string | null;
  algorithm: 'MD5' | 'MD5-sess' | 'SHA-256' | 'SHA-256-sess';
  /** Null = RFC 2069. */
  qop: 'auth' | 'auth-int' | null;
  /** The previous answer was right, but its nonce was too old. */
  stale: boolean;
}

/** In order of preference. */
const ALGORITHMS = ['SHA-256', 'SHA-256-sess', 'MD5', 'MD5-sess'] as const;
/** Maximum number of remembered realms: a trunk has one or two. */
const MOST_REALMS = 8;

/** Parses `Digest name=value, …`; null for another scheme or unusable values. */
export function parseChallenge(text: string): Challenge | null {
  const fields = parseFields(text);
  if (fields === null) return null;
  const written = fields.get('algorithm') ?? 'MD5';
  const algorithm = ALGORITHMS.find((known) => known.toLowerCase() === written.toLowerCase());
  const nonce = fields.get('nonce');
  if (algorithm === undefined || nonce === undefined) return null;
  const offered = fields.get('qop')?.toLowerCase().split(',').map(trimmed) ?? [];
  const qop = offered.includes('auth') ? 'auth' : offered.includes('auth-int') ? 'auth-int' : null;
  if (offered.length > 0 && qop === null) return null;
  return {
    realm: fields.get('realm') ?? '',
    nonce,
    opaque: fields.get('opaque') ?? null,
    algorithm,
    qop,
    stale: fields.get('stale')?.toLowerCase() === 'true',
  };
}

/** The fields of `Digest name=value, …`, names in lower case. */
export function parseFields(text: string): ReadonlyMap<string, string> | null {
  const scheme = /^Digest[ \t]+/i.exec(text);
  const pieces = scheme === null ? null : splitOutside(text.slice(scheme[0].length), ',');
  if (pieces === null) return null;
  const fields = new Map<string, string>();
  for (const piece of pieces) {
    const equals = piece.indexOf('=');
    const value = unquoted(trimmed(piece.slice(equals + 1)));
    if (equals < 1 || value === null) return null;
    fields.set(trimmed(piece.slice(0, equals)).toLowerCase(), value);
  }
  return fields;
}

export interface ProofParts extends Credentials {
  challenge: Challenge;
  method: string;
  /** As in the request. */
  uri: string;
  /** Count of uses of this nonce, from 1. */
  count: number;
  cnonce: string;
  body: Uint8Array;
}

/** The `response` field (RFC 7616, 3.4.1). */
export function digestResponse({ challenge, user, password, method, uri, count, cnonce, body }: ProofParts): string {
  const { algorithm, realm, nonce, qop } = challenge;
  const hash = (text: string | Uint8Array): string =>
    createHash(algorithm.startsWith('MD5') ? 'md5' : 'sha256')
      .update(text)
      .digest('hex');
  let secret = hash(`${user}:${realm}:${password}`);
  if (algorithm.endsWith('-sess')) secret = hash(`${secret}:${nonce}:${cnonce}`);
  const what = hash(qop === 'auth-int' ? `${method}:${uri}:${hash(body)}` : `${method}:${uri}`);
  if (qop === null) return hash(`${secret}:${nonce}:${what}`);
  return hash(`${secret}:${nonce}:${countText(count)}:${cnonce}:${qop}:${what}`);
}

interface Known {
  header: 'authorization' | 'proxy-authorization';
  challenge: Challenge;
  count: number;
}

/** Authenticates requests: stores servers' challenges and signs requests with them. */
export class DigestClient {
  readonly #credentials: Credentials;
  readonly #token: () => string;
  readonly #known = new Map<string, Known>();

  constructor(credentials: Credentials, token: () => string) {
    this.#credentials = credentials;
    this.#token = token;
  }

  /**
   * Stores the challenge of a 401 or 407.
   * @param request the refused one
   * @returns whether to send the request again, signed: not if the last proof was refused
   */
  learn(response: SipResponse, request: SipRequest): boolean {
    const proxy = response.status === 407;
    const header = proxy ? 'proxy-authorization' : 'authorization';
    const asked = response.headers
      .lines(proxy ? 'proxy-authenticate' : 'www-authenticate')
      .map(parseChallenge)
      .filter((challenge) => challenge !== null)
      .sort((one, other) => ALGORITHMS.indexOf(one.algorithm) - ALGORITHMS.indexOf(other.algorithm));
    const realms = new Set<string>();
    let isNew = false;
    for (const challenge of asked) {
      if (realms.has(challenge.realm)) continue; // a stronger one of this realm came first
      realms.add(challenge.realm);
      const tried = request.headers.lines(header).some((line) => {
        const fields = parseFields(line);
        return (
          fields?.get('realm') === challenge.realm && (fields.get('nonce') === challenge.nonce || !challenge.stale)
        );
      });
      const known = this.#known.get(`${header} ${challenge.realm}`);
      // Retries once with a new nonce if the last one was from an earlier request: servers forget without saying
      // `stale`.
      const wasOld = known !== undefined && known.count > 1 && known.challenge.nonce !== challenge.nonce;
      if (tried && !wasOld) continue;
      if (this.#known.size >= MOST_REALMS) this.#known.clear();
      this.#known.set(`${header} ${challenge.realm}`, { header, challenge, count: 0 });
      isNew = true;
    }
    return isNew;
  }

  /** Adds a proof for each realm that has challenged. */
  sign(request: SipRequest): void {
    request.headers.remove('authorization').remove('proxy-authorization');
    for (const known of this.#known.values()) {
      known.count++;
      request.headers.add(known.header, this.#proof(known, request));
    }
  }

  #proof({ challenge, count }: Known, { method, uri, body }: SipRequest): string {
    const { realm, nonce, opaque, algorithm, qop } = challenge;
    const cnonce = this.#token();
    const response = digestResponse({ ...this.#credentials, challenge, method, uri, count, cnonce, body });
    const fields = [
      `username=${quoted(this.#credentials.user)}`,
      `realm=${quoted(realm)}`,
      `nonce=${quoted(nonce)}`,
      `uri=${quoted(uri)}`,
      `response="${response}"`,
      `algorithm=${algorithm}`,
      ...(qop === null && !algorithm.endsWith('-sess') ? [] : [`cnonce=${quoted(cnonce)}`]),
      ...(qop === null ? [] : [`qop=${qop}`, `nc=${countText(count)}`]),
      ...(opaque === null ? [] : [`opaque=${quoted(opaque)}`]),
    ];
    return `Digest ${fields.join(', ')}`;
  }
}

function countText(count: number): string {
  return count.toString(16).padStart(8, '0');
}
