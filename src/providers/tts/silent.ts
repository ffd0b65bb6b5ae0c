import { frameSamples } from '../../audio/frame.js';
import type { TtsProvider } from './tts.js';

const RATE_HZ = 16_000;

/** A voice without sound, for text conversations: any text becomes one frame of silence. */
export const silentTts: TtsProvider = {
  name: 'silent',
  virtualTime: true,
  warmUp: () => Promise.resolve(),
  async *synthesize() {
    yield { samples: new Int16Array(frameSamples(RATE_HZ)), sampleRateHz: RATE_HZ };
  },
  voices: () => [],
  close: () => Promise.resolve(),
};
