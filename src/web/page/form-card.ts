import type { CallForm } from '@parley-voice/web';
import { el } from '../shared/elements.js';

/** A field that the user fills in for the agent. */
export class FormCard {
  readonly element: HTMLFormElement;
  readonly #field: HTMLInputElement | HTMLSelectElement;

  /** @param onDone called once with the value, or null if the user skips it */
  constructor(id: string, form: CallForm, onDone: (value: string | number | boolean | null) => void) {
    const { param, problem } = form;
    const fieldId = `field-${id}`;
    this.#field = fieldOf(form, fieldId);
    const skip = el('button', { type: 'button', class: 'form-skip' }, 'Skip');
    const send = el('button', { type: 'submit', class: 'form-send' }, 'Send');
    this.element = el('form', { class: 'form-card', 'aria-label': 'The agent asks' });
    this.element.append(el('label', { for: fieldId }, fieldLabel(form)));
    if (problem !== undefined) {
      const line = el('p', { class: 'form-problem', id: `${fieldId}-problem`, role: 'alert' }, problem);
      this.#field.setAttribute('aria-describedby', line.id);
      this.#field.setAttribute('aria-invalid', 'true');
      this.element.append(line);
    }
    this.element.append(el('div', { class: 'form-row' }, this.#field, send, skip));
    let done = false;
    const finish = (value: string | number | boolean | null): void => {
      if (done) return;
      done = true;
      onDone(value);
    };
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      finish(fieldValue(param.type, this.#field.value));
    });
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      finish(null);
    });
    skip.addEventListener('click', () => finish(null));
  }

  /** Moves the keyboard focus to the field, unless the user is typing. */
  focus(): void {
    const active = (this.element.getRootNode() as Document | ShadowRoot).activeElement;
    const isTyping = active instanceof HTMLInputElement && active.value !== '';
    if (!isTyping) this.#field.focus();
  }
}

function fieldOf({ param, value }: CallForm, id: string): HTMLInputElement | HTMLSelectElement {
  const kind = fieldKind(param.type);
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  const suggested = isPlain ? String(value) : '';
  if (kind.control === 'choice') {
    const select = el('select');
    select.append(new Option('', ''), new Option('Yes', 'true'), new Option('No', 'false'));
    select.value = suggested;
    return prepared(select, id);
  }
  const input = el('input');
  input.type = kind.type;
  input.inputMode = kind.inputMode;
  input.autocomplete = kind.autocomplete;
  input.maxLength = 10_000;
  if (kind.type === 'number') input.step = 'any';
  input.value = suggested;
  return prepared(input, id);
}

function prepared<T extends HTMLInputElement | HTMLSelectElement>(field: T, id: string): T {
  field.id = id;
  field.required = true; // Skip is for an empty field
  return field;
}

/** The control for a type of field, with hints for phone keyboards. */
export interface FormControl {
  control: 'input' | 'choice';
  type: 'text' | 'email' | 'number';
  inputMode: '' | 'email' | 'decimal';
  autocomplete: 'off' | 'email';
}

export function fieldKind(type: string | null | undefined): FormControl {
  switch ((type ?? 'string').toLowerCase()) {
    case 'email':
      return { control: 'input', type: 'email', inputMode: 'email', autocomplete: 'email' };
    case 'number':
    case 'float':
    case 'integer':
    case 'int':
      return { control: 'input', type: 'number', inputMode: 'decimal', autocomplete: 'off' };
    case 'boolean':
    case 'bool':
      return { control: 'choice', type: 'text', inputMode: '', autocomplete: 'off' };
    default:
      return { control: 'input', type: 'text', inputMode: '', autocomplete: 'off' };
  }
}

/** The label: the field's description, otherwise its name. */
export function fieldLabel({ param }: CallForm): string {
  const words = param.description?.trim() ?? '';
  if (words !== '') return words;
  const name = param.name.replaceAll(/[_-]+/g, ' ').replaceAll(/([a-z])([A-Z])/g, '$1 $2');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** A control's text as the value for the server; null = empty. */
export function fieldValue(type: string | null | undefined, text: string): string | number | boolean | null {
  const { control, type: inputType } = fieldKind(type);
  if (text.trim() === '') return null;
  if (control === 'choice') return text === 'true';
  return inputType === 'number' && Number.isFinite(Number(text)) ? Number(text) : text;
}
