import * as z from 'zod';
import { optional, required } from '../schema/field.js';
import { encodeUrlText } from '../base/url-text.js';
import { type Variables, fillVariables } from './variables.js';

/** Headers that the HTTP client or the connection owns. */
const RESERVED_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** An address that parley calls over HTTP; empty = none. `{Name}` variables may stand in its path and query. */
export const httpUrlSchema = urlSchema(['http:', 'https:']);

/** An address that parley dials with a WebSocket; empty = none. */
export const socketUrlSchema = urlSchema(['ws:', 'wss:']);

/** Request headers. `{Name}` variables may stand in the values. */
export const headersSchema = z
  .record(
    z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/, 'Input should be a header name'),
    // oxlint-disable-next-line no-control-regex -- control characters are what is refused
    z
      .string()
      .max(8_000)
      .regex(/^[^\u0000-\u0008\u000a-\u001f\u007f]*$/, 'Input should be a header value of one line'),
  )
  .superRefine((headers, context) => {
    for (const name of Object.keys(headers)) {
      if (!RESERVED_HEADERS.has(name.toLowerCase())) continue;
      context.addIssue({ code: 'custom', path: [name], message: `The header ${name} is set by the HTTP client` });
    }
  });

function webhookOf(url: z.ZodString, id: string, description: string) {
  return z
    .strictObject({
      url: required(url, 'Where the request goes.'),
      headers: optional(headersSchema, 'Headers sent with it.', { default: 'none' }),
    })
    .meta({ id, description });
}

export const webhookConfigSchema = webhookOf(httpUrlSchema, 'WebhookConfig', 'An HTTP address with request headers.');
export const socketConfigSchema = webhookOf(socketUrlSchema, 'SocketConfig', 'A WebSocket address with headers.');

/** An HTTP address, alone or with headers. */
export const webhookSchema = z.union([httpUrlSchema, webhookConfigSchema]);

/** A WebSocket address, alone or with headers. */
export const socketSchema = z.union([socketUrlSchema, socketConfigSchema]);

/** Where a webhook's requests go. */
export interface WebhookAddress {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** A configured webhook with its variables filled in and its headers' names in lower case; null = none. */
export function webhookAddress(
  webhook: z.infer<typeof webhookSchema> | null | undefined,
  variables: Variables,
): WebhookAddress | null {
  if (webhook === null || webhook === undefined || webhook === '') return null;
  const { url, headers } = typeof webhook === 'string' ? { url: webhook, headers: null } : webhook;
  if (url === '') return null;
  const filled = Object.entries(headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    fillVariables(value, variables),
  ]);
  return {
    url: fillVariables(url, variables, encodeUrlText),
    headers: Object.fromEntries(filled) as Record<string, string>,
  };
}

function urlSchema(protocols: readonly string[]): z.ZodString {
  const names = protocols.map((protocol) => `${protocol}//`).join(' or ');
  return z
    .string()
    .max(4_000)
    .refine((text) => text === '' || isUrl(text, protocols), {
      error: `Input should be an address that begins with ${names}, without user name or password`,
      params: { type: 'url_parsing' },
    });
}

function isUrl(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const hostIsFixed = !/[{}]|%7b|%7d/i.test(url.host);
  return protocols.includes(url.protocol) && url.username === '' && url.password === '' && hostIsFixed;
}
