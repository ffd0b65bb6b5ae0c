import { isIP } from 'node:net';
import * as z from 'zod';
import { baseUrlSchema, isUrl, secretSchema } from '../schema/setting.js';
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

/** A language model that the operator adds. */
export const modelEntrySchema = z.strictObject({
  /** The adapter that talks to it. Default `openai`: any server with OpenAI's chat completions. */
  provider: nameSchema.optional(),
  /** The API's root with its version. Default: `openaiBaseUrl`. */
  baseUrl: baseUrlSchema.optional(),
  /** Default: `openaiApiKey` where `baseUrl` is not given, else none. */
  apiKey: secretSchema.optional(),
  /** The server's own name of the model. Default: the id. */
  model: nameSchema.optional(),
});

/** A voice in place of all those of a provider. */
export const voiceSubstituteSchema = z.strictObject({
  provider: nameSchema,
  /** Default: the provider's own choice for the language. */
  voiceId: nameSchema.exactOptional(),
  model: nameSchema.exactOptional(),
});

export type VoiceSubstitute = z.infer<typeof voiceSubstituteSchema>;

/** An address of the operator's own: it may be a private one. */
export const operatorAddressSchema = z.strictObject({ url: baseUrlSchema, headers: headersSchema.exactOptional() });

/** Names as they stand in front of `__` in the names of the server's tools. */
export const mcpNameSchema = z.string().regex(/^[A-Za-z0-9-]{1,32}$/, 'Input should be 1 to 32 letters, digits or -');
const mcpSharedShape = {
  /** Ids of the agents that get its tools. Default: all agents. */
  agents: z.array(nameSchema).exactOptional(),
  /** How long one call may take, in seconds. Default 30. */
  timeout: z.int().min(1).max(300).exactOptional(),
};

/** A server of the Model Context Protocol: reached over HTTP, or run as a command. */
export const mcpServerSchema = z.union([
  z.strictObject({ url: baseUrlSchema, headers: headersSchema.exactOptional(), ...mcpSharedShape }),
  z.strictObject({
    command: nameSchema,
    args: z.array(z.string().max(4_000)).max(100).exactOptional(),
    /** Comes on top of PATH, HOME and the like; secrets of parley's own environment are not passed on. */
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

/** Where else than to public addresses an agent's requests may go. */
export const allowUrlSchema = z.string().refine((text) => isUrl(text, ['http:', 'https:', 'ws:', 'wss:']), {
  error: 'Input should be an origin such as http://127.0.0.1:9000, or a full address',
  params: { type: 'url_parsing' },
});

/** A key of Standard Webhooks, with which what parley sends is signed. */
export const webhookSecretSchema = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'Input should be whsec_ and 24 to 64 bytes as base64');
