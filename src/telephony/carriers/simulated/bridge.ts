import type { CallEndpoint } from './endpoint.js';

/** How much sound may wait between two calls, in frames. */
const MAX_WAITING = 10;

/** Connects the far ends of two calls with each other: each call has one end of it where its agent was. */
export class SimulatedBridge {
  readonly first: CallEndpoint;
  readonly second: CallEndpoint;

  /**
   * @param onDigits keys for the far end of the call that holds the first or the second end
   * @param onGone one of the two calls is over
   */
  constructor(onDigits: (end: 'first' | 'second', keys: string) => void, onGone: () => void) {
    const toFirst: Int16Array[] = [];
    const toSecond: Int16Array[] = [];
    this.first = end(toFirst, toSecond, (keys) => onDigits('second', keys), onGone);
    this.second = end(toSecond, toFirst, (keys) => onDigits('first', keys), onGone);
  }
}

function end(from: Int16Array[], to: Int16Array[], digits: (keys: string) => void, gone: () => void): CallEndpoint {
  return {
    speak: () => from.shift() ?? null,
    hear: (frame) => {
      if (frame !== null && to.push(frame) > MAX_WAITING) to.shift();
    },
    digits,
    gone,
  };
}
