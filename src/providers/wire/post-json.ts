import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import { Deadlines } from '../deadlines.js';
import { type JsonObject, parseObject } from './json.js';
import { connectionReason, failed, messageIn, statusError, withoutSecrets } from './vendor-error.js';

export interface PostOptions {
  /** The vendor's name in errors. */
  provider: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: object;
  /** Timeout for the whole reply. */
  timeoutMs: number;
  /** Keys to redact in errors. */
  secrets: readonly string[];
  clock: Clock;
  signal: AbortSignal;
}

const MAX_REPLY_CHARS = 262_144;

/**
 * One small request to a vendor; the reply is a JSON object.
 * @throws ParleyError PROVIDER_TIMEOUT, PROVIDER_REFUSED, PROVIDER_FAILED; the signal's reason when it is aborted
 */
export async function postJson(options: PostOptions): Promise<JsonObject> {
  const { provider, url, headers, body, timeoutMs, secrets, clock, signal } = options;
  const deadlines = new Deadlines(clock, provider, signal);
  deadlines.within(timeoutMs);
  try {
    const { request } = await import('../../base/undici.js');
    const reply = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: JSON.stringify(body),
      headersTimeout: 0,
      bodyTimeout: 0,
      signal: deadlines.signal,
    });
    let text = '';
    for await (const chunk of reply.body.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MAX_REPLY_CHARS) throw failed(provider, 'its reply is too long');
    }
    if (reply.statusCode >= 300) {
      throw statusError(provider, reply.statusCode, withoutSecrets(messageIn(text), secrets));
    }
    const read = parseObject(text);
    if (read === null) throw failed(provider, 'its reply is not a JSON object');
    return read;
  } catch (error) {
    if (deadlines.signal.aborted) throw deadlines.signal.reason;
    throw error instanceof ParleyError
      ? error
      : failed(provider, withoutSecrets(connectionReason(error), secrets), error);
  } finally {
    deadlines.end();
  }
}
