import { createHash, createHmac } from 'node:crypto';

/** An access key of AWS or of a compatible store. */
export interface AccessKey {
  id: string;
  secret: string;
  /** Of a temporary key; null = it is permanent. */
  sessionToken: string | null;
}

/** Where a signature is valid. */
export interface SigningScope {
  key: AccessKey;
  region: string;
  /** The service's name: `s3`. */
  service: string;
}

export interface SignableRequest {
  /** Upper case. */
  method: string;
  /** With the port, if the request has one. */
  host: string;
  /** Encoded as it is sent. */
  path: string;
  query: Readonly<Record<string, string>>;
  /** Names in lower case. All are signed. */
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hexadecimal, or `UNSIGNED-PAYLOAD`. */
  payload: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
/** SHA-256 of an empty body. */
export const EMPTY_PAYLOAD = sha256('');

/**
 * The headers of a request with its signature in `authorization`: AWS Signature Version 4
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
 * @param unixMs a signature is valid for 15 minutes around this time
 */
export function signed(request: SignableRequest, scope: SigningScope, unixMs: number): Record<string, string> {
  const time = timeOf(unixMs);
  const headers: Record<string, string> = { ...request.headers, host: request.host, 'x-amz-date': time };
  if (scope.key.sessionToken !== null) headers['x-amz-security-token'] = scope.key.sessionToken;
  const names = Object.keys(headers).sort();
  const canonical = canonicalRequest({ ...request, headers }, names);
  const authorization =
    `${ALGORITHM} Credential=${scope.key.id}/${scopeOf(scope, time)}, ` +
    `SignedHeaders=${names.join(';')}, Signature=${signatureOf(canonical, scope, time)}`;
  return { ...headers, authorization };
}

/**
 * The query of a link that needs no key until it expires
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html).
 * @param lifeS at most 604,800
 */
export function presignedQuery(
  request: Pick<SignableRequest, 'method' | 'host' | 'path' | 'query'>,
  scope: SigningScope,
  { unixMs, lifeS }: { unixMs: number; lifeS: number },
): string {
  const time = timeOf(unixMs);
  const query: Record<string, string> = {
    ...request.query,
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${scope.key.id}/${scopeOf(scope, time)}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(lifeS),
    'X-Amz-SignedHeaders': 'host',
  };
  if (scope.key.sessionToken !== null) query['X-Amz-Security-Token'] = scope.key.sessionToken;
  const headers = { host: request.host };
  const canonical = canonicalRequest({ ...request, query, headers, payload: 'UNSIGNED-PAYLOAD' }, ['host']);
  return `${queryText(query)}&X-Amz-Signature=${signatureOf(canonical, scope, time)}`;
}

/** Percent-encodes all but unreserved characters (RFC 3986). */
export function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A query as it is signed and sent: sorted by its encoded names. */
export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function canonicalRequest(
  { method, path, query, headers, payload }: SignableRequest,
  names: readonly string[],
): string {
  const lines = names.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}\n`);
  return [method, path, queryText(query), lines.join(''), names.join(';'), payload].join('\n');
}

function signatureOf(canonical: string, scope: SigningScope, time: string): string {
  const { key, region, service } = scope;
  const text = [ALGORITHM, time, scopeOf(scope, time), sha256(canonical)].join('\n');
  const parts = [time.slice(0, 8), region, service, 'aws4_request'];
  const signingKey = parts.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${key.secret}`);
  return hmac(signingKey, text).toString('hex');
}

function scopeOf({ region, service }: SigningScope, time: string): string {
  return `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
}

/** `20130524T000000Z` */
function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
