import { FRAME_BYTES } from './people.js';

/** What a carrier has been sent over a media socket and has not played: mulaw, and marks between it. */
export class PlayQueue {
  readonly #queue: (Uint8Array | { mark: string })[] = [];

  /** How long what waits lasts, in milliseconds. */
  get ms(): number {
    return this.#queue.reduce((sum, one) => sum + (one instanceof Uint8Array ? one.length / 8 : 0), 0);
  }

  push(next: Uint8Array | { mark: string }): void {
    this.#queue.push(next);
  }

  /** The next 20 ms, silence where nothing waits; marks whose turn it is are reported. */
  tick(onMark: (name: string) => void): Uint8Array {
    let left = FRAME_BYTES;
    const frame = new Uint8Array(FRAME_BYTES).fill(0xff);
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if (!(next instanceof Uint8Array)) {
        this.#queue.shift();
        onMark(next.mark);
        continue;
      }
      if (left === 0) break;
      const length = Math.min(left, next.length);
      frame.set(next.subarray(0, length), FRAME_BYTES - left);
      left -= length;
      if (length === next.length) this.#queue.shift();
      else this.#queue[0] = next.subarray(length);
    }
    return frame;
  }

  /** Nothing waits any more. Returns the marks that did. */
  clear(): string[] {
    return this.#queue.splice(0).flatMap((one) => (one instanceof Uint8Array ? [] : [one.mark]));
  }
}
