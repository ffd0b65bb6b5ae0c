import type { Fault } from '../fault.js';

/** Validation issues of a configuration, by place. */
export class Faults {
  readonly #byPath = new Map<string, string[]>();

  /** @param faults of a request with the configuration in `config` */
  constructor(faults: readonly Fault[] = []) {
    for (const { loc, msg } of faults) {
      const path = loc.slice(loc[0] === 'body' ? 1 : 0);
      const text = (path[0] === 'config' ? path.slice(1) : path).join('.');
      this.#byPath.set(text, [...(this.#byPath.get(text) ?? []), msg]);
    }
  }

  get count(): number {
    return this.#byPath.size;
  }

  at(path: string): readonly string[] {
    return this.#byPath.get(path) ?? [];
  }

  /** Whether there is an issue at a place, or below it. */
  isWithin(path: string): boolean {
    return [...this.#byPath.keys()].some((key) => key === path || key.startsWith(`${path}.`));
  }

  /** Issues at places without a field, with their places. */
  outside(shown: ReadonlySet<string>): string[] {
    return [...this.#byPath].flatMap(([path, messages]) =>
      shown.has(path) ? [] : messages.map((message) => (path === '' ? message : `${path}: ${message}`)),
    );
  }
}
