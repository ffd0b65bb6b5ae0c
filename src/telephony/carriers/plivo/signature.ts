import { createHmac } from 'node:crypto';
import { isEqualSecret } from '../../../base/secret.js';

/** Maximum number of signatures checked per header. */
const MOST_SIGNATURES = 8;
const MOST_NONCE = 200;

/** The signed parts of a request. */
export interface SignedRequest {
  method: 'GET' | 'POST';
  /** As Plivo knows it, with its query. */
  url: string;
  /** Fields of the posted form. */
  form: URLSearchParams;
}

/**
 * Plivo's request signature, version 3: base64 of the HMAC-SHA256, with the account's auth token, of the address with
 * its sorted query, the form's fields sorted by name and value and concatenated, a dot and the nonce.
 * (docs.plivo.com/docs/voice/concepts/signature-validation, 2026-11-22; the validator of npm plivo 4.79.0 agrees with
 * it in the tests.)
 */
export function plivoSignature(authToken: string, { method, url, form }: SignedRequest, nonce: string): string {
  const [address = '', query = ''] = split(url);
  const asked = pairsOf(new URLSearchParams(query), '=').join('&');
  const posted = method === 'POST' ? pairsOf(form, '').join('') : '';
  const mark = asked !== '' || posted !== '' ? '?' : '';
  const dot = asked !== '' && posted !== '' ? '.' : '';
  return createHmac('sha256', authToken).update(`${address}${mark}${asked}${dot}${posted}.${nonce}`).digest('base64');
}

/**
 * Whether a request is Plivo's. Its header may have several signatures, by several valid auth tokens; another header
 * always has the main account's.
 *
 * @param urls possible forms of the requested address
 */
export function isSigned(
  authToken: string,
  headers: Readonly<Record<string, string | undefined>>,
  urls: readonly string[],
  { method, form }: Omit<SignedRequest, 'url'>,
): boolean {
  const nonce = headers['x-plivo-signature-v3-nonce'] ?? '';
  const shown = [headers['x-plivo-signature-v3'], headers['x-plivo-signature-ma-v3']]
    .flatMap((header) => header?.split(',') ?? [])
    .slice(0, MOST_SIGNATURES);
  if (nonce === '' || nonce.length > MOST_NONCE) return false;
  return urls.some((url) => {
    const right = plivoSignature(authToken, { method, url, form }, nonce);
    return shown.some((one) => isEqualSecret(one.trim(), right));
  });
}

function split(url: string): string[] {
  const at = url.indexOf('?');
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
}

function pairsOf(fields: URLSearchParams, between: string): string[] {
  return [...new Set(fields.keys())].sort().flatMap((name) =>
    fields
      .getAll(name)
      .sort()
      .map((value) => `${name}${between}${value}`),
  );
}
