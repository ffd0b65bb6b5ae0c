import * as z from 'zod';
import { agentConfigSchema } from '../agent/agent.js';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE } from './campaign-schedule.js';
import { failoverSchema } from './failover.js';
import { fileLocationSchema } from './file-location.js';
import { DEFAULT_LANGUAGE, languageSchema } from '../agent/language.js';
import { pricesSchema } from './prices.js';
import { secretKeyBytes } from '../base/secret.js';
import { baseUrlSchema, passwordSchema, secretSchema, setting } from '../schema/field.js';
import { fileJsonSchema } from '../schema/source.js';
import {
  type CallGuards,
  callsSchema,
  campaignsSchema,
  DEFAULT_CALL_GUARDS,
  DEFAULT_EVALS,
  DEFAULT_LIMITS,
  DEFAULT_MEDIA,
  DEFAULT_WEBRTC,
  evalsSchema,
  type EvalSettings,
  type Limits,
  limitsSchema,
  mediaSchema,
  type MediaSettings,
  type WebRtcSettings,
  webRtcSchema,
} from './setting-groups.js';
import {
  allowUrlSchema,
  mcpNameSchema,
  mcpServerSchema,
  modelEntrySchema,
  nameSchema,
  networkSchema,
  operatorAddressSchema,
  originSchema,
  voiceSubstituteSchema,
  webhookSecretSchema,
} from './setting-items.js';
import { DEFAULT_SIP, sipSchema, type SipSettings } from './carriers/sip.js';
import { DEFAULT_PLIVO, plivoSchema, type PlivoSettings } from './carriers/plivo.js';
import { DEFAULT_TELNYX, telnyxSchema, type TelnyxSettings } from './carriers/telnyx.js';
import { DEFAULT_TWILIO, twilioSchema, type TwilioSettings } from './carriers/twilio.js';
import { phraseSchema, timezoneSchema } from '../schema/text.js';
import { vendorsSchema } from './vendor-settings.js';

const secretKeySchema = z.string().refine((text) => secretKeyBytes(text) !== null, {
  error: 'Input should be 32 bytes as base64 or hexadecimal, such as openssl rand -base64 32 prints',
  params: { type: 'secret_key' },
});
/** All but `status`: a client cannot enable a disabled agent. */
const OVERRIDABLE_FIELDS = Object.keys(agentConfigSchema.shape).filter((field) => field !== 'status');

