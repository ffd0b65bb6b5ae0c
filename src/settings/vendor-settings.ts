import * as z from 'zod';
import { ParleyError } from '../base/errors.js';
import { InvalidConfigError, parseWith, type ValidationIssue } from '../schema/issues.js';
import { baseUrlSchema, secretSchema } from '../schema/field.js';

/** A vendor's environment variables, requirements and services. */
interface Vendor {
  title: string;
  /** Variables; a vendor without a key or a region leaves it out. */
  env: { apiKey?: string; baseUrl: string; region?: string };
  /** All of these must be set; of a nested list, one. */
  needs: readonly (Member | readonly Member[])[];
  /** The kinds of providers with the vendor's name. */
  offers: readonly Offer[];
}

export type Offer = 'llm' | 'stt' | 'tts';

type Member = 'apiKey' | 'baseUrl' | 'region';

/** All vendors. Variables have the names in the vendors' own documentation. */
export const VENDORS = {
  anthropic: keyed('Anthropic', 'ANTHROPIC', ['llm']),
  assemblyai: keyed('AssemblyAI', 'ASSEMBLYAI', ['stt']),
  azure: {
    title: 'Azure AI Speech',
    env: { apiKey: 'AZURE_SPEECH_KEY', region: 'AZURE_SPEECH_REGION', baseUrl: 'AZURE_SPEECH_BASE_URL' },
    needs: ['apiKey', ['region', 'baseUrl']],
    offers: ['stt', 'tts'],
  },
  cartesia: keyed('Cartesia', 'CARTESIA', ['tts']),
  deepgram: keyed('Deepgram', 'DEEPGRAM', ['stt', 'tts']),
  dubverse: keyed('Dubverse', 'DUBVERSE', ['tts']),
  elevenlabs: keyed('ElevenLabs', 'ELEVENLABS', ['stt', 'tts']),
  gladia: keyed('Gladia', 'GLADIA', ['stt']),
  kokoro: local('A server with the Kokoro model', 'KOKORO', ['tts']),
  /** Its settings are `openaiApiKey` and `openaiBaseUrl`, shared with the language models. */
  openai: keyed('OpenAI', 'OPENAI', ['llm', 'stt', 'tts']),
  orpheus: local('A server with the Orpheus model', 'ORPHEUS', ['tts']),
  rime: keyed('Rime', 'RIME', ['tts']),
  sesame: local("A server with Sesame's CSM model", 'SESAME', ['tts']),
  soniox: keyed('Soniox', 'SONIOX', ['stt']),
  speechmatics: keyed('Speechmatics', 'SPEECHMATICS', ['stt']),
  talkscriber: keyed('Talkscriber', 'TALKSCRIBER', ['stt']),
  whisper: local('A Whisper-compatible server', 'WHISPER', ['stt']),
} as const satisfies Readonly<Record<string, Vendor>>;

export type VendorName = keyof typeof VENDORS;

/** The operator's access to a vendor. */
export interface VendorAccess {
  apiKey: string | null;
  /** http or https, without a trailing slash; sockets go to the same host. Null = the vendor's public address. */
  baseUrl: string | null;
  region: string | null;
}

/** The operator's access, by vendor. */
export type Vendors = Readonly<Partial<Record<VendorName, VendorAccess>>>;

/** An embedder's access to vendors, such as `{ elevenlabs: { apiKey } }`. */
export type GivenVendors = Readonly<Partial<Record<VendorName, Partial<VendorAccess>>>>;

const regionSchema = z.string().regex(/^[a-z0-9-]{1,50}$/, 'Input should be the name of a region, such as westeurope');

const schemas = { apiKey: secretSchema, baseUrl: baseUrlSchema, region: regionSchema };

const vendorSchema = z.strictObject({
  apiKey: secretSchema.exactOptional(),
  baseUrl: baseUrlSchema.exactOptional(),
});

const { openai: _openai, azure: _azure, ...plain } = VENDORS;

/** The member `vendors` of the configuration file. */
export const vendorsSchema = z.strictObject({
  ...(Object.fromEntries(Object.keys(plain).map((name) => [name, vendorSchema.exactOptional()])) as Record<
    keyof typeof plain,
    z.ZodExactOptional<typeof vendorSchema>
  >),
  azure: vendorSchema.extend({ region: regionSchema.exactOptional() }).exactOptional(),
});

