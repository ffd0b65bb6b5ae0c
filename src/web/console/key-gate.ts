import { el } from '../shared/elements.js';
import type { View } from './view.js';

/** Asks for the operator's private key. */
export function keyGate(problem: string | null, onKey: (key: string) => void): View {
  const field = el('input', {
    id: 'key-field',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'sk_…',
    required: '',
    'aria-describedby': 'key-about',
  });
  const form = el(
    'form',
    { class: 'gate' },
    el('h1', {}, 'Console'),
    el('label', { for: 'key-field' }, 'Private key'),
    field,
    ...(problem === null ? [] : [el('p', { class: 'fault', role: 'alert' }, problem)]),
    el('button', { type: 'submit', class: 'main-button' }, 'Open'),
    el(
      'p',
      { class: 'soft', id: 'key-about' },
      'The daemon printed it at its first start; PARLEY_API_KEY sets one. It stays in this tab.',
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (field.value.trim() !== '') onKey(field.value.trim());
  });
  queueMicrotask(() => field.focus());
  return { element: form, title: 'Console', close: () => undefined };
}
