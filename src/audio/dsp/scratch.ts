/**
 * Memory for what is used up before anything else is put there: one piece for all calls of a thread, in place of one each.
 * To hundreds of calls that is the difference between what the processor has at hand and what it has to wait for.
 */
export class Scratch<T extends Uint8Array | Int16Array> {
  readonly #whole: T;
  /** By their length: a few lengths come again and again. */
  readonly #views: (T | undefined)[];

  constructor(whole: T) {
    this.#whole = whole;
    this.#views = Array.from({ length: whole.length + 1 }, () => undefined);
  }

  /** The first `length` elements, with whatever was there last. @throws RangeError where it has not so many */
  of(length: number): T {
    return (this.#views[length] ??= this.#make(length));
  }

  #make(length: number): T {
    if (!(length >= 0 && length <= this.#whole.length)) throw new RangeError(`no room for ${String(length)}`);
    return this.#whole.subarray(0, length) as T;
  }
}
