import { kindOf, nameOf, type OpenApiDocument, resolve, type Schema, withoutNull } from './document.js';
import { el, prose } from '../shared/elements.js';

/** An object's members as a table; nested objects open on demand. */
export function schemaView(raw: Schema, document: OpenApiDocument): HTMLElement {
  const schema = resolve(withoutNull(raw).schema, document);
  if (schema.type === 'array' && schema.items !== undefined) {
    return el('div', {}, el('p', { class: 'quiet' }, kindOf(raw)), schemaView(schema.items, document));
  }
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) return el('p', {}, el('code', {}, kindOf(raw)), ' ', ...prose(schema.description ?? ''));
  const required = new Set(schema.required);
  const rows = members.map(([name, member]) => row(name, member, required.has(name), document));
  return el('div', { class: 'members' }, ...rows);
}

function row(name: string, member: Schema, isRequired: boolean, document: OpenApiDocument): HTMLElement {
  const notes = [
    ...(member['x-unit'] === undefined ? [] : [`unit: ${member['x-unit']}`]),
    ...(member['x-default'] === undefined ? [] : [`default: ${String(member['x-default'])}`]),
  ];
  const head = [
    el('code', { class: 'name' }, name),
    ' ',
    el('span', { class: 'kind' }, kindOf(member)),
    ...(isRequired ? [' ', el('span', { class: 'required' }, 'required')] : []),
    el(
      'span',
      { class: 'effect' },
      ...prose(member.description ?? ''),
      notes.length > 0 ? ` (${notes.join('; ')})` : '',
    ),
  ];
  const inner = below(member, document);
  if (inner === null) return el('div', { class: 'member' }, ...head);
  const details = el('details', { class: 'member' }, el('summary', {}, ...head));
  // Nested objects are created when they are opened, because a configuration is deep.
  details.addEventListener('toggle', () => details.append(schemaView(inner, document)), { once: true });
  return details;
}

/** The object of a member, if any. */
function below(member: Schema, document: OpenApiDocument): Schema | null {
  const { schema } = withoutNull(member);
  for (const choice of schema.anyOf ?? schema.oneOf ?? [schema]) {
    const found = resolve(choice, document);
    if (found.type === 'array' && found.items !== undefined) return below(found.items, document);
    if (found.properties !== undefined) return nameOf(choice) === null ? found : choice;
  }
  return null;
}
