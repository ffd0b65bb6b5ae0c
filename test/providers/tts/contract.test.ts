import type { VendorAccess } from '../../../src/config/vendor-settings.js';
import type { SocketTts, SocketTtsOptions } from '../../../src/providers/tts/socket-tts.js';
import { cartesiaTts } from '../../../src/providers/tts/vendors/cartesia.js';
import { deepgramTts } from '../../../src/providers/tts/vendors/deepgram.js';
import { elevenLabsTts } from '../../../src/providers/tts/vendors/elevenlabs.js';
import { rimeTts } from '../../../src/providers/tts/vendors/rime.js';
import { CartesiaDouble } from '../../vendors/tts/cartesia.js';
import { DeepgramDouble } from '../../vendors/tts/deepgram.js';
import { ElevenLabsDouble } from '../../vendors/tts/elevenlabs.js';
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

ttsContract('elevenlabs', {
  double: () => new ElevenLabsDouble(),
  ...overSocket(elevenLabsTts),
  ...{ wordsWithinMs: 2, seesCancel: false },
});

ttsContract('cartesia', {
  double: () => new CartesiaDouble(),
  ...overSocket(cartesiaTts),
  ...{ wordsWithinMs: 2, seesCancel: true },
});

ttsContract('deepgram', {
  double: () => new DeepgramDouble(),
  ...overSocket(deepgramTts),
  ...{ wordsWithinMs: null, seesCancel: true },
});

ttsContract('rime', {
  double: () => new RimeDouble(),
  ...overSocket(rimeTts),
  ...{ wordsWithinMs: 2, seesCancel: true },
});
