import type { TalkForm } from '../../transports/talk-protocol.js';

/** Which control a field of this type is, and how it helps on a phone's keyboard. */
export interface FieldKind {
  control: 'input' | 'choice';
  type: 'text' | 'email' | 'number';
  inputMode: '' | 'email' | 'decimal';
  autocomplete: 'off' | 'email';
}

export function fieldKind(type: string | null | undefined): FieldKind {
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

/** What is asked for, in words: the field's description, else its name. */
export function fieldLabel({ param }: TalkForm): string {
  const words = param.description?.trim() ?? '';
  if (words !== '') return words;
  const name = param.name.replaceAll(/[_-]+/g, ' ').replaceAll(/([a-z])([A-Z])/g, '$1 $2');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** A control's text as the value that goes to the server; null = left empty. */
export function fieldValue(type: string | null | undefined, text: string): string | number | boolean | null {
  const { control, type: inputType } = fieldKind(type);
  if (text.trim() === '') return null;
  if (control === 'choice') return text === 'true';
  return inputType === 'number' && Number.isFinite(Number(text)) ? Number(text) : text;
}
