import type { ModelIdentity } from '../result.js';

/** What a caller knows when it is their turn. */
export interface CallerView {
  /** What the agent has said since the caller's last move, as far as it was heard. Empty = nothing. */
  agentSaid: string;
  /** The conversation so far, `agentSaid` included. */
  transcript: readonly { readonly who: 'agent' | 'caller'; readonly text: string }[];
  /** How often the caller has spoken or pressed keys so far. */
  turn: number;
  /** The agent has not said anything for as long as the caller waits. */
  agentIsSilent: boolean;
}

/** What a caller does. */
export type CallerMove =
  /**
   * `afterMs`: a further pause before it. `pauseMs`: the silence where the text has an ellipsis. `mumbled`: says it in a
   * low voice.
   */
  | { say: string; afterMs?: number; pauseMs?: number | undefined; mumbled?: boolean }
  /** The tone of a mailbox. */
  | { beep: true }
  /** A recording; `text` is what it says. */
  | { play: CallerAudio; text: string }
  | { press: string }
  /** Stays silent for this long, whatever the agent says. */
  | { waitMs: number }
  | { hangUp: true };

export interface CallerAudio {
  /** Mono. */
  samples: Int16Array;
  sampleRateHz: number;
}

/** What a caller says over the agent: `afterMs` after the agent began to speak. */
export interface BargeIn {
  say: string;
  afterMs: number;
}

/** The far end of a call under test: decides what is said and done there. */
export interface SimulatedCaller {
  /** Pause between the end of the agent's turn and the caller's answer, in ms. */
  readonly reactionMs: number;
  /** How long the caller waits for the agent to say something, in ms. */
  readonly patienceMs: number;
  /** Does not wait for the agent's first words. Default false. */
  readonly speaksAtOnce?: boolean;
  /** The model that decides for the caller; left out where none does. */
  readonly playedBy?: ModelIdentity;
  /**
   * The agent's turn is over, or the caller's patience is. Returns moves in order; none = the caller goes on listening.
   * @throws CallerError if the caller cannot go on; the run is then an error, or a failure
   */
  next(view: CallerView, signal: AbortSignal): readonly CallerMove[] | Promise<readonly CallerMove[]>;
  /** The agent begins to speak. Null = the caller listens. Left out: they always do. */
  bargeIn?(view: CallerView): BargeIn | null;
}

/** Why a caller could not go on. */
export class CallerError extends Error {
  override readonly name = 'CallerError';
  /** `failed`: the agent did not do what the caller waited for. `error`: the caller itself is broken. */
  readonly kind: 'failed' | 'error';

  constructor(kind: 'failed' | 'error', message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
