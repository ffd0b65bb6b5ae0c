import type { TtsProvider } from './tts.js';

/** A voice without sound, for conversations that are read: what it is given counts as heard at once. */
export const silentTts: TtsProvider = {
  name: 'silent',
  virtualTime: true,
  warmUp: () => Promise.resolve(),
  async *synthesize() {
    // No audio: the utterance is over as soon as its turn comes.
  },
  voices: () => [],
  close: () => Promise.resolve(),
};
