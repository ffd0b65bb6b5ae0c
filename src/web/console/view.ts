import { el } from '../docs/elements.js';
import type { Api } from './api.js';
import { messageOf } from './api.js';

/** One place of the console. */
export interface View {
  element: HTMLElement;
  title: string;
  /** Lets go of what it follows or plays. May be called twice. */
  close(): void;
}

export interface ViewOptions {
  api: Api;
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

/** What went wrong, with a way to try it again. */
export function failure(error: unknown, again: () => void): HTMLElement {
  const button = el('button', { type: 'button', class: 'notice-action' }, 'Try again');
  button.addEventListener('click', again);
  return el('div', { class: 'notice failure', role: 'alert' }, el('p', {}, messageOf(error)), button);
}

export function card(title: string, ...children: (Node | string)[]): HTMLElement {
  return el('section', { class: 'card' }, el('h2', {}, title), ...children);
}
