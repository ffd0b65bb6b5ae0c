import * as z from 'zod';
import { agentConfigSchema } from '../agent/agent.js';
import { type CampaignSchedule, DEFAULT_CAMPAIGN_SCHEDULE } from './campaign-schedule.js';
import { failoverSchema } from './failover.js';
import { DEFAULT_LANGUAGE, languageSchema } from '../agent/language.js';
import { pricesSchema } from './prices.js';
import { secretKeyBytes } from './secret-key.js';
import { baseUrlSchema, passwordSchema, secretSchema, setting } from '../schema/setting.js';
import {
  type CallGuards,
  callsSchema,
  campaignsSchema,
  DEFAULT_CALL_GUARDS,
  DEFAULT_LIMITS,
  DEFAULT_MEDIA,
  DEFAULT_WEBRTC,
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
import { timezoneSchema } from '../schema/text.js';
import { vendorsSchema } from './vendor-settings.js';

const secretKeySchema = z.string().refine((text) => secretKeyBytes(text) !== null, {
  error: 'Input should be 32 bytes as base64 or hexadecimal, such as openssl rand -base64 32 prints',
  params: { type: 'secret_key' },
});
/** A disabled agent stays disabled. */
const OVERRIDABLE_FIELDS = Object.keys(agentConfigSchema.shape).filter((field) => field !== 'status');

/** The configuration file, all of it optional. The environment and flags give the same members one by one. */
export const settingsFileSchema = z.strictObject({
  port: setting(z.int().min(0).max(65_535), 'Port to listen on; 0 = any free one.', { env: 'PARLEY_PORT' }),
  host: setting(nameSchema, 'Address to listen on.', { env: 'PARLEY_HOST' }),
  dataDir: setting(nameSchema, 'Folder of everything that is stored.', { env: 'PARLEY_DATA_DIR' }),
  apiKey: setting(secretSchema.nullable(), 'The first private key. Unset = one is made and printed at first start.', {
    env: 'PARLEY_API_KEY',
    secret: true,
  }),
  publicKey: setting(
    secretSchema.nullable(),
    "A public key, which the daemon's own page uses too. Unset = the page's is made anew at each start.",
    { env: 'PARLEY_PUBLIC_KEY', secret: true },
  ),
  secretKey: setting(
    secretKeySchema.nullable(),
    'Encrypts configurations in the database, see [keys](keys.md#secrets-at-rest): 32 bytes, as base64 or hexadecimal. ' +
      'Unset = one is made in the data folder.',
    { env: 'PARLEY_SECRET_KEY', secret: true },
  ),
  oldSecretKeys: setting(
    z.array(secretKeySchema),
    'Earlier values of `secretKey`: what they have encrypted is encrypted anew at the start.',
    { env: 'PARLEY_OLD_SECRET_KEYS', secret: true },
  ),
  publicUrl: setting(
    baseUrlSchema.nullable(),
    'Where clients reach the daemon, such as https://calls.example.com, for the links it gives out. Unset = where the ' +
      'request came to, or what it listens on.',
    { env: 'PARLEY_PUBLIC_URL' },
  ),
  trustedProxies: setting(
    z.array(networkSchema).max(1_000),
    'Addresses and CIDR blocks of reverse proxies: what they say of a client (address, host, scheme) is believed, see ' +
      '[behind a proxy](operation.md#behind-a-proxy).',
    { env: 'PARLEY_TRUSTED_PROXIES' },
  ),
  forwardedHeader: setting(
    z.enum(['x-forwarded-for', 'forwarded']),
    'The header that those proxies set: `X-Forwarded-For` with `X-Forwarded-Proto` and `X-Forwarded-Host`, or `Forwarded` ' +
      '(RFC 7239). The other is ignored: a client may have sent it.',
    { env: 'PARLEY_FORWARDED_HEADER' },
  ),
  allowUrls: setting(
    z.array(allowUrlSchema),
    'Exact origins or full addresses that agents may call though they are private.',
    { env: 'PARLEY_ALLOW_URLS' },
  ),
  allowedOrigins: setting(
    z.array(originSchema),
    "Web origins whose pages may talk, beside this daemon's own; * = all.",
    {
      env: 'PARLEY_ALLOWED_ORIGINS',
    },
  ),
  allowMissingOrigin: setting(
    z.boolean().nullable(),
    'Whether clients without an `Origin` header, which are no browsers, may talk with a public key. Unset = where the ' +
      'daemon listens on loopback only.',
    { env: 'PARLEY_ALLOW_MISSING_ORIGIN' },
  ),
  publicAgentConfigFields: setting(
    z.array(z.enum(OVERRIDABLE_FIELDS)),
    'Fields of AgentConfig that a client with a public key may set for its session, see ' +
      '[the talk socket](talk-socket.md#initiate).',
    { env: 'PARLEY_PUBLIC_AGENT_CONFIG_FIELDS' },
  ),
  talkLeadMs: setting(
    z.int().min(0).max(500),
    'How far the audio of the [talk socket](talk-socket.md#audio) runs ahead of real time, so that clients without a ' +
      'jitter buffer play it without gaps; 0 = it comes just in time.',
    { env: 'PARLEY_TALK_LEAD_MS', unit: 'ms' },
  ),
  page: setting(
    z.boolean(),
    'Whether there is a page at `/`, on which everybody who can reach it can talk with every agent.',
    { env: 'PARLEY_PAGE' },
  ),
  regions: setting(
    z.record(nameSchema, baseUrlSchema),
    'Gateways by name, such as `us`: where widgets whose `region` is that name connect to. Only in the file.',
  ),
  openaiApiKey: setting(secretSchema.nullable(), "Key of OpenAI's models and voices.", {
    env: 'OPENAI_API_KEY',
    secret: true,
  }),
  openaiBaseUrl: setting(baseUrlSchema, 'Root of an API that speaks as OpenAI does.', { env: 'OPENAI_BASE_URL' }),
  ollamaHost: setting(nameSchema, 'Where a local Ollama is looked for.', { env: 'OLLAMA_HOST' }),
  vendors: setting(
    vendorsSchema,
    'Keys and addresses of other vendors: `{apiKey?, baseUrl?}` by name. Each is a variable of the environment too, see ' +
      '[vendors](#vendors).',
    { secret: true },
  ),
  vad: setting(
    nameSchema.nullable(),
    'Voice activity detection: silero, silero-gated (for machines packed with calls) or webrtc. Unset = silero.',
    { env: 'PARLEY_VAD' },
  ),
  stt: setting(nameSchema.nullable(), 'Speech recognition where an agent names none. Unset = the embedded one.', {
    env: 'PARLEY_STT',
  }),
  sttModel: setting(
    nameSchema.nullable(),
    'Model of the recogniser `sherpa` where an agent names none: a name of `parley models list`, or a folder. Unset = the ' +
      'only one that is there.',
    { env: 'PARLEY_STT_MODEL' },
  ),
  denoiseModel: setting(
    nameSchema.nullable(),
    'Model that takes noise out where an agent wants that: a name of `parley models list`, or a file. Unset = RNNoise.',
    { env: 'PARLEY_DENOISE_MODEL' },
  ),
  turnModelPath: setting(
    nameSchema.nullable(),
    'ONNX file of an audio model that listens for the end of a turn, or a name of `parley models list`; needs the package ' +
      'onnxruntime-node or onnxruntime-web. Unset = none.',
    { env: 'PARLEY_TURN_MODEL_PATH' },
  ),
  modelsDir: setting(
    nameSchema.nullable(),
    'Folder of the models that run on this machine, see [local models](providers/local.md). Unset = `models` in `dataDir`.',
    { env: 'PARLEY_MODELS_DIR' },
  ),
  modelsUrl: setting(
    baseUrlSchema.nullable(),
    'Mirror that `parley models pull` fetches from, each file as `<host>/<path>` of where its publisher has it. Unset = the ' +
      'publishers.',
    { env: 'PARLEY_MODELS_URL' },
  ),
  modelThreads: setting(z.int().min(1).max(64), 'Processors that one local model may use at a time.', {
    env: 'PARLEY_MODEL_THREADS',
  }),
  modelIdleMinutes: setting(
    z.int().min(0).max(10_080),
    'Local models that agents name, and nobody has asked for so long, are unloaded; 0 = never. Those of the settings stay.',
    { env: 'PARLEY_MODEL_IDLE_MINUTES' },
  ),
  speculation: setting(
    z.boolean(),
    'Whether answers begin at a likely pause, before it is certain that the user has finished.',
    { env: 'PARLEY_SPECULATION' },
  ),
  llmModel: setting(nameSchema.nullable(), 'Language model where an agent names none. Unset = the best one found.', {
    env: 'PARLEY_LLM_MODEL',
  }),
  tts: setting(nameSchema.nullable(), 'Voice provider where an agent names none. Unset = the embedded one.', {
    env: 'PARLEY_TTS',
  }),
  voiceId: setting(nameSchema.nullable(), "Voice where an agent names none. Unset = the provider's default.", {
    env: 'PARLEY_VOICE_ID',
  }),
  failover: setting(
    failoverSchema,
    'Who stands in where a provider fails or is slow, see [failover](failover.md): `{stt?, llm?, tts?}`, a list each, and ' +
      '`embeddedVoice?`: false where no embedded voice is to speak at last. Only in the file.',
  ),
  voiceSubstitutes: setting(
    z.record(nameSchema, voiceSubstituteSchema),
    'Who speaks in place of a voice provider, by its name: `{provider, voiceId?, model?}`. Only in the file.',
  ),
  language: setting(languageSchema, 'Language where an agent names none.', { env: 'PARLEY_LANGUAGE' }),
  timezone: setting(timezoneSchema, 'Time zone where an agent names none.', { env: 'PARLEY_TIMEZONE' }),
  maxDurationS: setting(z.number().positive().max(86_400), 'Longest session where an agent sets none.', {
    env: 'PARLEY_MAX_DURATION_S',
    unit: 's',
  }),
  logLevel: setting(z.enum(['debug', 'info', 'warn', 'error', 'silent']), 'What is logged, from this level up.', {
    env: 'PARLEY_LOG_LEVEL',
  }),
  logFormat: setting(
    z.enum(['auto', 'json', 'text']),
    'How it is logged, on the standard error output; `auto` = text in a terminal, lines of JSON elsewhere.',
    { env: 'PARLEY_LOG_FORMAT' },
  ),
  otlpEndpoint: setting(
    baseUrlSchema.nullable(),
    'Where traces go, by OTLP over HTTP as JSON; `/v1/traces` is added. Unset = nowhere.',
    { env: 'OTEL_EXPORTER_OTLP_ENDPOINT' },
  ),
  otlpHeaders: setting(z.string().max(4_000).nullable(), 'Headers for that: `name=value,name=value`.', {
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    secret: true,
  }),
  otlpServiceName: setting(nameSchema, 'What traces call this daemon: `service.name`.', { env: 'OTEL_SERVICE_NAME' }),
  otlpResource: setting(
    z.string().max(4_000).nullable(),
    'What else traces say of it: `name=value,name=value`, such as `deployment.environment.name=production`.',
    { env: 'OTEL_RESOURCE_ATTRIBUTES' },
  ),
  metrics: setting(
    z.enum(['local', 'key', 'open']),
    'Who reads `/metrics` without a private key: requests from this machine (`local`), nobody (`key`), all (`open`).',
    { env: 'PARLEY_METRICS' },
  ),
  tlsCertPath: setting(
    nameSchema.nullable(),
    'PEM file of the certificate with those above it: then all is HTTPS. A changed file is read within 10 s.',
    { env: 'PARLEY_TLS_CERT_PATH' },
  ),
  tlsKeyPath: setting(nameSchema.nullable(), "PEM file of the certificate's key.", { env: 'PARLEY_TLS_KEY_PATH' }),
  drainS: setting(
    z.number().min(0).max(86_400),
    'How long conversations may go on when the daemon is told to stop; new ones are refused from then on.',
    { env: 'PARLEY_DRAIN_S', unit: 's' },
  ),
  models: setting(
    z.record(nameSchema, modelEntrySchema),
    'Language models by id: `{provider?, baseUrl?, apiKey?, model?}`. Only in the file.',
  ),
  embeddingModel: setting(
    nameSchema.nullable(),
    'Model that finds passages of the knowledge base by meaning: an id of `models`, or one of OpenAI. Unset = by words alone.',
    { env: 'PARLEY_EMBEDDING_MODEL' },
  ),
  memoryRetentionDays: setting(z.number().positive().max(36_500), 'How long agents remember a session.', {
    env: 'PARLEY_MEMORY_RETENTION_DAYS',
    unit: 'days',
  }),
  retentionDays: setting(
    z.number().positive().max(36_500),
    'How long calls stay in the log, with what was said in them, see [call logs](call-logs.md#how-long-calls-are-kept).',
    { env: 'PARLEY_RETENTION_DAYS', unit: 'days' },
  ),
  recordingRetentionDays: setting(
    z.number().positive().max(36_500),
    'How long recordings and traces of calls are kept; no longer than the calls.',
    { env: 'PARLEY_RECORDING_RETENTION_DAYS', unit: 'days' },
  ),
  traces: setting(
    z.boolean(),
    'Whether the event log of every session is kept, for `/call-logs/{session_id}/trace` and `parley replay`.',
    { env: 'PARLEY_TRACES' },
  ),
  prices: setting(
    pricesSchema,
    'What calls cost, for their cost breakdown, see [call logs](call-logs.md#costs). Only in the file.',
  ),
  webhookSecret: setting(
    webhookSecretSchema.nullable(),
    'Signs what is sent to `session_data_webhook` (Standard Webhooks): `whsec_` and base64. Unset = not signed.',
    { env: 'PARLEY_WEBHOOK_SECRET', secret: true },
  ),
  serviceWebhooks: setting(
    z.record(nameSchema, operatorAddressSchema),
    'Where calls of service functions go, by the name of the function: `{url, headers?}`. Only in the file.',
  ),
  appBaseUrls: setting(
    z.record(nameSchema, baseUrlSchema),
    'Roots of the APIs of apps, by the name of the app (`cal.com`), in place of the public ones. Only in the file.',
  ),
  mcpServers: setting(
    z.record(mcpNameSchema, mcpServerSchema),
    'MCP servers whose tools agents get, see [tools](tools.md#mcp): `{url, headers?}` or `{command, args?, env?}`, with ' +
      '`agents?` and `timeout?`. Only in the file.',
  ),
  callWebhook: setting(
    operatorAddressSchema.nullable(),
    'Is told when calls start and end, see [calls](calls.md#webhooks): `{url, headers?}`. Only in the file.',
  ),
  calls: setting(callsSchema, 'Guards of the calls that agents place. Only in the file.'),
  campaigns: setting(campaignsSchema, 'How campaigns call that set nothing else. Only in the file.'),
  webrtc: setting(webRtcSchema, 'How browsers reach the daemon with their audio. Only in the file.'),
  sipPassword: setting(passwordSchema.nullable(), 'Password of `sip.user`.', {
    env: 'PARLEY_SIP_PASSWORD',
    secret: true,
  }),
  sip: setting(sipSchema, 'A SIP trunk or a PBX, see [SIP](sip.md). Only in the file.'),
  twilioAuthToken: setting(secretSchema.nullable(), 'Auth token of `twilio.accountSid`.', {
    env: 'PARLEY_TWILIO_AUTH_TOKEN',
    secret: true,
  }),
  twilio: setting(twilioSchema, 'An account with Twilio, see [Twilio](twilio.md). Only in the file.'),
  telnyxApiKey: setting(secretSchema.nullable(), 'API key of the account with Telnyx.', {
    env: 'PARLEY_TELNYX_API_KEY',
    secret: true,
  }),
  telnyx: setting(telnyxSchema, 'An account with Telnyx, see [Telnyx](telnyx.md). Only in the file.'),
  plivoAuthToken: setting(secretSchema.nullable(), 'Auth token of `plivo.authId`.', {
    env: 'PARLEY_PLIVO_AUTH_TOKEN',
    secret: true,
  }),
  plivo: setting(plivoSchema, 'An account with Plivo, see [Plivo](plivo.md). Only in the file.'),
  media: setting(mediaSchema, 'Where sessions run. Only in the file.'),
  limits: setting(limitsSchema, 'Limits. Only in the file.'),
});

export type SettingsFile = z.infer<typeof settingsFileSchema>;

/** Everything that the operator has set, and the defaults of the rest. */
export type Settings = Required<
  Omit<SettingsFile, 'limits' | 'calls' | 'campaigns' | 'media' | 'webrtc' | 'sip' | 'twilio' | 'telnyx' | 'plivo'>
> & {
  webrtc: WebRtcSettings;
  sip: SipSettings;
  twilio: TwilioSettings;
  telnyx: TelnyxSettings;
  plivo: PlivoSettings;
  media: MediaSettings;
  limits: Limits;
  calls: CallGuards;
  /** `timezone` is the operator's own. */
  campaigns: Omit<CampaignSchedule, 'timezone'>;
};

/** Defaults of all but `dataDir`, which depends on the user. */
export const DEFAULT_SETTINGS: Omit<Settings, 'dataDir'> = {
  port: 8080,
  host: '127.0.0.1',
  apiKey: null,
  publicKey: null,
  secretKey: null,
  oldSecretKeys: [],
  publicUrl: null,
  trustedProxies: [],
  forwardedHeader: 'x-forwarded-for',
  allowUrls: [],
  allowedOrigins: [],
  allowMissingOrigin: null,
  publicAgentConfigFields: [],
  talkLeadMs: 200,
  page: true,
  regions: {},
  openaiApiKey: null,
  openaiBaseUrl: 'https://api.openai.com/v1',
  ollamaHost: 'http://127.0.0.1:11434',
  vendors: {},
  vad: null,
  stt: null,
  sttModel: null,
  denoiseModel: null,
  turnModelPath: null,
  modelsDir: null,
  modelsUrl: null,
  modelThreads: 1,
  modelIdleMinutes: 10,
  speculation: true,
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
  prices: {},
  webhookSecret: null,
  serviceWebhooks: {},
  appBaseUrls: {},
  mcpServers: {},
  callWebhook: null,
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
  limits: DEFAULT_LIMITS,
};
