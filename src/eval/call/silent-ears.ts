import type { SttProvider } from '../../providers/stt/stt.js';
import type { VadProvider } from '../../providers/vad/vad.js';

const WINDOW_SAMPLES = 512;

/** Voice activity detection for a line without audio. */
export const silentVad: VadProvider = {
  name: 'silent',
  warmUp: () => Promise.resolve(),
  createDetector: () => ({
    windowSamples: WINDOW_SAMPLES,
    process: () => undefined,
    reset: () => undefined,
    close: () => undefined,
  }),
};

/** A recogniser for a line without audio. */
export const silentStt: SttProvider = {
  name: 'silent',
  virtualTime: true,
  warmUp: () => Promise.resolve(),
  open: () =>
    Promise.resolve({
      push: () => undefined,
      speechStarted: () => undefined,
      speechStopped: () => undefined,
      endTurn: () => undefined,
      close: () => Promise.resolve(),
    }),
  close: () => Promise.resolve(),
};
