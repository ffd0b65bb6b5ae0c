import { setRecording } from '../control/recording.js';
import type { RunningAction } from '../core.js';

/** The model pauses the recording, for instance while the user says the number of a card. */
export const pauseRecording: RunningAction = {
  kind: 'running',
  name: 'pause_recording',
  takesLine: false,
  isEnabled: ({ pauseRecording: config }) => config != null, // logs of older versions do not have it
  tool: ({ pauseRecording: config }) => ({
    name: pauseRecording.name,
    description:
      'Pauses the recording of the call. ' +
      (config?.instruction ??
        'Use it before the user says the number of a card or another secret, and when they ask for it.') +
      ` Call ${resumeRecording.name} as soon as that is over.`,
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  }),
  start: (core) => {
    setRecording(core, false);
    core.arm('recording', core.nowMs + (core.config.pauseRecording?.maxMs ?? 0));
  },
  resultAtOnce: () => 'Nothing of the call is recorded now.',
};

/** The model records again. */
export const resumeRecording: RunningAction = {
  kind: 'running',
  name: 'resume_recording',
  takesLine: false,
  isEnabled: ({ pauseRecording: config }) => config != null,
  tool: () => ({
    name: resumeRecording.name,
    description: 'Records the call again after a pause.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  }),
  start: (core) => setRecording(core, true),
  resultAtOnce: () => 'The call is recorded again.',
};
