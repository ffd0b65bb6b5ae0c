/**
 * The state of a call. `reconnecting`: the line broke, and the call waits for another one. `ended` is the last state.
 */
export type CallState = 'connecting' | 'listening' | 'thinking' | 'speaking' | 'interrupted' | 'reconnecting' | 'ended';

export type CallStep =
  /** The server is ready. */
  | 'ready'
  /** The line broke. */
  | 'broken'
  | 'end'
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

/** The state after a step. */
export function nextState(state: CallState, step: CallStep): CallState {
  if (step === 'end' || state === 'ended') return 'ended';
  if (step === 'broken') return 'reconnecting';
  if (state === 'connecting' || state === 'reconnecting') return step === 'ready' ? 'listening' : state;
  switch (step) {
    case 'ready':
      return state;
    case 'hears':
      return state === 'thinking' ? 'listening' : state;
    case 'heard':
    case 'answering':
      return state === 'speaking' ? state : 'thinking';
    case 'playing':
      return 'speaking';
    case 'unpause':
      return state === 'interrupted' ? 'speaking' : state;
    case 'quiet':
      return state === 'speaking' ? 'listening' : state;
    case 'pause':
    case 'clear':
      return state === 'speaking' || state === 'interrupted' ? 'interrupted' : state;
  }
}
