import { vendorAccess, type VendorAccess, type VendorName, type Vendors } from '../../settings/vendor-settings.js';
import { ParleyError } from '../../base/errors.js';
import { EspeakTts } from './espeak/espeak.js';
import type { LocalModels } from '../local/local-models.js';
import { FliteTts } from './flite/flite.js';
import { SherpaTts } from './sherpa.js';
import type { TtsProvider } from './tts.js';
import { azureTts } from './vendors/azure.js';
import { cartesiaTts } from './vendors/cartesia.js';
import { deepgramTts } from './vendors/deepgram.js';
import { dubverseTts } from './vendors/dubverse.js';
import { elevenLabsTts } from './vendors/elevenlabs.js';
import { kokoroTts, openAiTts, orpheusTts, sesameTts } from './vendors/openai.js';
import { openAiRealtimeTts } from './vendors/openai-realtime.js';
import { rimeTts } from './vendors/rime.js';

interface Entry {
  /** Whose key or address it needs. Default nobody's. */
  vendor?: VendorName;
  make: (access: VendorAccess) => TtsProvider;
}

/** Runs models of the operator's own. */
interface LocalEntry {
  makeLocal: (models?: LocalModels) => TtsProvider;
}

const PROVIDERS: Readonly<Record<string, Entry | LocalEntry>> = {
  flite: { make: () => new FliteTts() },
  'espeak-ng': { make: () => new EspeakTts() },
  sherpa: { makeLocal: (models) => new SherpaTts({ ...(models !== undefined && { models }) }) },
  azure: { vendor: 'azure', make: azureTts },
  cartesia: { vendor: 'cartesia', make: cartesiaTts },
  deepgram: { vendor: 'deepgram', make: deepgramTts },
  dubverse: { vendor: 'dubverse', make: dubverseTts },
  elevenlabs: { vendor: 'elevenlabs', make: elevenLabsTts },
  kokoro: { vendor: 'kokoro', make: kokoroTts },
  openai: { vendor: 'openai', make: openAiTts },
  openai_realtime: { vendor: 'openai', make: openAiRealtimeTts },
  orpheus: { vendor: 'orpheus', make: orpheusTts },
  rime: { vendor: 'rime', make: rimeTts },
  sesame: { vendor: 'sesame', make: sesameTts },
};

/** Vendors of the interface that are not there any more, and what is known of it. */
const CLOSED: Readonly<Record<string, string>> = {
  neets: 'no API of Neets could be found any more in November 2026',
  playht: 'PlayHT shut its API down on 31 December 2025',
};

const NO_ACCESS: VendorAccess = { apiKey: null, baseUrl: null, region: null };

/** The names that `ttsProvider` takes. */
export const TTS_PROVIDERS: readonly string[] = Object.keys(PROVIDERS);

/** Whose access a provider needs, null = nobody's; and why it cannot be had any more. Of every name of the interface. */
export const TTS_ENTRIES: readonly {
  name: string;
  vendor: VendorName | null;
  closed: string | null;
  /** It runs the operator's own models. */
  isLocal: boolean;
}[] = [
  ...Object.entries(PROVIDERS).map(([name, entry]) => ({
    name,
    vendor: ('vendor' in entry ? entry.vendor : null) ?? null,
    closed: null,
    isLocal: 'makeLocal' in entry,
  })),
  ...Object.entries(CLOSED).map(([name, closed]) => ({ name, vendor: null, closed, isLocal: false })),
];

/**
 * A new provider with its defaults; the caller closes it.
 * @param vendors the operator's access to vendors
 * @param models the operator's own models
 * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED, PROVIDER_CLOSED
 */
export function ttsProvider(name: string, vendors: Vendors = {}, models?: LocalModels): TtsProvider {
  const closed = Object.hasOwn(CLOSED, name) ? CLOSED[name] : undefined;
  if (closed !== undefined) throw new ParleyError('PROVIDER_CLOSED', { provider: name, reason: closed });
  const entry = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (entry === undefined) {
    throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'text-to-speech', name, known: TTS_PROVIDERS.join(', ') });
  }
  if ('makeLocal' in entry) return entry.makeLocal(models);
  const { vendor, make } = entry;
  return make(vendor === undefined ? NO_ACCESS : vendorAccess(name, 'text-to-speech', vendor, vendors));
}
