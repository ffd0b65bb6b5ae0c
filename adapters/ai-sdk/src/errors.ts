import { APICallError, AISDKError } from '@ai-sdk/provider';
import { ParleyError } from '@parley-voice/parley';
import { failed, refused, statusError, withoutSecrets } from '@parley-voice/parley/providers';

/** Errors of the SDK that the same request runs into again. */
const REFUSALS = new Set([
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
  'AI_UnsupportedFunctionalityError',
  'AI_InvalidPromptError',
  'AI_InvalidArgumentError',
]);

/**
 * What a model threw or reported, as parley names it. The SDK's error is not handed on as the cause: it holds the whole
 * request.
 */
export function parleyError(provider: string, error: unknown, secrets: readonly string[]): ParleyError {
  if (error instanceof ParleyError) return error;
  const reason = withoutSecrets(wordsOf(error), secrets);
  if (APICallError.isInstance(error)) {
    if (error.statusCode !== undefined && error.statusCode >= 400) {
      return statusError(provider, error.statusCode, reason);
    }
    return failed(provider, reason);
  }
  if (AISDKError.isInstance(error) && REFUSALS.has(error.name)) return refused(provider, reason);
  return failed(provider, reason);
}

/** A failure in the middle of a stream may be anything: an Error, a text, a vendor's object. */
export function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  if (typeof error === 'string') return error;
  const message = (error as { message?: unknown } | null | undefined)?.message;
  return typeof message === 'string' ? message : (JSON.stringify(error) ?? 'no reason given');
}
