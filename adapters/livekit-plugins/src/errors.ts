import { APIConnectionError, APIError, APIStatusError } from '@livekit/agents';
import { ParleyError } from '@parley-voice/parley';
import { failed, refused, statusError, withoutSecrets } from '@parley-voice/parley/providers';

/** The framework's own retries are off: parley has failover. Connecting ends with the deadlines of the stream. */
export function connectOptions(timeoutMs: number): { maxRetry: number; retryIntervalMs: number; timeoutMs: number } {
  return { maxRetry: 0, retryIntervalMs: 0, timeoutMs };
}

/** What a plug-in's `error` event tells, as parley names it. */
export function parleyError(provider: string, error: unknown, secrets: readonly string[]): ParleyError {
  if (error instanceof ParleyError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const reason = withoutSecrets(text, secrets);
  if (error instanceof APIStatusError && error.statusCode >= 400 && error.statusCode < 600) {
    return statusError(provider, error.statusCode, reason);
  }
  // `ws` tells the status of a refused connection in words only.
  const status = /unexpected server response: (\d{3})/i.exec(text)?.[1];
  if (status !== undefined) return statusError(provider, Number(status), '');
  const isFinal = error instanceof APIError && !(error instanceof APIConnectionError) && !error.retryable;
  return isFinal ? refused(provider, reason) : failed(provider, reason);
}
