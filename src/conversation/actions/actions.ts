import type { ConversationAction } from '../core.js';
import { doNotCall } from './do-not-call.js';
import { endCall } from './end-call.js';
import { handBack, handOver } from './handover.js';
import { pauseRecording, resumeRecording } from './pause-recording.js';
import { pressDigits } from './press-digits.js';
import { switchLanguage } from './switch-language.js';
import { confirmData, nextStep, setData } from '../steps/steps.js';
import { transferCall } from './transfer.js';

/** In the order in which the model sees them. Of several final actions in one round, the last is carried out. */
export const ACTIONS: readonly ConversationAction[] = [
  endCall,
  transferCall,
  handOver,
  handBack,
  pressDigits,
  switchLanguage,
  doNotCall,
  pauseRecording,
  resumeRecording,
  setData,
  confirmData,
  nextStep,
];

export const ACTION_NAMES: readonly string[] = ACTIONS.map(({ name }) => name);
