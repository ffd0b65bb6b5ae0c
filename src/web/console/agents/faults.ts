import type { Fault } from '../fault.js';

/** What the daemon found wrong with a configuration, by place. */
export class Faults {
  readonly #byPath = new Map<string, string[]>();

  /** @param faults of a request whose body has the configuration in `config` */
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

  /** Whether something at a place, or below it, is wrong. */
  isWithin(path: string): boolean {
    return [...this.#byPath.keys()].some((key) => key === path || key.startsWith(`${path}.`));
  }

  /** Those of places that a form does not show, with their places. */
  elsewhere(shown: ReadonlySet<string>): string[] {
    return [...this.#byPath].flatMap(([path, messages]) =>
      shown.has(path) ? [] : messages.map((message) => (path === '' ? message : `${path}: ${message}`)),
    );
  }
}
