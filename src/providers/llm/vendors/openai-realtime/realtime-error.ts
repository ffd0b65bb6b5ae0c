import type { ParleyError } from '../../../../base/errors.js';
import { type JsonObject, textOf } from '../../../wire/json.js';
import { failed, refused, withoutSecrets } from '../../../wire/vendor-error.js';

/** Transient errors, whatever their `type`: an expired session is an `invalid_request_error` too. */
const PASSING =
  /server_error|rate_limit|timeout|overloaded|unavailable|session_expired|already_has_active_response|internal/;
const REFUSING = /invalid|quota|not_found|denied|authentication|permission|content_filter/;

/**
 * Maps an error of a Realtime API (an `error` event or a failed response) to PROVIDER_REFUSED if a retry cannot
 * succeed, else PROVIDER_FAILED.
 */
export function realtimeError(provider: string, error: JsonObject | null, secrets: readonly string[]): ParleyError {
  const code = textOf(error?.['code']) ?? '';
  const kind = `${textOf(error?.['type']) ?? ''} ${code}`;
  const said = textOf(error?.['message']) ?? '';
  const reason = withoutSecrets(said.trim() === '' ? kind.trim() || 'an error without a reason' : said, secrets);
  return !PASSING.test(kind) && REFUSING.test(kind) ? refused(provider, reason) : failed(provider, reason);
}
