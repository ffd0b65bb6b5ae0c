/** Calls to agents of parley in React. Nothing here touches `window` before a call, so servers may render it. */
export { CallButton, type CallButtonProps } from './call-button.js';
export type { CallInReact, ChosenDevices } from './call-store.js';
export {
  ParleyProvider,
  type ParleyProviderProps,
  useCall,
  useCallEvent,
  useDevices,
  useLevels,
  useTranscript,
} from './provider.js';
export { Orb, type OrbProps } from './orb.js';
export { Transcript, type TranscriptProps } from './transcript.js';
