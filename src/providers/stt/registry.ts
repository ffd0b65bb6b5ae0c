import { vendorAccess, type VendorAccess, type VendorName, type Vendors } from '../../settings/vendor-settings.js';
import { ParleyError } from '../../base/errors.js';
import { EmbeddedStt } from './embedded/provider.js';
import type { LocalModels } from '../local/local-models.js';
import { SherpaStt } from './sherpa/provider.js';
import type { SttProvider } from './stt.js';
import { assemblyAiStt } from './vendors/assemblyai.js';
import { azureStt } from './vendors/azure.js';
import { deepgramStt } from './vendors/deepgram.js';
import { elevenLabsStt } from './vendors/elevenlabs.js';
import { gladiaStt } from './vendors/gladia.js';
import { openAiStt } from './vendors/openai.js';
import type { VendorSttOptions } from './vendors/socket-provider.js';
import { sonioxStt } from './vendors/soniox.js';
import { speechmaticsStt } from './vendors/speechmatics.js';
import { talkscriberStt } from './vendors/talkscriber.js';
import { WhisperStt } from './vendors/whisper.js';

interface Entry {
  /** The vendor whose key or address it needs. Default: none. */
  vendor?: VendorName;
  make: (access: VendorAccess) => SttProvider;
}

/** Runs the operator's local models. */
interface LocalEntry {
  makeLocal: (models?: LocalModels) => SttProvider;
}

const PROVIDERS: Readonly<Record<string, Entry | LocalEntry>> = {
  embedded: { make: () => new EmbeddedStt() },
  sherpa: { makeLocal: (models) => new SherpaStt({ ...(models !== undefined && { models }) }) },
  azure: {
    vendor: 'azure',
    make: ({ apiKey, baseUrl, region }) => azureStt({ apiKey: apiKey ?? '', baseUrl: baseUrl ?? undefined, region }),
  },
  assemblyai: keyed('assemblyai', assemblyAiStt),
  deepgram: keyed('deepgram', deepgramStt),
  elevenlabs: keyed('elevenlabs', elevenLabsStt),
  gladia: keyed('gladia', gladiaStt),
  openai: keyed('openai', openAiStt),
  soniox: keyed('soniox', sonioxStt),
  speechmatics: keyed('speechmatics', speechmaticsStt),
  talkscriber: keyed('talkscriber', talkscriberStt),
  whisper: {
    vendor: 'whisper',
    make: ({ baseUrl, apiKey }) => new WhisperStt({ baseUrl: baseUrl ?? '', apiKey: apiKey ?? undefined }),
  },
};

const NO_ACCESS: VendorAccess = { apiKey: null, baseUrl: null, region: null };

/** The names that `sttProvider` accepts. */
export const STT_PROVIDERS: readonly string[] = Object.keys(PROVIDERS);

/** The vendor whose access each provider needs, null = none; and whether it runs local models. */
export const STT_ENTRIES: readonly { name: string; vendor: VendorName | null; isLocal: boolean }[] = Object.entries(
  PROVIDERS,
).map(([name, entry]) => ({
  name,
  vendor: ('vendor' in entry ? entry.vendor : null) ?? null,
  isLocal: 'makeLocal' in entry,
}));

/**
 * A new provider with its defaults; the caller closes it.
 * @param vendors the operator's vendor access
 * @param models the operator's local models
 * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED
 */
export function sttProvider(name: string, vendors: Vendors = {}, models?: LocalModels): SttProvider {
  const entry = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (entry === undefined) {
    throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'speech-to-text', name, known: STT_PROVIDERS.join(', ') });
  }
  if ('makeLocal' in entry) return entry.makeLocal(models);
  const { vendor, make } = entry;
  return make(vendor === undefined ? NO_ACCESS : vendorAccess(name, 'speech-to-text', vendor, vendors));
}

function keyed(vendor: VendorName, make: (options: VendorSttOptions) => SttProvider): Entry {
  return {
    vendor,
    make: ({ apiKey, baseUrl }) => make({ apiKey: apiKey ?? '', baseUrl: baseUrl ?? undefined }),
  };
}
