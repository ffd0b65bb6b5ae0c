import type { Vendors } from '../../settings/vendor-settings.js';
import { findPocketSphinx } from './embedded/pocketsphinx.js';
import { EmbeddedStt } from './embedded/provider.js';
import type { LocalModels } from '../local/local-models.js';
import {
  builtIn,
  defineRegistry,
  listed,
  makeSpeechProvider,
  ofLocalModels,
  ofVendor,
  type SpeechEntry,
} from '../registry.js';
import { SherpaStt } from './sherpa.js';
import type { SttProvider } from './stt.js';
import { assemblyAiStt } from './vendors/assemblyai.js';
import { azureStt } from './vendors/azure.js';
import { deepgramStt } from './vendors/deepgram.js';
import { elevenLabsStt } from './vendors/elevenlabs.js';
import { gladiaStt } from './vendors/gladia.js';
import { openAiStt } from './vendors/openai.js';
import { sonioxStt } from './vendors/soniox.js';
import { speechmaticsStt } from './vendors/speechmatics.js';
import { talkscriberStt } from './vendors/talkscriber.js';
import { WhisperStt } from './vendors/whisper.js';

const REGISTRY = defineRegistry<SpeechEntry<SttProvider>>('speech-to-text', {
  embedded: builtIn((models) => {
    return new EmbeddedStt({ pocketSphinx: models?.pocketSphinx === true ? findPocketSphinx() : null });
  }),
  sherpa: ofLocalModels((models) => new SherpaStt({ models })),
  azure: ofVendor('azure', azureStt),
  assemblyai: ofVendor('assemblyai', assemblyAiStt),
  deepgram: ofVendor('deepgram', deepgramStt),
  elevenlabs: ofVendor('elevenlabs', elevenLabsStt),
  gladia: ofVendor('gladia', gladiaStt),
  openai: ofVendor('openai', openAiStt),
  soniox: ofVendor('soniox', sonioxStt),
  speechmatics: ofVendor('speechmatics', speechmaticsStt),
  talkscriber: ofVendor('talkscriber', talkscriberStt),
  whisper: ofVendor('whisper', ({ baseUrl, apiKey }) => new WhisperStt({ baseUrl: baseUrl ?? '', apiKey })),
});

/** The names that `sttProvider` accepts. */
export const STT_PROVIDERS = REGISTRY.names;

/** The vendor whose access each provider needs, and whether it runs local models. */
export const STT_ENTRIES = listed(REGISTRY);

/**
 * A new provider with its defaults; the caller closes it.
 * @param vendors the operator's vendor access
 * @param models the operator's local models; null = those of their folder
 * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED
 */
export function sttProvider(name: string, vendors: Vendors = {}, models: LocalModels | null = null): SttProvider {
  return makeSpeechProvider(REGISTRY, name, { vendors, models });
}
