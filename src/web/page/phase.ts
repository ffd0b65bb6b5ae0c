import type { CallState } from '@parley-voice/web';

/** The state of a call for people; without a call `idle`. */
export type Phase = 'idle' | Exclude<CallState, 'reconnecting' | 'ended'>;

export function phaseOf(state: CallState): Phase {
  if (state === 'ended') return 'idle';
  return state === 'reconnecting' ? 'connecting' : state;
}

/** The words for the user. */
export const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  idle: 'Tap to talk',
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking',
  interrupted: 'Go ahead',
};
