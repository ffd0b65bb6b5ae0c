import { el } from '../shared/elements.js';

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'];
const LETTERS: Readonly<Record<string, string>> = {
  '2': 'ABC',
  '3': 'DEF',
  '4': 'GHI',
  '5': 'JKL',
  '6': 'MNO',
  '7': 'PQRS',
  '8': 'TUV',
  '9': 'WXYZ',
};
const NAMES: Readonly<Record<string, string>> = { '*': 'star', '#': 'hash' };

/** A telephone keypad, opened by a button. Digits of the keyboard work while it has the focus. */
export class Keypad {
  readonly #root: HTMLElement;
  readonly #toggle: HTMLButtonElement;
  readonly #onDigit: (digit: string) => void;

  constructor(root: HTMLElement, toggle: HTMLButtonElement, onDigit: (digit: string) => void) {
    this.#root = root;
    this.#toggle = toggle;
    this.#onDigit = onDigit;
    for (const key of KEYS) root.append(this.#key(key));
    toggle.addEventListener('click', () => {
      this.open = root.hidden !== false;
    });
    root.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.preventDefault();
        this.open = false;
        toggle.focus();
      } else if (KEYS.includes(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        onDigit(event.key);
      }
    });
  }

  set open(open: boolean) {
    this.#root.hidden = !open;
    this.#toggle.setAttribute('aria-expanded', String(open));
    if (open) this.#root.querySelector('button')?.focus();
  }

  #key(key: string): HTMLElement {
    const letters = LETTERS[key] ?? '';
    const name = NAMES[key] ?? `${key} ${letters}`.trim();
    const button = el('button', { class: 'key', type: 'button', 'aria-label': name }, key);
    button.append(' ', el('span', { class: 'key-letters' }, letters));
    button.addEventListener('click', () => {
      this.#onDigit(key);
    });
    return button;
  }
}
