import type { Vendors } from '../../settings/vendor-settings.js';
import { ParleyError } from '../../base/errors.js';
import { EspeakTts, type EspeakOptions } from './espeak.js';
import type { LocalModels } from '../local/local-models.js';
import {
  builtIn,
  defineRegistry,
  listed,
  type ListedProvider,
  makeSpeechProvider,
  ofLocalModels,
  ofVendor,
  type SpeechEntry,
} from '../registry.js';
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
import { speaksEnglish } from './flite/voices.js';

const REGISTRY = defineRegistry<SpeechEntry<TtsProvider>>('text-to-speech', {
  flite: builtIn(() => new FliteTts()),
  'espeak-ng': builtIn(() => new EspeakTts()),
  sherpa: ofLocalModels((models) => new SherpaTts({ models })),
  azure: ofVendor('azure', azureTts),
  cartesia: ofVendor('cartesia', cartesiaTts),
  deepgram: ofVendor('deepgram', deepgramTts),
  dubverse: ofVendor('dubverse', dubverseTts),
  elevenlabs: ofVendor('elevenlabs', elevenLabsTts),
  kokoro: ofVendor('kokoro', kokoroTts),
  openai: ofVendor('openai', openAiTts),
  openai_realtime: ofVendor('openai', openAiRealtimeTts),
  orpheus: ofVendor('orpheus', orpheusTts),
  rime: ofVendor('rime', rimeTts),
  sesame: ofVendor('sesame', sesameTts),
});

/** Vendors of the interface that have closed, and what is known of it. */
const CLOSED: ReadonlyMap<string, string> = new Map([
  ['neets', 'Neets had no reachable API in November 2026'],
  ['playht', 'PlayHT shut its API down on 31 December 2025'],
]);

/** Valid names for `ttsProvider`. */
export const TTS_PROVIDERS = REGISTRY.names;

/** The vendor whose access each provider needs, whether it runs local models, and why it was discontinued. */
export const TTS_ENTRIES: readonly (ListedProvider & { closed: string | null })[] = [
  ...listed(REGISTRY).map((entry) => ({ ...entry, closed: null })),
  ...[...CLOSED].map(([name, closed]) => ({ name, vendor: null, isLocal: false, closed })),
];

/**
 * A new provider with its defaults; the caller closes it.
 * @param vendors the operator's vendor access
 * @param models the operator's local models; null = those of their folder
 * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED, PROVIDER_CLOSED
 */
export function ttsProvider(name: string, vendors: Vendors = {}, models: LocalModels | null = null): TtsProvider {
  const closed = CLOSED.get(name);
  if (closed !== undefined) throw new ParleyError('PROVIDER_CLOSED', { provider: name, reason: closed });
  return makeSpeechProvider(REGISTRY, name, { vendors, models });
}

/**
 * The embedded provider for a language if the agent names none: flite for English, else espeak-ng if it is installed
 * and has a voice.
 * @returns a name for `ttsProvider`
 * @throws ParleyError TTS_LANGUAGE_UNSUPPORTED with a remedy
 */
export async function chooseTts(language: string, options: EspeakOptions = {}): Promise<'flite' | 'espeak-ng'> {
  if (speaksEnglish(language)) return 'flite';
  const espeak = new EspeakTts(options);
  try {
    if (await espeak.speaks(language)) return 'espeak-ng';
  } finally {
    await espeak.close();
  }
  throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', {
    language,
    reason: espeak.available
      ? 'flite speaks English only and espeak-ng has no voice for it; name another voice provider'
      : 'flite speaks English only; install espeak-ng (Debian: apt-get install espeak-ng) or name another voice provider',
  });
}
