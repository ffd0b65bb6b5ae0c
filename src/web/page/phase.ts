/** What the call is doing, as people see it. */
export type Phase = 'idle' | 'connecting' | 'listening' | 'thinking' | 'speaking' | 'interrupted';

/** What the user is told of it. */
export const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  idle: 'Tap to talk',
  connecting: 'Connecting …',
  listening: 'Listening',
  thinking: 'Thinking …',
  speaking: 'Speaking',
  interrupted: 'Go ahead',
};

export type PhaseEvent =
  /** The user called, or the call is over. */
  | 'call'
  | 'end'
  | 'ready'
  /** Words of the user: not yet final, final, typed. */
  | 'hears'
  | 'heard'
  /** An answer is being prepared. */
  | 'answering'
  /** The agent's voice begins and ends in the loudspeaker. */
  | 'playing'
  | 'quiet'
  /** The server's `pause`, `unpause` and `clear`. */
  | 'pause'
  | 'unpause'
  | 'clear';

/** The phase that follows from an event. */
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
