import { parseJson } from '../../base/json.js';
import { encodeUrlText } from '../../base/url-text.js';
import { type ErrorDetails, ParleyError, reasonOf } from '../../base/errors.js';

/** Statuses that a retry can clear, in addition to all 5xx. */
const PASSING = new Set([408, 409, 425, 429]);
/** Maximum length of a vendor's error text, in characters. */
const MAX_REASON_CHARS = 500;

/** What the operator can do about a status. */
const STATUS_REMEDIES: Readonly<Record<number, string>> = {
  401: 'check its API key',
  402: 'add credit to its account',
  403: 'check its API key and what the key may use',
  404: 'check the model, the voice and the base URL',
  429: 'wait, or ask the vendor for a higher limit',
};

const CHECK_CERTIFICATE = 'check the base URL, or set NODE_EXTRA_CA_CERTS to the certificate of your proxy or server';

/** What the operator can do about a failed connection, by the code of Node.js or undici. */
const CONNECTION_REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'start the server, or check the base URL',
  ENOTFOUND: 'check the network and the host name in the base URL',
  EAI_AGAIN: 'check the network and the host name in the base URL',
  EHOSTUNREACH: 'check the network and the firewall',
  ENETUNREACH: 'check the network and the firewall',
  ETIMEDOUT: 'check the network and the firewall',
  UND_ERR_CONNECT_TIMEOUT: 'check the network and the firewall',
  CERT_HAS_EXPIRED: CHECK_CERTIFICATE,
  DEPTH_ZERO_SELF_SIGNED_CERT: CHECK_CERTIFICATE,
  ERR_TLS_CERT_ALTNAME_INVALID: CHECK_CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: CHECK_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CHECK_CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CHECK_CERTIFICATE,
};

/** Redacts keys, and values that follow typical key names, in a text for logs or users. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret === '') continue;
    for (const form of new Set([secret, encodeUrlText(secret)])) clean = clean.replaceAll(form, '***');
  }
  return clean.replace(/\b(bearer|token|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***');
}

/**
 * Maps a vendor's HTTP status to PROVIDER_FAILED if a retry can succeed (408, 409, 425, 429, 5xx), else
 * PROVIDER_REFUSED. Both have the detail `status`, and a remedy for common statuses.
 * @param waitMs how long the vendor asks to wait, for the detail `retryAfterMs`. Null or left out = it does not say
 */
export function statusError(
  provider: string,
  status: number,
  reason: string,
  waitMs: number | null = null,
): ParleyError {
  const text = reason.trim().slice(0, MAX_REASON_CHARS);
  const said = `HTTP ${String(status)}${text === '' ? '' : `: ${text}`}`;
  const known = { provider, status, reason: withRemedy(said, STATUS_REMEDIES[status]) };
  const details: ErrorDetails = waitMs === null ? known : { ...known, retryAfterMs: waitMs };
  const isPassing = PASSING.has(status) || status >= 500;
  return new ParleyError(isPassing ? 'PROVIDER_FAILED' : 'PROVIDER_REFUSED', details);
}

/** A transient failure of a vendor. */
export function failed(provider: string, reason: string, cause?: unknown): ParleyError {
  const details = { provider, reason: reason.slice(0, MAX_REASON_CHARS) };
  return new ParleyError('PROVIDER_FAILED', details, cause === undefined ? undefined : { cause });
}

/** A permanent refusal, such as a wrong key or an unknown model. */
export function refused(provider: string, reason: string): ParleyError {
  return new ParleyError('PROVIDER_REFUSED', { provider, reason: reason.slice(0, MAX_REASON_CHARS) });
}

/**
 * The message of a failed connection, with a remedy for common failures. A host name with several addresses fails with
 * one error for all of them, which has no message of its own.
 */
export function connectionReason(error: unknown): string {
  const attempts: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
  const said = reasonOf(error) || [...new Set(attempts.map(reasonOf))].join(', ') || 'the connection failed';
  const code = (error as { code?: unknown } | null)?.code;
  return withRemedy(said, typeof code === 'string' ? CONNECTION_REMEDIES[code] : undefined);
}

function withRemedy(reason: string, remedy: string | undefined): string {
  return remedy === undefined ? reason : `${reason}; ${remedy}`;
}

/** The error message in a vendor's reply body, from the usual places, else the text. Never throws. */
export function messageIn(body: string): string {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch {
    return /<html|<!doctype/i.test(body) ? '' : body;
  }
  for (let depth = 0; depth < 3 && typeof value === 'object' && value !== null; depth++) {
    const object = value as Readonly<Record<string, unknown>>;
    const names = ['error', 'message', 'err_msg', 'detail', 'details', 'reason', 'description', 'error_message'];
    const found = names.map((name) => object[name]).find((one) => one !== undefined && one !== null && one !== '');
    if (found === undefined) break;
    value = found;
  }
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
