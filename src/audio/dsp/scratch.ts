/**
 * Scratch memory that one synchronous step fills and consumes: shared by all calls of a thread, so that with hundreds of
 * calls it stays in the processor's cache.
 */
export class Scratch<T extends Uint8Array | Int16Array> {
  readonly #whole: T;
  /** By their length: a few lengths come again and again. */
  readonly #views: (T | undefined)[];

  constructor(whole: T) {
    this.#whole = whole;
    this.#views = Array.from({ length: whole.length + 1 }, () => undefined);
  }

  /** The first `length` elements, with their previous contents. @throws RangeError if it is too short */
  of(length: number): T {
    return (this.#views[length] ??= this.#make(length));
  }

  #make(length: number): T {
    if (!(length >= 0 && length <= this.#whole.length)) throw new RangeError(`no room for ${String(length)}`);
    return this.#whole.subarray(0, length) as T;
  }
}
