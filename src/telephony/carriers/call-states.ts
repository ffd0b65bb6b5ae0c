import type { Cancel } from '../../base/clock.js';
import type { CallEnd, CallRecord, CallState } from './carrier.js';

/** The end of a call for its agent when the far end was transferred. */
export const TRANSFERRED: CallEnd = { cause: 'transferred', by: 'agent', reason: 'connected to another party' };

export interface CallStatesOptions {
  nowMs: () => number;
  /** A listener has thrown; the other listeners are still called. */
  onListenerError: (error: unknown) => void;
}

/** The states of a call, when each began, and their listeners. The first state is `initiated`. */
export class CallStates {
  readonly #options: CallStatesOptions;
  readonly #listeners = new Set<(state: CallState) => void>();
  readonly #times: Partial<Record<CallState, number>>;
  #current: CallState = 'initiated';

  constructor(options: CallStatesOptions) {
    this.#options = options;
    this.#times = { initiated: options.nowMs() };
  }

  get current(): CallState {
    return this.#current;
  }

  /** Whether the call has reached a state. */
  wasReached(state: CallState): boolean {
    return this.#times[state] !== undefined;
  }

  listen(listener: (state: CallState) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  enter(state: CallState): void {
    this.#current = state;
    this.#times[state] = this.#options.nowMs();
    for (const listener of Array.from(this.#listeners)) {
      try {
        listener(state);
      } catch (error) {
        this.#options.onListenerError(error);
      }
    }
  }

  /** Removes all listeners. */
  forget(): void {
    this.#listeners.clear();
  }

  /** In the format of the call's record. */
  times(): Pick<CallRecord, 'initiatedMs' | 'ringingMs' | 'answeredMs' | 'endedMs'> {
    const { initiated = 0, ringing = null, answered = null, ended = null } = this.#times;
    return { initiatedMs: initiated, ringingMs: ringing, answeredMs: answered, endedMs: ended };
  }
}
