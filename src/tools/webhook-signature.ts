import { createHmac } from 'node:crypto';

/**
 * The headers of Standard Webhooks 1.0 (standardwebhooks/standard-webhooks, spec/standard-webhooks.md): `webhook-id`,
 * `webhook-timestamp` in Unix seconds, and `webhook-signature`, `v1,` and the base64 of HMAC-SHA256 over
 * `id.timestamp.body`, where there is a secret.
 * @param secret `whsec_` and the key as base64; null = not signed
 */
export function signatureHeaders(
  id: string,
  body: string,
  unixMs: number,
  secret: string | null,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(unixMs / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === null) return headers;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}
