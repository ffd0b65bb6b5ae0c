import type { CallHistory } from './generated/schemas.js';

/** What the daemon's `callWebhook` receives. `session_data_webhook` of an agent receives the `CallHistory` itself. */
export interface CallMessage {
  type: 'call.started' | 'call.ended';
  /** ISO 8601. */
  timestamp: string;
  data: CallHistory;
}

/** Headers of a request: of `fetch`, of Node, or of a framework. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** The most that the message's time may differ from now, in seconds. Default 300. */
  toleranceS?: number | undefined;
  /** Now, in milliseconds. Default `Date.now()`. */
  nowMs?: number | undefined;
}

/** A message that is not from the daemon, too old, or changed on the way. Answer it with status 400 or 401. */
export class ParleyWebhookError extends Error {
  override readonly name = 'ParleyWebhookError';
}

/**
 * Checks the signature of a message to a webhook (Standard Webhooks 1.0) and returns its content. Check each
 * `webhook-id` against those you know: a message may arrive twice.
 * @param body the body as it arrived, before it is parsed
 * @param secret `whsec_…`, the daemon's `webhookSecret`; several while you replace it
 * @throws ParleyWebhookError
 */
export async function verifyWebhook<T = CallMessage>(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceS = 300, nowMs = Date.now() }: WebhookOptions = {},
): Promise<T> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => {
    const value = headerOf(headers, name);
    if (value === '') throw new ParleyWebhookError(`The request has no ${name}`);
    return value;
  }) as [string, string, string];
  const ageS = nowMs / 1000 - (/^\d+$/.test(timestamp) ? Number(timestamp) : NaN);
  if (!(Math.abs(ageS) <= toleranceS)) {
    throw new ParleyWebhookError(`webhook-timestamp is not within ${String(toleranceS)} s of now`);
  }
  const text = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + text.length);
  signed.set(head);
  signed.set(text, head.length);
  for (const each of [secret].flat()) {
    const key = await keyOf(each);
    for (const signature of signatures.split(' ')) {
      const [version, value = ''] = signature.split(',', 2);
      const bytes = version === 'v1' ? bytesOf(value) : null;
      // `verify` compares in constant time.
      if (bytes !== null && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return parsed(text) as T;
    }
  }
  throw new ParleyWebhookError('No signature of the message is by this secret');
}

function headerOf(headers: WebhookHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : (found?.join(' ') ?? '');
}

function keyOf(secret: string): ReturnType<typeof crypto.subtle.importKey> {
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0) throw new TypeError('The secret is whsec_ and base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** Null = it is no base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
}

function parsed(text: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(text));
  } catch {
    throw new ParleyWebhookError('The message is no JSON');
  }
}
