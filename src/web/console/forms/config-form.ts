import { exampleOf, type OpenApiDocument, type Schema, withoutNull } from '../../docs/document.js';
import { el, prose } from '../../shared/elements.js';
import { type Path, pathText, valueAt } from '../draft.js';
import type { Faults } from './faults.js';
import { type FieldKind, fieldKind, scalarOf, scalarText, variantOf } from './field-kind.js';

export interface ConfigFormOptions {
  document: OpenApiDocument;
  config: unknown;
  faults: Faults;
  /** Opened places. */
  open: Set<string>;
  /** The effect of a setting on the response time, by its place; null = unknown. Default: no effects. */
  expected?: (path: string) => string | null;
  /** Begins the ids of fields, so that two forms share a page. Default: `config`. */
  prefix?: string;
  /** Texts that a field can have; null = any. Default: any. */
  choices?: (path: Path) => readonly string[] | null;
  /** Undefined = back to the default. `rebuilds`: the form's fields have changed. */
  onChange(path: Path, value: unknown, rebuilds: boolean): void;
}

/** A form for a configuration, made from its schema, with its names, descriptions, units and defaults. */
export class ConfigForm {
  readonly element: HTMLElement;
  /** Places with a field. */
  readonly shown = new Set<string>();
  readonly #options: ConfigFormOptions;
  readonly #expected = new Map<string, HTMLElement>();
  readonly #faultPlaces = new Map<string, HTMLElement>();
  #faults: Faults;

  constructor(schema: Schema, options: ConfigFormOptions) {
    this.#options = options;
    this.#faults = options.faults;
    this.element = el('div', { class: 'config-form' }, ...this.#members(schema, []));
  }

  /** The configuration has changed: updates the expected effects. */
  refreshExpected(): void {
    const { expected } = this.#options;
    for (const [key, element] of this.#expected) element.textContent = expected?.(key) ?? '';
  }

  /** Shows other faults, and leaves the fields and the focus as they are. */
  showFaults(faults: Faults): void {
    this.#faults = faults;
    for (const [key, place] of this.#faultPlaces) {
      const messages = faults.at(key);
      if (place.textContent !== messages.join('')) place.replaceChildren(...faultTexts(messages));
      const field = this.element.querySelector(`#${CSS.escape(this.#idOf(key))}`);
      if (messages.length > 0) field?.setAttribute('aria-invalid', 'true');
      else field?.removeAttribute('aria-invalid');
      const branch = place.parentElement;
      if (branch instanceof HTMLDetailsElement) branch.classList.toggle('faulty', faults.isWithin(key));
    }
  }

  #idOf(key: string): string {
    return `${this.#options.prefix ?? 'config'}-${key}`;
  }

  #members(schema: Schema, path: Path): HTMLElement[] {
    const required = new Set(schema.required);
    return Object.entries(schema.properties ?? {}).map(([name, member]) =>
      this.#field(name, member, [...path, name], required.has(name)),
    );
  }

  #field(name: string, schema: Schema, path: Path, isRequired: boolean): HTMLElement {
    const kind = fieldKind(name, schema, this.#options.document);
    const key = pathText(path);
    this.shown.add(key);
    if (kind.kind === 'group') return this.#branch(name, schema, path, () => this.#members(kind.schema, path));
    if (kind.kind === 'list') return this.#branch(name, schema, path, () => this.#items(kind.items, path));
    if (kind.kind === 'variants') return this.#branch(name, schema, path, () => this.#variant(kind.variants, path));
    const id = this.#idOf(key);
    const field = this.#input(kind, schema, path);
    field.id = id;
    if (this.#faults.at(key).length > 0) field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-describedby', `${id}-about`);
    return el(
      'div',
      { class: 'config-field' },
      el(
        'label',
        { for: id },
        el('code', {}, name),
        ...(isRequired ? [el('span', { class: 'soft' }, ' required')] : []),
      ),
      field,
      this.#faultPlace(key),
      el('p', { class: 'about', id: `${id}-about` }, ...about(schema)),
      ...this.#expectation(key),
    );
  }

  /** A group with its own fields, which are created when it is opened. */
  #branch(name: string, schema: Schema, path: Path, inside: () => HTMLElement[]): HTMLElement {
    const key = pathText(path);
    const { open, config } = this.#options;
    const value = valueAt(config, path);
    const isSet = value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
    const count = Array.isArray(value) ? ` ${String(value.length)}` : '';
    const mark = isSet ? [el('span', { class: 'pill' }, `set${count}`)] : [];
    const summary = el(
      'summary',
      {},
      el('code', {}, name),
      ' ',
      ...mark,
      el('span', { class: 'about' }, ' ', ...about(schema)),
      ...this.#expectation(key),
    );
    const details = el(
      'details',
      { class: 'config-branch', id: `${this.#idOf(key)}-branch` },
      summary,
      this.#faultPlace(key),
    );
    const fill = (): void => {
      details.append(el('div', { class: 'config-inside' }, ...inside()));
    };
    details.open = open.has(key) || this.#faults.isWithin(key);
    if (details.open) fill();
    details.addEventListener('toggle', () => {
      if (details.open) open.add(key);
      else open.delete(key);
      if (details.open && details.querySelector(':scope > .config-inside') === null) fill();
    });
    return details;
  }

