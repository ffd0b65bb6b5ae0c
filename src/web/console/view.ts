import { el } from '../shared/elements.js';
import type { ConsoleApi } from './api.js';
import { messageOf } from './api.js';

/** One view of the console. */
export interface View {
  element: HTMLElement;
  title: string;
  /** Releases what it follows or plays. May be called twice. */
  close(): void;
  /** Whether leaving loses input. Default: no. */
  isUnsaved?(): boolean;
}

export interface ViewOptions {
  api: ConsoleApi;
  /** The address after the view's name: `ID`, `?agent=…`. */
  path: string;
  search: string;
}

/**
 * A view whose code is loaded when it is shown.
 * @param styles a style sheet of its own
 */
export function laterView(title: string, load: () => Promise<View>, styles: string | null = null): View {
  const element = el('div', {}, loading(`Loading ${title}`));
  let view: View | null = null;
  let isClosed = false;
  const show = async (): Promise<void> => {
    try {
      if (styles !== null) await loadStyles(styles);
      const loaded = await load();
      if (isClosed) {
        loaded.close();
        return;
      }
      view = loaded;
      element.replaceChildren(loaded.element);
    } catch (error) {
      element.replaceChildren(failure(error, () => void show()));
    }
  };
  void show();
  return {
    element,
    title,
    close: () => {
      isClosed = true;
      view?.close();
    },
    isUnsaved: () => view?.isUnsaved?.() === true,
  };
}

/** Loads a style sheet of the daemon's, once. */
export function loadStyles(name: string): Promise<void> {
  const href = `assets/${name}`;
  if (document.querySelector(`link[href="${href}"]`) !== null) return Promise.resolve();
  const link = el('link', { rel: 'stylesheet', href });
  return new Promise((resolve, reject) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error('The daemon does not answer.'));
    });
    document.head.append(link);
  });
}

export function loading(what: string): HTMLElement {
  return el('p', { class: 'state', role: 'status' }, `${what} …`);
}

export function empty(...text: (Node | string)[]): HTMLElement {
  return el('p', { class: 'state' }, ...text);
}

/** An error, with a way to retry. */
export function failure(error: unknown, again: () => void, label = 'Try again'): HTMLElement {
  const button = el('button', { type: 'button', class: 'notice-action' }, label);
  button.addEventListener('click', again);
  return el('div', { class: 'notice failure', role: 'alert' }, el('p', {}, messageOf(error)), button);
}

export function card(title: string, ...children: (Node | string)[]): HTMLElement {
  return el('section', { class: 'card' }, el('h2', {}, title), ...children);
}

/** A view of loaded content, or of its loading or failure. */
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

  /** Loads again; the old content stays until then. Never rejects. */
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
    // The keyboard focus stays in place, even if a button was renamed or removed.
    const name = nameOf(focused);
    const candidates = this.#focusable;
    (candidates.find((candidate) => nameOf(candidate) === name) ?? candidates[at] ?? candidates.at(-1))?.focus();
  }

  get #focusable(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>('a, button, select, input')];
  }
}

/** Identifies the focused element after it is created anew. */
function nameOf(element: Element | null): string | null {
  return element?.getAttribute('aria-label') ?? element?.getAttribute('href') ?? element?.textContent ?? null;
}
