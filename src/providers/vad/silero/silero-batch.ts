/** Windows of many streams in one product: the network's weights do not fit into a core's cache, and are read once for all. */
import { whenGathered } from '../../../base/gathering.js';
import { SILERO_STATE, SILERO_WINDOW } from './silero-model.js';

/**
 * Computes `count` consecutive windows of `samples`, each with its stream's state in `states`, which it updates.
 */
export type RunTogether = (
  states: Float32Array,
  samples: Int16Array,
  count: number,
  probabilities: Float32Array,
) => void;

/** A stream one of whose windows waits. */
export interface WaitingStream {
  /** Its memory, `SILERO_STATE` floats. */
  readonly state: Float32Array;
  /** Whether it is still interested. */
  readonly waits: boolean;
  /** The window has been computed, and the memory is up to date. */
  computed(probability: number): void;
}

/** Half of 200 calls speak within the same 5 ms. */
const MOST = 64;

/** The windows of one gathering (see base/gathering.ts), in one thread. */
export class SileroBatch {
  readonly #run: RunTogether;
  readonly #states = new Float32Array(MOST * SILERO_STATE);
  readonly #samples = new Int16Array(MOST * SILERO_WINDOW);
  readonly #probabilities = new Float32Array(MOST);
  readonly #statesOf = Array.from({ length: MOST }, (_, n) => {
    return this.#states.subarray(n * SILERO_STATE, (n + 1) * SILERO_STATE);
  });
  readonly #streams: WaitingStream[] = [];

  constructor(run: RunTogether) {
    this.#run = run;
  }

  /** To be called while something is gathered. A stream has one window waiting at a time. */
  add(stream: WaitingStream, window: Int16Array): void {
    if (this.#streams.length === MOST) this.finish();
    if (this.#streams.length === 0) whenGathered(this.finish);
    const n = this.#streams.push(stream) - 1;
    this.#states.set(stream.state, n * SILERO_STATE);
    this.#samples.set(window, n * SILERO_WINDOW);
  }

  /** Computes what waits, if anything does. */
  readonly finish = (): void => {
    const streams = this.#streams.splice(0);
    if (streams.length === 0) return;
    this.#run(this.#states, this.#samples, streams.length, this.#probabilities);
    // What hears of one window may add another one: all have what is theirs before.
    const probabilities = this.#probabilities.slice(0, streams.length);
    for (const [n, { waits, state }] of streams.entries()) if (waits) state.set(this.#statesOf[n]!);
    for (const [n, stream] of streams.entries()) if (stream.waits) tell(stream, probabilities[n]!);
  };
}

/** One stream's fault is an uncaught error of the process, outside the others' turn. */
function tell(stream: WaitingStream, probability: number): void {
  try {
    stream.computed(probability);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
