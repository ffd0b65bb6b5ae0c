import { elevenLabsTts } from '../../../src/providers/tts/vendors/elevenlabs.js';
import { ElevenLabsDouble } from '../../vendors/tts/elevenlabs.js';
import { KEY } from '../../vendors/tts/speech-double.js';
import { ttsContract } from './contract.js';

const access = (baseUrl: string, apiKey = KEY) => ({ apiKey, baseUrl, region: null });

ttsContract('elevenlabs', {
  double: () => new ElevenLabsDouble(),
  provider: ({ url }, { clock, apiKey }) => elevenLabsTts(access(url, apiKey), { ...(clock && { clock }) }),
  ...{ wordsWithinMs: 2, keepsConnection: true, seesCancel: false },
});
