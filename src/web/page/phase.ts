/** The state of a call for people. */
export type Phase = 'idle' | 'connecting' | 'listening' | 'thinking' | 'speaking' | 'interrupted';

/** The words for the user. */
export const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  idle: 'Tap to talk',
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking',
  interrupted: 'Go ahead',
};

export type PhaseEvent =
  /** A call starts or ends. */
  | 'call'
  | 'end'
  | 'ready'
  /** The user's words: interim, final, typed. */
  | 'hears'
  | 'heard'
  /** An answer is being prepared. */
  | 'answering'
  /** The agent's speech starts or ends in the loudspeaker. */
  | 'playing'
  | 'quiet'
  /** The server's `pause`, `unpause` and `clear`. */
  | 'pause'
  | 'unpause'
  | 'clear';

/** The phase after an event. */
export function nextPhase(phase: Phase, event: PhaseEvent): Phase {
  if (event === 'end') return 'idle';
  if (event === 'call') return 'connecting';
  if (phase === 'idle') return 'idle';
  if (phase === 'connecting') return event === 'ready' ? 'listening' : phase;
  switch (event) {
    case 'ready':
      return phase;
    case 'hears':
      return phase === 'thinking' ? 'listening' : phase;
    case 'heard':
    case 'answering':
      return phase === 'speaking' ? phase : 'thinking';
    case 'playing':
      return 'speaking';
    case 'unpause':
      return phase === 'interrupted' ? 'speaking' : phase;
    case 'quiet':
      return phase === 'speaking' ? 'listening' : phase;
    case 'pause':
    case 'clear':
      return phase === 'speaking' || phase === 'interrupted' ? 'interrupted' : phase;
  }
}
