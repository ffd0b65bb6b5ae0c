import { el } from '../shared/elements.js';
import { messageOf } from './api.js';

export interface ActionOptions {
  class?: string;
  /** The button asks for a second click before an irreversible action. */
  confirm?: string;
  /** For screen readers, if the text alone does not name its object. */
  label?: string;
}

/** Time for the second click. */
const CONFIRM_MS = 4000;

/** A button that runs one action at a time. Errors are shown beside it. */
export function actionButton(text: string, run: () => Promise<void>, options: ActionOptions = {}): HTMLElement {
  const { confirm, label } = options;
  const button = el(
    'button',
    { type: 'button', class: options.class ?? 'quiet-button', 'aria-label': label ?? null },
    text,
  );
  const fault = el('span', { class: 'fault', role: 'alert' });
  let timer = 0;
  let isAsked = confirm === undefined;
  const ask = (asks: boolean): void => {
    clearTimeout(timer);
    isAsked = asks || confirm === undefined;
    button.textContent = asks && confirm !== undefined ? confirm : text;
    if (label !== undefined) button.setAttribute('aria-label', asks ? `${confirm ?? ''} ${label}` : label);
    if (asks) timer = setTimeout(() => ask(false), CONFIRM_MS);
  };
  button.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && confirm !== undefined) ask(false);
  });
  let isBusy = false;
  const setBusy = (busy: boolean): void => {
    isBusy = busy;
    button.setAttribute('aria-disabled', String(busy)); // `disabled` would take the focus away
  };
  button.addEventListener('click', () => {
    if (isBusy) return;
    if (!isAsked) {
      ask(true);
      return;
    }
    ask(false);
    setBusy(true);
    fault.textContent = '';
    run()
      .catch((error: unknown) => (fault.textContent = messageOf(error)))
      .finally(() => setBusy(false));
  });
  return el('span', { class: 'action' }, button, fault);
}

/** A button that switches something on and off. */
export interface ToggleButton {
  element: HTMLElement;
  /** Shows how it is, however that came. */
  set(on: boolean): void;
}

/** @param run switches; if it fails, the error is shown and the button stays as it was */
export function toggleButton(off: string, on: string, run: (on: boolean) => Promise<void>): ToggleButton {
  let isOn = false;
  const element = actionButton(off, async () => {
    const next = !isOn;
    await run(next);
    set(next);
  });
  const button = element.querySelector('button');
  const set = (next: boolean): void => {
    isOn = next;
    if (button !== null) button.textContent = isOn ? on : off;
  };
  return { element, set };
}

/** A form that is sent by its button or by Enter. Errors are shown below. */
export function actionForm(
  name: string,
  fields: readonly HTMLElement[],
  submit: string,
  run: () => Promise<void>,
): HTMLFormElement {
  const button = el('button', { type: 'submit', class: 'main-button' }, submit);
  const fault = el('p', { class: 'fault', role: 'alert' });
  const form = el(
    'form',
    { class: 'filters action-form', 'aria-label': name, autocomplete: 'off' },
    ...fields,
    button,
    fault,
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    button.disabled = true;
    fault.textContent = '';
    run()
      .catch((error: unknown) => (fault.textContent = messageOf(error)))
      .finally(() => (button.disabled = false));
  });
  return form;
}

export function labelled(text: string, field: HTMLElement): HTMLElement {
  return el('label', {}, el('span', {}, text), field);
}

/** A list of options; it contains `value` even if that is no longer an option. */
export function select(
  name: string,
  value: string,
  choices: readonly (readonly [value: string, text: string])[],
): HTMLSelectElement {
  const known = choices.some(([choice]) => choice === value) ? choices : [...choices, [value, value] as const];
  const element = el('select', { name }, ...known.map(([choice, text]) => el('option', { value: choice }, text)));
  element.value = value;
  return element;
}