  #items(items: Schema, path: Path): HTMLElement[] {
    const value = valueAt(this.#options.config, path);
    const list = Array.isArray(value) ? (value as unknown[]) : [];
    const fields = list.map((item, at) => {
      const itemPath = [...path, at];
      const title = itemTitle(item, at);
      const remove = el('button', { type: 'button', class: 'quiet-button', 'aria-label': `Remove ${title}` }, 'Remove');
      remove.addEventListener('click', () => this.#options.onChange(itemPath, undefined, true));
      return el(
        'div',
        { class: 'config-item' },
        this.#field(title, { ...items, description: '' }, itemPath, false),
        remove,
      );
    });
    const add = el('button', { type: 'button', class: 'quiet-button' }, 'Add one');
    add.addEventListener('click', () => {
      this.#options.open.add(pathText([...path, list.length]));
      this.#options.onChange([...path, list.length], exampleOf(items, this.#options.document), true);
    });
    return [...fields, add];
  }

  /** Which of several groups it is, and the members of that one. */
  #variant(variants: readonly { name: string; schema: Schema }[], path: Path): HTMLElement[] {
    const { config, document } = this.#options;
    const at = variantOf(valueAt(config, path), variants);
    const select = el('select', { 'aria-label': 'Kind' }, ...variants.map(({ name }) => el('option', {}, name)));
    select.selectedIndex = at;
    select.addEventListener('change', () =>
      this.#options.onChange(path, exampleOf(variants[select.selectedIndex]?.schema ?? {}, document), true),
    );
    return [select, ...this.#members(variants[at]?.schema ?? {}, path)];
  }

  #input(kind: Exclude<FieldKind, { kind: 'group' | 'list' | 'variants' }>, schema: Schema, path: Path): HTMLElement {
    const value = valueAt(this.#options.config, path);
    const isSet = value !== undefined && value !== null;
    const change = (next: unknown): void => this.#options.onChange(path, next, false);
    const byDefault = schema['x-default'] === undefined ? '' : `default: ${String(schema['x-default'])}`;
    const given = kind.kind === 'text' ? (this.#options.choices?.(path) ?? null) : null;
    if (kind.kind === 'choice' || given !== null) {
      const choices =
        kind.kind === 'choice' ? kind.choices : [...new Set([...(given ?? []), ...(isSet ? [value] : [])])];
      const texts = choices.map((choice) => JSON.stringify(choice));
      const select = el(
        'select',
        {},
        el('option', { value: '' }, byDefault === '' ? '–' : byDefault),
        ...choices.map((choice, at) => el('option', { value: texts[at] ?? '' }, String(choice))),
      );
      select.value = isSet ? JSON.stringify(value) : '';
      select.addEventListener('change', () => change(select.value === '' ? undefined : JSON.parse(select.value)));
      return select;
    }
    if (kind.kind === 'number') {
      const bounds = {
        min: kind.min === undefined ? null : String(kind.min),
        max: kind.max === undefined ? null : String(kind.max),
      };
      const input = el('input', {
        type: 'number',
        step: kind.isWhole ? '1' : 'any',
        placeholder: byDefault,
        ...bounds,
      });
      input.value = typeof value === 'number' ? String(value) : '';
      input.addEventListener('input', () => change(input.value === '' ? undefined : Number(input.value)));
      return input;
    }
    if (kind.kind === 'json') return this.#json(value, change);
    const isScalar = kind.kind === 'scalar';
    const input = kind.kind === 'text' && kind.isLong ? el('textarea', { rows: '5' }) : el('input', { type: 'text' });
    input.value = isScalar ? scalarText(value) : typeof value === 'string' ? value : '';
    input.addEventListener('input', () => {
      const text = input.value;
      change(text === '' ? undefined : isScalar ? scalarOf(text) : text);
    });
    return input;
  }

  #json(value: unknown, change: (value: unknown) => void): HTMLElement {
    const input = el('textarea', { class: 'code', rows: '3', spellcheck: 'false', placeholder: 'JSON' });
    input.value = value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
    input.addEventListener('input', () => {
      try {
        change(input.value.trim() === '' ? undefined : JSON.parse(input.value));
        input.setCustomValidity('');
      } catch {
        input.setCustomValidity('This is no JSON.');
      }
    });
    input.addEventListener('change', () => input.reportValidity());
    return input;
  }

  #expectation(key: string): HTMLElement[] {
    const text = this.#options.expected?.(key) ?? null;
    if (text === null) return [];
    const element = el('span', { class: 'expected' }, text);
    this.#expected.set(key, element);
    return [element];
  }

  #faultPlace(key: string): HTMLElement {
    const place = el('div', { class: 'faults' }, ...faultTexts(this.#faults.at(key)));
    this.#faultPlaces.set(key, place);
    return place;
  }
}

function faultTexts(messages: readonly string[]): HTMLElement[] {
  return messages.map((message) => el('p', { class: 'fault', role: 'alert' }, message));
}

/** An item's own name, or where it leads to, or its number. */
function itemTitle(item: unknown, at: number): string {
  const { name, to, value } = (item ?? {}) as Readonly<Record<string, unknown>>;
  const titles = [name, to, value].filter((text) => typeof text === 'string');
  return titles.find((text) => text !== '') ?? String(at + 1);
}

function about(raw: Schema): (Node | string)[] {
  const { schema } = withoutNull(raw);
  const unit = schema['x-unit'];
  const byDefault = schema['x-default'];
  const notes = [
    ...(unit === undefined ? [] : [`in ${unit}`]),
    ...(byDefault === undefined ? [] : [`default: ${String(byDefault)}`]),
  ];
  return [...prose(schema.description ?? ''), notes.length === 0 ? '' : ` (${notes.join('; ')})`];
}
