import type { VendorAccess } from '../../../src/settings/vendor-settings.js';
import type { HttpTts, HttpTtsOptions } from '../../../src/providers/tts/shared/http-tts.js';
import type { SocketTts, SocketTtsOptions } from '../../../src/providers/tts/shared/socket-tts.js';
import { azureTts } from '../../../src/providers/tts/vendors/azure.js';
import { cartesiaTts } from '../../../src/providers/tts/vendors/cartesia.js';
import { deepgramTts } from '../../../src/providers/tts/vendors/deepgram.js';
import { dubverseTts } from '../../../src/providers/tts/vendors/dubverse.js';
import { elevenLabsTts } from '../../../src/providers/tts/vendors/elevenlabs.js';
import { kokoroTts, openAiTts, orpheusTts, sesameTts } from '../../../src/providers/tts/vendors/openai.js';
import { openAiRealtimeTts } from '../../../src/providers/tts/vendors/openai-realtime.js';
import { rimeTts } from '../../../src/providers/tts/vendors/rime.js';
import { AzureDouble } from '../../vendors/tts/azure.js';
import { CartesiaDouble } from '../../vendors/tts/cartesia.js';
import { DeepgramDouble } from '../../vendors/tts/deepgram.js';
import { DubverseDouble } from '../../vendors/tts/dubverse.js';
import { ElevenLabsDouble } from '../../vendors/tts/elevenlabs.js';
import { OpenAiSpeechDouble } from '../../vendors/tts/openai.js';
import { RealtimeDouble } from '../../vendors/realtime/double.js';
import { RimeDouble } from '../../vendors/tts/rime.js';
import { KEY, type SpeechDouble } from '../../vendors/tts/speech-double.js';
import { type ContractVendor, ttsContract } from './contract.js';

function overSocket(
  make: (access: VendorAccess, options: Partial<SocketTtsOptions>) => SocketTts,
): Pick<ContractVendor, 'provider' | 'keepsConnection'> {
  return {
    provider: ({ url }: SpeechDouble, { clock, apiKey = KEY }) =>
      make({ apiKey, baseUrl: url, region: null }, { ...(clock && { clock }) }),
    keepsConnection: true,
  };
}

function overHttp(
  make: (access: VendorAccess, options: Partial<HttpTtsOptions>) => HttpTts,
): Pick<ContractVendor, 'provider' | 'keepsConnection' | 'wordsWithinMs' | 'seesCancel'> {
  return {
    provider: ({ url }: SpeechDouble, { clock, apiKey = KEY }) =>
      make({ apiKey, baseUrl: url, region: null }, { ...(clock && { clock }) }),
    keepsConnection: true,
    wordsWithinMs: null,
    seesCancel: true,
  };
}

ttsContract('elevenlabs', {
  double: () => new ElevenLabsDouble(),
  ...overSocket(elevenLabsTts),
  wordsWithinMs: 2,
  seesCancel: false,
});

ttsContract('cartesia', {
  double: () => new CartesiaDouble(),
  ...overSocket(cartesiaTts),
  wordsWithinMs: 2,
  seesCancel: true,
});

ttsContract('deepgram', {
  double: () => new DeepgramDouble(),
  ...overSocket(deepgramTts),
  wordsWithinMs: null,
  seesCancel: true,
});

ttsContract('rime', {
  double: () => new RimeDouble(),
  ...overSocket(rimeTts),
  wordsWithinMs: 2,
  seesCancel: true,
});

ttsContract('azure', {
  double: () => new AzureDouble(),
  ...overSocket(azureTts),
  wordsWithinMs: 2,
  seesCancel: false,
});

ttsContract('openai_realtime', {
  double: () => new RealtimeDouble(),
  ...overSocket(openAiRealtimeTts),
  wordsWithinMs: null,
  seesCancel: true,
});

ttsContract('openai', { double: () => new OpenAiSpeechDouble(), ...overHttp(openAiTts) });
ttsContract('kokoro', { double: () => new OpenAiSpeechDouble('kokoro'), ...overHttp(kokoroTts) });
ttsContract('orpheus', { double: () => new OpenAiSpeechDouble('wav'), ...overHttp(orpheusTts) });
ttsContract('sesame', { double: () => new OpenAiSpeechDouble('wav'), ...overHttp(sesameTts) });
ttsContract('dubverse', { double: () => new DubverseDouble(), ...overHttp(dubverseTts) });
