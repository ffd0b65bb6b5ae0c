import type { MediaSocket, MediaSocketEvents } from '../../../src/telephony/carriers/media-socket/media-socket.js';
import type { Clock } from '../../../src/base/clock.js';

/** One end of a pair of sockets in virtual time. */
class End implements MediaSocket {
  readonly #clock: Clock;
  readonly #delayMs: number;
  other: End | null = null;
  bufferedBytes = 0;
  #events: MediaSocketEvents | null = null;
  #early: string[] = [];
  #isClosed = false;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  send(text: string): void {
    if (this.#isClosed) return;
    this.#later(() => this.other?.take(text));
  }

  listen(events: MediaSocketEvents): void {
    this.#events = events;
    for (const text of this.#early.splice(0)) events.onText(text);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#later(() => this.other?.gone());
    this.gone();
  }

  take(text: string): void {
    if (this.#isClosed) return;
    if (this.#events === null) this.#early.push(text);
    else this.#events.onText(text);
  }

  gone(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events?.onClosed();
  }

  #later(fn: () => void): void {
    this.#clock.schedule(this.#clock.nowMs() + this.#delayMs, fn);
  }
}

export function socketPair(clock: Clock, delayMs: number): [MediaSocket, MediaSocket] {
  const [near, far] = [new End(clock, delayMs), new End(clock, delayMs)];
  near.other = far;
  far.other = near;
  return [near, far];
}
