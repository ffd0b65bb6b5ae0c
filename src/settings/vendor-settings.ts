import * as z from 'zod';
import { ParleyError } from '../base/errors.js';
import { InvalidConfigError, parseWith, type ValidationIssue } from '../schema/issues.js';
import { baseUrlSchema, secretSchema } from '../schema/setting.js';

/** Where the operator's access to a vendor is in the environment, and what of it the vendor cannot do without. */
interface Vendor {
  title: string;
  /** Variables; what a vendor does not have is left out. */
  env: { apiKey?: string; baseUrl: string; region?: string };
  /** Every one of these has to be set; of a list one is enough. */
  needs: readonly (Member | readonly Member[])[];
  /** The providers that have its name. */
  offers: readonly Offer[];
}

export type Offer = 'llm' | 'stt' | 'tts';

type Member = 'apiKey' | 'baseUrl' | 'region';

/** One shape for all vendors. Names of the environment are those that the vendors' own documentation uses. */
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
  /** Its settings are `openaiApiKey` and `openaiBaseUrl`, which the language models have too. */
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
  /** http or https, without a slash at its end; sockets go to the same host. Null = the vendor's own. */
  baseUrl: string | null;
  region: string | null;
}

/** What the operator has set, by vendor. */
export type Vendors = Readonly<Partial<Record<VendorName, VendorAccess>>>;

/** As embedders name them: `{ elevenlabs: { apiKey } }`. What is left out is the vendor's own. */
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

/** Variables of the vendors' keys; OpenAI's is that of a setting. */
export const VENDOR_KEY_VARIABLES: readonly string[] = Object.values<Vendor>(plain).flatMap(
  ({ env }) => env.apiKey ?? [],
);

/** What the environment says of vendors; an empty value counts as unset. OpenAI's are settings of their own. */
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

/** Member by member, `over` before `under`. */
export function mergedVendors(under: VendorSettings = {}, over: VendorSettings = {}): VendorSettings {
  const names = new Set([...Object.keys(under), ...Object.keys(over)]) as Set<keyof VendorSettings>;
  return Object.fromEntries([...names].map((name) => [name, { ...under[name], ...over[name] }]));
}

/** Every vendor that the operator has set anything of. */
export function vendorsOf(settings: {
  vendors: VendorSettings;
  openaiApiKey: string | null;
  openaiBaseUrl: string;
}): Vendors {
  const { vendors, openaiApiKey, openaiBaseUrl } = settings;
  const all = Object.entries<VendorSettings['azure']>(vendors).map(([name, given]) => [name, accessOf(given)]);
  return {
    ...(Object.fromEntries(all) as Vendors),
    ...(openaiApiKey !== null && { openai: accessOf({ apiKey: openaiApiKey, baseUrl: openaiBaseUrl }) }),
  };
}

/** Every vendor that an embedder has named, with null for what was left out. */
export function namedVendors(vendors: GivenVendors = {}): Vendors {
  return Object.fromEntries(Object.entries(vendors).map(([name, given]) => [name, accessOf(given)]));
}

function accessOf(given: Partial<VendorAccess> | undefined): VendorAccess {
  const baseUrl = given?.baseUrl?.replace(/\/+$/, '') ?? null;
  return { apiKey: given?.apiKey ?? null, baseUrl, region: given?.region ?? null };
}

/** The variables that a vendor still needs, in words; null = it has all. */
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
 * The access to a vendor that a provider is made with.
 * @param provider how it is called where it is missing
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

/** A server of the operator's own; a key only where it asks for one. */
function local(title: string, prefix: string, offers: readonly Offer[]) {
  return { title, env: envOf(prefix), needs: ['baseUrl'], offers } as const;
}

function envOf(prefix: string): Vendor['env'] {
  return { apiKey: `${prefix}_API_KEY`, baseUrl: `${prefix}_BASE_URL` };
}