export type VendorSettings = z.infer<typeof vendorsSchema>;

/** Variables of the vendors' keys, without OpenAI's, which belongs to a setting. */
export const VENDOR_KEY_VARIABLES: readonly string[] = Object.values<Vendor>(plain).flatMap(
  ({ env }) => env.apiKey ?? [],
);

/** The environment's vendor settings, without OpenAI's; an empty value counts as unset. */
export function vendorsFromEnv(env: Readonly<Record<string, string | undefined>>): {
  values: VendorSettings;
  issues: readonly ValidationIssue[];
} {
  const values: Record<string, Record<string, string>> = {};
  const issues: ValidationIssue[] = [];
  for (const [name, vendor] of Object.entries<Vendor>(VENDORS)) {
    if (name === 'openai') continue;
    for (const member of ['apiKey', 'baseUrl', 'region'] as const) {
      const variable = vendor.env[member];
      const text = variable === undefined ? '' : (env[variable] ?? '').trim();
      if (variable === undefined || text === '') continue;
      try {
        (values[name] ??= {})[member] = parseWith(schemas[member], text, [variable]);
      } catch (error) {
        if (!(error instanceof InvalidConfigError)) throw error;
        issues.push(...error.issues);
      }
    }
  }
  return { values, issues };
}

/** Merges member by member; `over` wins. */
export function mergedVendors(under: VendorSettings = {}, over: VendorSettings = {}): VendorSettings {
  const names = new Set([...Object.keys(under), ...Object.keys(over)]) as Set<keyof VendorSettings>;
  return Object.fromEntries([...names].map((name) => [name, { ...under[name], ...over[name] }]));
}

/** The vendors with any setting. */
export function vendorsOf(settings: {
  vendors: VendorSettings;
  openaiApiKey: string | null;
  openaiBaseUrl: string;
}): Vendors {
  const { vendors, openaiApiKey, openaiBaseUrl } = settings;
  const all = Object.entries<VendorSettings['azure']>(vendors).map(([name, given]) => [name, accessOf(given)]);
  const set = Object.fromEntries(all) as Vendors;
  if (openaiApiKey === null) return set;
  return { ...set, openai: accessOf({ apiKey: openaiApiKey, baseUrl: openaiBaseUrl }) };
}

/** An embedder's access to vendors, with null for omitted members. */
export function namedVendors(vendors: GivenVendors = {}): Vendors {
  return Object.fromEntries(Object.entries(vendors).map(([name, given]) => [name, accessOf(given)]));
}

function accessOf(given: Partial<VendorAccess> | undefined): VendorAccess {
  const baseUrl = given?.baseUrl?.replace(/\/+$/, '') ?? null;
  return { apiKey: given?.apiKey ?? null, baseUrl, region: given?.region ?? null };
}

/** The variables that a vendor still needs, as text; null = none. */
export function missingOf(name: VendorName, vendors: Vendors): string | null {
  const { env, needs }: Vendor = VENDORS[name];
  const access = vendors[name];
  const missing = needs
    .map((need) => (typeof need === 'string' ? [need] : need))
    .filter((choice) => choice.every((member) => (access?.[member] ?? null) === null))
    .map((choice) => choice.map((member) => env[member]).join(' or '));
  return missing.length === 0 ? null : missing.join(' and ');
}

/**
 * A vendor's access, for one of its providers.
 * @param provider name in the error
 * @throws ParleyError PROVIDER_NOT_CONFIGURED naming the variables to set
 */
export function vendorAccess(provider: string, kind: string, name: VendorName, vendors: Vendors): VendorAccess {
  const missing = missingOf(name, vendors);
  if (missing !== null) throw new ParleyError('PROVIDER_NOT_CONFIGURED', { provider, kind, missing, vendor: name });
  return vendors[name] ?? accessOf({});
}

function keyed(title: string, prefix: string, offers: readonly Offer[]) {
  return { title, env: envOf(prefix), needs: ['apiKey'], offers } as const;
}

/** A server that the operator runs; its key is optional. */
function local(title: string, prefix: string, offers: readonly Offer[]) {
  return { title, env: envOf(prefix), needs: ['baseUrl'], offers } as const;
}

function envOf(prefix: string): Vendor['env'] {
  return { apiKey: `${prefix}_API_KEY`, baseUrl: `${prefix}_BASE_URL` };
}
