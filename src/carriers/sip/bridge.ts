import { FRAME_MS } from '../../audio/frame.js';
import type { Cancel } from '../../clock/clock.js';
import type { Ticker } from '../../clock/ticker.js';
import type { CallLine } from './line.js';

/** Sound that may wait for the next tick: what comes more is late, and left out. */
const MOST_WAITING_MS = 100;

/** Relays the media of two calls whose agent has left: sound and keys, both ways. */
export class Bridge {
  readonly #stopTicks: Cancel;
  readonly #closing = new AbortController();

  constructor(first: CallLine, second: CallLine, ticker: Ticker) {
    const toSecond = new Relay(first, second, this.#closing.signal);
    const toFirst = new Relay(second, first, this.#closing.signal);
    this.#stopTicks = ticker.subscribe(() => {
      toFirst.tick();
      toSecond.tick();
    });
  }

  /** May be called twice. */
  close(): void {
    this.#stopTicks();
    this.#closing.abort();
  }
}

/** One direction. Both lines have the same rate: that of the trunk's best codec. */
class Relay {
  readonly #to: CallLine;
  readonly #frame: number;
  #waiting: Int16Array;
  #length = 0;

  constructor(from: CallLine, to: CallLine, signal: AbortSignal) {
    this.#to = to;
    this.#frame = (from.inputRateHz * FRAME_MS) / 1000;
    this.#waiting = new Int16Array((from.inputRateHz * MOST_WAITING_MS) / 1000);
    from.handOver({
      audio: (samples) => this.#take(samples),
      digits: (keys) => to.press(keys, signal),
    });
  }

  tick(): void {
    if (this.#length < this.#frame) return this.#to.relay(null);
    this.#to.relay(this.#waiting.slice(0, this.#frame));
    this.#waiting.copyWithin(0, this.#frame, this.#length);
    this.#length -= this.#frame;
  }

  #take(samples: Int16Array): void {
    const room = this.#waiting.length - this.#length;
    this.#waiting.set(samples.length > room ? samples.subarray(0, room) : samples, this.#length);
    this.#length += Math.min(room, samples.length);
  }
}
