import { el } from '../shared/elements.js';
import type { ConsoleApi } from './api.js';
import { messageOf } from './api.js';

/** One place of the console. */
export interface View {
  element: HTMLElement;
  title: string;
  /** Lets go of what it follows or plays. May be called twice. */
  close(): void;
  /** Whether leaving loses what was entered. Default: it does not. */
  isUnsaved?(): boolean;
}

export interface ViewOptions {
  api: ConsoleApi;
  /** What stands in the address behind the place: `ID`, `?agent=…`. */
  path: string;
  search: string;
}

export function loading(what: string): HTMLElement {
  return el('p', { class: 'state', role: 'status' }, `${what} …`);
}

export function empty(...text: (Node | string)[]): HTMLElement {
  return el('p', { class: 'state' }, ...text);
}

/** What went wrong, with what may help. */
export function failure(error: unknown, again: () => void, label = 'Try again'): HTMLElement {
  const button = el('button', { type: 'button', class: 'notice-action' }, label);
  button.addEventListener('click', again);
  return el('div', { class: 'notice failure', role: 'alert' }, el('p', {}, messageOf(error)), button);
}

export function card(title: string, ...children: (Node | string)[]): HTMLElement {
  return el('section', { class: 'card' }, el('h2', {}, title), ...children);
}

/** A place that shows what it loads, that it loads, or that this failed, each in the place of the other. */
export class Loaded {
  readonly element = el('div', {});
  readonly #what: string;
  readonly #load: () => Promise<readonly (Node | string)[]>;
  #count = 0;

  constructor(what: string, load: () => Promise<readonly (Node | string)[]>) {
    this.#what = what;
    this.#load = load;
    this.element.append(loading(what));
    void this.refresh();
  }

  /** Loads again; what is there stays until then. Never rejects. */
  async refresh(): Promise<void> {
    const count = ++this.#count;
    let shown: readonly (Node | string)[];
    try {
      shown = await this.#load();
    } catch (error) {
      shown = [
        failure(error, () => {
          this.element.replaceChildren(loading(this.#what));
          void this.refresh();
        }),
      ];
    }
    if (count !== this.#count) return;
    const { activeElement: focused } = document;
    const at = this.#focusable.findIndex((element) => element === focused);
    this.element.replaceChildren(...shown);
    if (at === -1) return;
    // Whoever works with the keyboard stays where they were, also where a button has another name now or is gone.
    const name = nameOf(focused);
    const candidates = this.#focusable;
    (candidates.find((candidate) => nameOf(candidate) === name) ?? candidates[at] ?? candidates.at(-1))?.focus();
  }

  get #focusable(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>('a, button, select, input')];
  }
}

/** By what something that has the focus is known again when it has been made anew. */
function nameOf(element: Element | null): string | null {
  return element?.getAttribute('aria-label') ?? element?.getAttribute('href') ?? element?.textContent ?? null;
}