/** The settings file. Every member is optional; environment variables and flags set single members. */
export const settingsFileSchema = z.strictObject({
  port: setting(z.int().min(0).max(65_535), 'Port to listen on; 0 = any free port.', { env: 'PARLEY_PORT' }),
  host: setting(nameSchema, 'Address to listen on.', { env: 'PARLEY_HOST' }),
  basePath: setting(
    z
      .string()
      .max(200)
      .regex(
        /^(?:\/|(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+)$/,
        'Input should be a path such as /parley, without a slash at its end',
      ),
    'Path before all paths of the daemon, such as `/parley`, see [embedding](embedding.md#the-base-path). `publicUrl` ends ' +
      'with it.',
    { env: 'PARLEY_BASE_PATH' },
  ),
  dataDir: setting(nameSchema, 'Folder for all stored data.', { env: 'PARLEY_DATA_DIR' }),
  databaseUrl: setting(
    z
      .string()
      .regex(/^postgres(?:ql)?:\/\/./, 'Input should be the address of a PostgreSQL database: postgres://…')
      .nullable(),
    'PostgreSQL database for all stored data, `postgres://user:password@host:port/database`, shared by all ' +
      '[nodes](scale-out.md). Unset = SQLite in `dataDir`.',
    { env: 'PARLEY_DATABASE_URL', secret: true },
  ),
  nodeUrl: setting(
    baseUrlSchema.nullable(),
    'Address at which other [nodes](scale-out.md#nodes) reach this one, such as http://10.0.0.1:8080. Unset = where it ' +
      'listens, if `host` is the address of one interface.',
    { env: 'PARLEY_NODE_URL' },
  ),
  nodePublicUrl: setting(
    baseUrlSchema.nullable(),
    'Address at which clients and carriers reach this node and no other one, for media that must come back to it. Unset ' +
      '= `publicUrl`; other nodes then pass on what is for this one.',
    { env: 'PARLEY_NODE_PUBLIC_URL' },
  ),
  nodeTimeoutS: setting(
    z.number().min(1).max(600),
    'A node without a heartbeat for this long counts as dead: another one closes its calls.',
    { env: 'PARLEY_NODE_TIMEOUT_S', unit: 's' },
  ),
  files: setting(
    fileLocationSchema.nullable(),
    'S3-compatible store for recordings and traces, `s3://bucket/prefix?region=…`, see [files in ' +
      'S3](scale-out.md#files-in-s3). Unset = `dataDir`.',
    { env: 'PARLEY_FILES' },
  ),
  filesAccessKeyId: setting(secretSchema.nullable(), 'Id of the access key for `files`.', {
    env: 'AWS_ACCESS_KEY_ID',
    secret: true,
  }),
  filesSecretAccessKey: setting(secretSchema.nullable(), 'The secret of that access key.', {
    env: 'AWS_SECRET_ACCESS_KEY',
    secret: true,
  }),
  filesSessionToken: setting(
    z
      .string()
      .max(10_000)
      .regex(/^[\x21-\x7e]+$/, 'Input should be printable characters without spaces')
      .nullable(),
    'Token of a temporary access key. Unset = the key is permanent.',
    { env: 'AWS_SESSION_TOKEN', secret: true },
  ),
  apiKey: setting(
    secretSchema.nullable(),
    'First private API key. Unset = the first start generates one and prints it.',
    { env: 'PARLEY_API_KEY', secret: true },
  ),
  publicKey: setting(
    secretSchema.nullable(),
    "Public API key, also used by the daemon's own page. Unset = the page gets a new key at each start, or " +
      'on PostgreSQL one that all nodes have.',
    { env: 'PARLEY_PUBLIC_KEY', secret: true },
  ),
  secretKey: setting(
    secretKeySchema.nullable(),
    'Key that encrypts secrets in the database, see [keys](keys.md#secrets-at-rest): 32 bytes, as base64 or hexadecimal. ' +
      'Unset = a generated key in the data folder.',
    { env: 'PARLEY_SECRET_KEY', secret: true },
  ),
  oldSecretKeys: setting(
    z.array(secretKeySchema),
    'Other values of `secretKey`, earlier ones or the next one. On SQLite, each start encrypts what they encrypted with ' +
      'the current key; on PostgreSQL, `parley keys rotate` does.',
    { env: 'PARLEY_OLD_SECRET_KEYS', secret: true },
  ),
  signingKey: setting(
    secretKeySchema.nullable(),
    'Key that signs links and session tokens, see [keys](keys.md#the-signing-key): 32 bytes, as base64 or hexadecimal. ' +
      'Unset = a generated key in the data folder.',
    { env: 'PARLEY_SIGNING_KEY', secret: true },
  ),
  oldSigningKeys: setting(
    z.array(secretKeySchema),
    'Other values of `signingKey`, earlier ones or the next one. What they have signed is valid, too.',
    { env: 'PARLEY_OLD_SIGNING_KEYS', secret: true },
  ),
  publicUrl: setting(
    baseUrlSchema.nullable(),
    'Address at which clients reach the daemon, such as https://calls.example.com, for the links it returns. Unset = the ' +
      'address of the request, or the one it listens on.',
    { env: 'PARLEY_PUBLIC_URL' },
  ),
  trustedProxies: setting(
    z.array(networkSchema).max(1_000),
    'Addresses and CIDR blocks of reverse proxies whose headers about the client (address, host, scheme) are trusted, see ' +
      '[behind a proxy](operation.md#behind-a-proxy).',
    { env: 'PARLEY_TRUSTED_PROXIES' },
  ),
  forwardedHeader: setting(
    z.enum(['x-forwarded-for', 'forwarded']),
    'Header that trusted proxies set: `X-Forwarded-For` with `X-Forwarded-Proto` and `X-Forwarded-Host`, or `Forwarded` ' +
      '(RFC 7239). The other one is ignored, because a client may have sent it.',
    { env: 'PARLEY_FORWARDED_HEADER' },
  ),
  allowUrls: setting(
    z.array(allowUrlSchema),
    'Private addresses that agents may call: exact origins or full addresses.',
    { env: 'PARLEY_ALLOW_URLS' },
  ),
  allowedOrigins: setting(
    z.array(originSchema),
    "Web origins whose pages may open sessions, in addition to the daemon's own; * = all.",
    { env: 'PARLEY_ALLOWED_ORIGINS' },
  ),
  allowMissingOrigin: setting(
    z.boolean().nullable(),
    'Whether clients without an `Origin` header (anything but browsers) may open sessions with a public key. Unset = only ' +
      'if the daemon listens on loopback.',
    { env: 'PARLEY_ALLOW_MISSING_ORIGIN' },
  ),
  publicAgentConfigFields: setting(
    z.array(z.enum(OVERRIDABLE_FIELDS)),
    'AgentConfig fields that clients with a public key may set for their session, see ' +
      '[the talk socket](talk-socket.md#initiate).',
    { env: 'PARLEY_PUBLIC_AGENT_CONFIG_FIELDS' },
  ),
  talkLeadMs: setting(
    z.int().min(0).max(500),
    'How far the audio of the [talk socket](talk-socket.md#audio) runs ahead of real time, so that clients without a ' +
      'jitter buffer play it without gaps; 0 = real time.',
    { env: 'PARLEY_TALK_LEAD_MS', unit: 'ms' },
  ),
  listening: setting(
    z.boolean(),
    'Whether holders of a private key for calls may [listen in](live-calls.md#listening-in). Never to calls whose agent ' +
      'opts out of data collection.',
    { env: 'PARLEY_LISTENING' },
  ),
  listeningAnnouncement: setting(
    phraseSchema.nullable(),
    'What the agent tells the caller before anybody listens in. Unset = nothing.',
    { env: 'PARLEY_LISTENING_ANNOUNCEMENT' },
  ),
  page: setting(z.boolean(), 'Whether to serve a page at `/`. Anyone who can reach it can talk to every agent.', {
    env: 'PARLEY_PAGE',
  }),
  regions: setting(
    z.record(nameSchema, baseUrlSchema),
    'Addresses by region name, such as `us`: a widget with that `region` connects to the address. Only in the file.',
  ),
  openaiApiKey: setting(secretSchema.nullable(), "API key for OpenAI's models and voices.", {
    env: 'OPENAI_API_KEY',
    secret: true,
  }),
  openaiBaseUrl: setting(baseUrlSchema, "Base URL of OpenAI's API or a compatible one.", { env: 'OPENAI_BASE_URL' }),
  ollamaHost: setting(nameSchema, 'Address of a local Ollama.', { env: 'OLLAMA_HOST' }),
  vendors: setting(
    vendorsSchema,
    'Keys and addresses of other vendors: `{apiKey?, baseUrl?}` by name. Each also has an environment variable, see ' +
      '[vendors](#vendors).',
    { secret: true },
  ),
  vad: setting(
    nameSchema.nullable(),
    'Voice activity detection: silero, silero-gated (for machines with many calls) or webrtc. Unset = silero.',
    { env: 'PARLEY_VAD' },
  ),
  stt: setting(
    nameSchema.nullable(),
    'Default recogniser, for agents that name none. Unset = the embedded recogniser.',
    { env: 'PARLEY_STT' },
  ),
  sttModel: setting(
    nameSchema.nullable(),
    'Default model of the recogniser `sherpa`: a name from `parley models list`, or a folder. Unset = the only installed ' +
      'model.',
    { env: 'PARLEY_STT_MODEL' },
  ),
  pocketSphinx: setting(
    z.boolean(),
    'Whether the embedded recogniser also asks [PocketSphinx](stt.md#the-second-recogniser) with a general language ' +
      'model, where it is installed.',
    { env: 'PARLEY_POCKETSPHINX' },
  ),
  denoiseModel: setting(
    nameSchema.nullable(),
    'Noise suppression model, for agents that enable it: a name from `parley models list`, or a file. Unset = RNNoise.',
    { env: 'PARLEY_DENOISE_MODEL' },
  ),
  turnModelPath: setting(
    nameSchema.nullable(),
    'Audio model that detects the end of a turn: an ONNX file, or a name from `parley models list`, both with the ' +
      'package onnxruntime-node or onnxruntime-web; or a JSON file of `parley turn train`. Unset = the only installed ' +
      'one, if the package is there; `none` = none.',
    { env: 'PARLEY_TURN_MODEL_PATH' },
  ),
  modelsDir: setting(
    nameSchema.nullable(),
    'Folder of [local models](providers/local.md). Unset = `models` in `dataDir`.',
    { env: 'PARLEY_MODELS_DIR' },
  ),
  modelsUrl: setting(
    baseUrlSchema.nullable(),
    "Mirror for `parley models pull`; a file is at `<host>/<path>` of its publisher's address. Unset = the publishers.",
    { env: 'PARLEY_MODELS_URL' },
  ),
  modelThreads: setting(z.int().min(1).max(64), 'Processor threads per local model.', {
    env: 'PARLEY_MODEL_THREADS',
  }),
  modelIdleMinutes: setting(
    z.int().min(0).max(10_080),
    'Unloads local models that agents name after this many idle minutes; 0 = never. Models in the settings stay loaded.',
    { env: 'PARLEY_MODEL_IDLE_MINUTES' },
  ),
  speculation: setting(
    z.boolean(),
    'Whether to start answers at a likely pause, before it is certain that the user has finished.',
    { env: 'PARLEY_SPECULATION' },
  ),
  speculationTokens: setting(
    z.int().min(0).max(1_000_000),
    'Tokens (estimated) that answers begun while the user still speaks may cost in a turn, see ' +
      '[speculation](flow/speculation.md#budget); 0 = none is begun before the user stops.',
    { env: 'PARLEY_SPECULATION_TOKENS' },
  ),
  speculationCost: setting(
    z.number().min(0).max(1_000_000).nullable(),
    "The same in the unit of `prices`, by the model's prices there. Unset = no limit.",
    { env: 'PARLEY_SPECULATION_COST' },
  ),
  llmModel: setting(
    nameSchema.nullable(),
    'Default language model, for agents that name none. Unset = the best one found.',
    { env: 'PARLEY_LLM_MODEL' },
  ),
  tts: setting(
    nameSchema.nullable(),
    'Default voice provider, for agents that name none. Unset = the embedded voice.',
    { env: 'PARLEY_TTS' },
  ),
  voiceId: setting(nameSchema.nullable(), "Default voice, for agents that name none. Unset = the provider's default.", {
    env: 'PARLEY_VOICE_ID',
  }),
  failover: setting(
    failoverSchema,
    'Fallbacks for providers that fail or are slow, see [failover](failover.md): `{stt?, llm?, tts?}`, each a list, and ' +
      '`embeddedVoice?`: false = the embedded voice is not the last fallback; `hedgePercentile?`: a late model is asked a ' +
      'second time. Only in the file.',
  ),
  voiceSubstitutes: setting(
    z.record(nameSchema, voiceSubstituteSchema),
    'Replacements of voice providers, by provider name: `{provider, voiceId?, model?}`. Only in the file.',
  ),
  language: setting(languageSchema, 'Default language.', { env: 'PARLEY_LANGUAGE' }),
  timezone: setting(timezoneSchema, 'Default time zone.', { env: 'PARLEY_TIMEZONE' }),
  maxDurationS: setting(z.number().positive().max(86_400), 'Longest session, for agents that set no limit.', {
    env: 'PARLEY_MAX_DURATION_S',
    unit: 's',
  }),
  logLevel: setting(z.enum(['debug', 'info', 'warn', 'error', 'silent']), 'Lowest level that is logged.', {
    env: 'PARLEY_LOG_LEVEL',
  }),
  logFormat: setting(
    z.enum(['auto', 'json', 'text']),
    'Format of the log on standard error; `auto` = text on a terminal, otherwise JSON lines.',
    { env: 'PARLEY_LOG_FORMAT' },
  ),
  otlpEndpoint: setting(
    baseUrlSchema.nullable(),
    'Collector for OpenTelemetry traces (OTLP over HTTP, JSON), without `/v1/traces`. Unset = no traces are sent.',
    { env: 'OTEL_EXPORTER_OTLP_ENDPOINT' },
  ),
  otlpHeaders: setting(z.string().max(4_000).nullable(), 'Headers of trace requests: `name=value,name=value`.', {
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    secret: true,
  }),
  otlpServiceName: setting(nameSchema, 'Name of this daemon in traces (`service.name`).', { env: 'OTEL_SERVICE_NAME' }),
  otlpResource: setting(
    z.string().max(4_000).nullable(),
    'Further resource attributes of traces: `name=value,name=value`, such as `deployment.environment.name=production`.',
    { env: 'OTEL_RESOURCE_ATTRIBUTES' },
  ),
  metrics: setting(
    z.enum(['local', 'key', 'open']),
    'Who may read `/metrics` without a private key: requests from this machine (`local`), nobody (`key`), anyone (`open`).',
    { env: 'PARLEY_METRICS' },
  ),
  tlsCertPath: setting(
    nameSchema.nullable(),
    'PEM file with the certificate and its chain; turns HTTPS on. A changed file is read within 10 s.',
    { env: 'PARLEY_TLS_CERT_PATH' },
  ),
  tlsKeyPath: setting(nameSchema.nullable(), "PEM file with the certificate's private key.", {
    env: 'PARLEY_TLS_KEY_PATH',
  }),
  drainS: setting(
    z.number().min(0).max(86_400),
    'How long running conversations may continue at shutdown; new ones are refused meanwhile.',
    { env: 'PARLEY_DRAIN_S', unit: 's' },
  ),
  models: setting(
    z.record(nameSchema, modelEntrySchema),
    'Language models by id: `{provider?, baseUrl?, apiKey?, model?}`. Only in the file.',
  ),
  embeddingModel: setting(
    nameSchema.nullable(),
    "Embedding model for searching the knowledge base by meaning: an id of `models`, or one of OpenAI's. Unset = search by " +
      'words only.',
    { env: 'PARLEY_EMBEDDING_MODEL' },
  ),
  memoryRetentionDays: setting(z.number().positive().max(36_500), 'How long agents keep memories of a session.', {
    env: 'PARLEY_MEMORY_RETENTION_DAYS',
    unit: 'days',
  }),
  retentionDays: setting(
    z.number().positive().max(36_500),
    'How long the call log keeps calls and their transcripts, see [call logs](call-logs.md#how-long-calls-are-kept).',
    { env: 'PARLEY_RETENTION_DAYS', unit: 'days' },
  ),
  recordingRetentionDays: setting(
    z.number().positive().max(36_500),
    'How long recordings and traces are kept; never longer than their calls.',
    { env: 'PARLEY_RECORDING_RETENTION_DAYS', unit: 'days' },
  ),
  traces: setting(
    z.boolean(),
    'Whether to keep the event log of every session, for `/call-logs/{session_id}/trace` and `parley replay`.',
    { env: 'PARLEY_TRACES' },
  ),
  pauseFeatures: setting(
    z.boolean(),
    "Whether traces note the prosody before each of the users' pauses (pitch, loudness, rate; no audio, no words), for " +
      '`parley turn export`. Never of sessions that opted out. Switch it on only with the consent that the law wants.',
    { env: 'PARLEY_PAUSE_FEATURES' },
  ),
  prices: setting(
    pricesSchema,
    'Prices for the cost breakdown of calls, see [call logs](call-logs.md#costs). Only in the file.',
  ),
  webhookSecret: setting(
    webhookSecretSchema.nullable(),
    'Key that signs requests to `session_data_webhook` (Standard Webhooks): `whsec_` and base64. Unset = not signed.',
    { env: 'PARLEY_WEBHOOK_SECRET', secret: true },
  ),
  serviceWebhooks: setting(
    z.record(nameSchema, operatorAddressSchema),
    'Webhooks of service functions, by function name: `{url, headers?}`. Only in the file.',
  ),
  appBaseUrls: setting(
    z.record(nameSchema, baseUrlSchema),
    'Base URLs that replace the public APIs of apps, by app name (`cal.com`). Only in the file.',
  ),
  plugins: setting(
    z.array(nameSchema).max(50),
    'Files of [plug-ins](plugins.md), relative to the working folder. `--plugin FILE` names one, and can be repeated.',
    { env: 'PARLEY_PLUGINS' },
  ),
  mcpServers: setting(
    z.record(mcpNameSchema, mcpServerSchema),
    'MCP servers whose tools agents can use, see [tools](tools.md#mcp): `{url, headers?, oauth?}` or `{command, args?, env?}`, ' +
      'with `agents?` and `timeout?`. Only in the file.',
  ),
  callWebhook: setting(
    operatorAddressSchema.nullable(),
    'Webhook for the start and end of calls, see [calls](calls.md#webhooks): `{url, headers?}`. Only in the file.',
  ),
  inboundWebhook: setting(
    operatorAddressSchema.nullable(),
    'Chooses or builds the agent of each inbound call, see [calls](calls.md#inbound-calls): `{url, headers?}`. Only in ' +
      'the file.',
  ),
  calls: setting(callsSchema, 'Limits on outbound calls. Only in the file.'),
  campaigns: setting(campaignsSchema, 'Default schedule of campaigns. Only in the file.'),
  webrtc: setting(webRtcSchema, 'WebRTC: ICE servers, ports and addresses. Only in the file.'),
  sipPassword: setting(passwordSchema.nullable(), 'Password of `sip.user`.', {
    env: 'PARLEY_SIP_PASSWORD',
    secret: true,
  }),
  sip: setting(sipSchema, 'SIP trunks and PBXs, see [SIP](sip.md). Only in the file.'),
  twilioAuthToken: setting(secretSchema.nullable(), 'Auth token of `twilio.accountSid`.', {
    env: 'PARLEY_TWILIO_AUTH_TOKEN',
    secret: true,
  }),
  twilio: setting(twilioSchema, 'A Twilio account, see [Twilio](twilio.md). Only in the file.'),
  telnyxApiKey: setting(secretSchema.nullable(), 'API key of the Telnyx account.', {
    env: 'PARLEY_TELNYX_API_KEY',
    secret: true,
  }),
  telnyx: setting(telnyxSchema, 'A Telnyx account, see [Telnyx](telnyx.md). Only in the file.'),
  plivoAuthToken: setting(secretSchema.nullable(), 'Auth token of `plivo.authId`.', {
    env: 'PARLEY_PLIVO_AUTH_TOKEN',
    secret: true,
  }),
  plivo: setting(plivoSchema, 'A Plivo account, see [Plivo](plivo.md). Only in the file.'),
  media: setting(mediaSchema, 'Threads for media. Only in the file.'),
  evals: setting(evalsSchema, 'Runs of test suites, see [evals](evals-daemon.md#settings). Only in the file.'),
  limits: setting(limitsSchema, 'Limits on requests, sessions and sizes. Only in the file.'),
});

export type SettingsFile = z.infer<typeof settingsFileSchema>;

/** The whole file. `$schema` is where editors find its JSON Schema. */
export const settingsDocumentSchema = settingsFileSchema.extend({ $schema: z.string().exactOptional() });

/** JSON Schema of settings files, for editors; `data/settings.schema.json` holds it. */
export function settingsJsonSchema(): Readonly<Record<string, unknown>> {
  return fileJsonSchema(settingsDocumentSchema, 'parley settings', 'Settings of `parley serve`.');
}

/** The settings in effect: what the operator has set, and defaults. */
export type Settings = Required<
  Omit<
    SettingsFile,
    'limits' | 'calls' | 'campaigns' | 'evals' | 'media' | 'webrtc' | 'sip' | 'twilio' | 'telnyx' | 'plivo'
  >
> & {
  webrtc: WebRtcSettings;
  sip: SipSettings;
  twilio: TwilioSettings;
  telnyx: TelnyxSettings;
  plivo: PlivoSettings;
  media: MediaSettings;
  evals: EvalSettings;
  limits: Limits;
  calls: CallGuards;
  /** `timezone` is the operator's own. */
  campaigns: Omit<CampaignSchedule, 'timezone'>;
};

/** Defaults of all but `dataDir`, which depends on the user. */
export const DEFAULT_SETTINGS: Omit<Settings, 'dataDir'> = {
  port: 8080,
  host: '127.0.0.1',
  basePath: '/',
  databaseUrl: null,
  nodeUrl: null,
  nodePublicUrl: null,
  nodeTimeoutS: 10,
  files: null,
  filesAccessKeyId: null,
  filesSecretAccessKey: null,
  filesSessionToken: null,
  apiKey: null,
  publicKey: null,
  secretKey: null,
  oldSecretKeys: [],
  signingKey: null,
  oldSigningKeys: [],
  publicUrl: null,
  trustedProxies: [],
  forwardedHeader: 'x-forwarded-for',
  allowUrls: [],
  allowedOrigins: [],
  allowMissingOrigin: null,
  publicAgentConfigFields: [],
  talkLeadMs: 200,
  listening: true,
  listeningAnnouncement: null,
  page: true,
  regions: {},
  openaiApiKey: null,
  openaiBaseUrl: 'https://api.openai.com/v1',
  ollamaHost: 'http://127.0.0.1:11434',
  vendors: {},
  vad: null,
  stt: null,
  sttModel: null,
  pocketSphinx: true,
  denoiseModel: null,
  turnModelPath: null,
  modelsDir: null,
  modelsUrl: null,
  modelThreads: 1,
  modelIdleMinutes: 10,
  speculation: true,
  speculationTokens: 8_000,
  speculationCost: null,
  llmModel: null,
  tts: null,
  voiceId: null,
  failover: {},
  voiceSubstitutes: {},
  language: DEFAULT_LANGUAGE,
  timezone: 'UTC',
  maxDurationS: 3_600,
  logLevel: 'info',
  logFormat: 'auto',
  otlpEndpoint: null,
  otlpHeaders: null,
  otlpServiceName: 'parley',
  otlpResource: null,
  metrics: 'local',
  tlsCertPath: null,
  tlsKeyPath: null,
  drainS: 30,
  models: {},
  embeddingModel: null,
  memoryRetentionDays: 365,
  retentionDays: 365,
  recordingRetentionDays: 90,
  traces: true,
  pauseFeatures: false,
  prices: {},
  webhookSecret: null,
  serviceWebhooks: {},
  appBaseUrls: {},
  plugins: [],
  mcpServers: {},
  callWebhook: null,
  inboundWebhook: null,
  calls: DEFAULT_CALL_GUARDS,
  campaigns: DEFAULT_CAMPAIGN_SCHEDULE,
  webrtc: DEFAULT_WEBRTC,
  sipPassword: null,
  sip: DEFAULT_SIP,
  twilioAuthToken: null,
  twilio: DEFAULT_TWILIO,
  telnyxApiKey: null,
  telnyx: DEFAULT_TELNYX,
  plivoAuthToken: null,
  plivo: DEFAULT_PLIVO,
  media: DEFAULT_MEDIA,
  evals: DEFAULT_EVALS,
  limits: DEFAULT_LIMITS,
};
