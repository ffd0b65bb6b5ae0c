import { isIP } from 'node:net';
import * as z from 'zod';
import { baseUrlSchema, isUrl, secretSchema } from '../schema/field.js';
import { headersSchema } from '../agent/webhook.js';

/** A name, a file or a folder. */
export const nameSchema = z.string().min(1).max(200);

/** A web origin, or `*`. */
export const originSchema = z
  .string()
  .refine((text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text), {
    error: 'Input should be a web origin such as https://example.com, without a path, or *',
    params: { type: 'url_parsing' },
  });

/** A language model of the operator. */
export const modelEntrySchema = z.strictObject({
  /** The adapter. Default `openai`: any server with OpenAI's chat completions. */
  provider: nameSchema.optional(),
  /** The API's base URL with its version. Default: `openaiBaseUrl`. */
  baseUrl: baseUrlSchema.optional(),
  /** Default: `openaiApiKey` without a `baseUrl`, none with one. */
  apiKey: secretSchema.optional(),
  /** The server's name of the model. Default: the id. */
  model: nameSchema.optional(),
});

/** A voice that replaces all voices of a provider. */
export const voiceSubstituteSchema = z.strictObject({
  provider: nameSchema,
  /** Default: the provider's default voice for the language. */
  voiceId: nameSchema.exactOptional(),
  model: nameSchema.exactOptional(),
});

export type VoiceSubstitute = z.infer<typeof voiceSubstituteSchema>;

/** An address that the operator sets: it may be private. */
export const operatorAddressSchema = z.strictObject({ url: baseUrlSchema, headers: headersSchema.exactOptional() });

/** The prefix before `__` in the names of the server's tools. */
export const mcpNameSchema = z.string().regex(/^[A-Za-z0-9-]{1,32}$/, 'Input should be 1 to 32 letters, digits or -');
const mcpSharedShape = {
  /** Ids of the agents that can use its tools. Default: all agents. */
  agents: z.array(nameSchema).exactOptional(),
  /** Timeout of a call in seconds. Default 30. */
  timeout: z.int().min(1).max(300).exactOptional(),
};

/** How parley is authorized at a server. Default: a client that it registers itself, authorized by an operator. */
const mcpOAuthSchema = z
  .strictObject({
    /** The client's id, if it was registered by hand. */
    clientId: nameSchema.exactOptional(),
    clientSecret: z.string().min(1).max(2_000).exactOptional(),
    /** The authorization server that knows the client; another one does not get its secret. */
    issuer: baseUrlSchema.exactOptional(),
    /** Scopes to ask for. Default: those that the server names. */
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
      .max(100)
      .exactOptional(),
    /** `client_credentials` needs no operator, but `clientId` and `clientSecret`. */
    grant: z.enum(['authorization_code', 'client_credentials']).exactOptional(),
  })
  .refine(({ grant, clientId, clientSecret }) => grant !== 'client_credentials' || (clientId && clientSecret), {
    path: ['clientId'],
    error: 'client_credentials needs clientId and clientSecret',
    params: { type: 'missing' },
  });

export type McpOAuthSetting = z.infer<typeof mcpOAuthSchema>;

/** A server of the Model Context Protocol: reached over HTTP, or run as a command. */
export const mcpServerSchema = z.union([
  z.strictObject({
    url: baseUrlSchema,
    headers: headersSchema.exactOptional(),
    oauth: mcpOAuthSchema.exactOptional(),
    ...mcpSharedShape,
  }),
  z.strictObject({
    command: nameSchema,
    args: z.array(z.string().max(4_000)).max(100).exactOptional(),
    /** Variables in addition to PATH, HOME and the like. The server does not see parley's secrets. */
    env: z.record(z.string().min(1), z.string()).exactOptional(),
    ...mcpSharedShape,
  }),
]);

export type McpServerSetting = z.infer<typeof mcpServerSchema>;

/** An IP address, or a CIDR block of them. */
export const networkSchema = z.string().refine((text) => isNetwork(text), {
  error: 'Input should be an IP address such as 127.0.0.1, or a block such as 10.0.0.0/8 or fd00::/8',
  params: { type: 'ip_network' },
});

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...others] = text.split('/');
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : 0;
  if (bits === 0 || others.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** A private address that an agent may call. */
export const allowUrlSchema = z.string().refine((text) => isUrl(text, ['http:', 'https:', 'ws:', 'wss:']), {
  error: 'Input should be an origin such as http://127.0.0.1:9000, or a full address',
  params: { type: 'url_parsing' },
});

/** A signing key of Standard Webhooks. */
export const webhookSecretSchema = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'Input should be whsec_ and 24 to 64 bytes as base64');
