import { parseJson } from '../../base/json.js';
import { encodeUrlText } from '../../schema/text.js';
import { ParleyError } from '../../base/errors.js';

/** Statuses after which the same request may well succeed; all of 5xx besides. */
const PASSING = new Set([408, 409, 425, 429]);
/** Longest reason of a vendor's that is passed on, in characters. */
const MAX_REASON_CHARS = 500;

/** Takes keys, and what follows the words that keys come behind, out of a text that may be shown or logged. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret === '') continue;
    for (const form of new Set([secret, encodeUrlText(secret)])) clean = clean.replaceAll(form, '***');
  }
  return clean.replace(/\b(bearer|token|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***');
}

/**
 * What a vendor's HTTP status means: PROVIDER_FAILED where trying again can help (408, 409, 425, 429, 5xx), else
 * PROVIDER_REFUSED. Both have the detail `status`.
 */
export function statusError(provider: string, status: number, reason: string): ParleyError {
  const text = reason.trim().slice(0, MAX_REASON_CHARS);
  const details = { provider, status, reason: `HTTP ${String(status)}${text === '' ? '' : `: ${text}`}` };
  const isPassing = PASSING.has(status) || status >= 500;
  return new ParleyError(isPassing ? 'PROVIDER_FAILED' : 'PROVIDER_REFUSED', details);
}

/** A vendor failed in a way that trying again can help against. */
export function failed(provider: string, reason: string, cause?: unknown): ParleyError {
  const details = { provider, reason: reason.slice(0, MAX_REASON_CHARS) };
  return new ParleyError('PROVIDER_FAILED', details, cause === undefined ? undefined : { cause });
}

/** A vendor will not do what was asked of it, however often it is asked: a wrong key, an unknown model. */
export function refused(provider: string, reason: string): ParleyError {
  return new ParleyError('PROVIDER_REFUSED', { provider, reason: reason.slice(0, MAX_REASON_CHARS) });
}

/**
 * What a vendor says in the body of a refusal: its message, from the places where vendors put one, else the text.
 * Never throws.
 */
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
