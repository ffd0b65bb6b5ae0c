import { parseJson } from '../../base/json.js';
import { encodeUrlText } from '../../base/url-text.js';
import { ParleyError } from '../../base/errors.js';

/** Statuses that are worth a retry, besides all 5xx. */
const PASSING = new Set([408, 409, 425, 429]);
/** Maximum length of a vendor's error text, in characters. */
const MAX_REASON_CHARS = 500;

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
 * PROVIDER_REFUSED. Both have the detail `status`.
 */
export function statusError(provider: string, status: number, reason: string): ParleyError {
  const text = reason.trim().slice(0, MAX_REASON_CHARS);
  const details = { provider, status, reason: `HTTP ${String(status)}${text === '' ? '' : `: ${text}`}` };
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
