import { type OpenApiDocument, resolve, type Schema, withoutNull } from '../../docs/document.js';

/** The editor of a value. */
export type FieldKind =
  | { kind: 'text'; isLong: boolean }
  | { kind: 'number'; min: number | undefined; max: number | undefined; isWhole: boolean }
  | { kind: 'choice'; choices: readonly unknown[] }
  | { kind: 'group'; schema: Schema }
  | { kind: 'list'; items: Schema }
  /** One of several groups, each with the name of its first required member. */
  | { kind: 'variants'; variants: readonly { name: string; schema: Schema }[] }
  /** A text, a number or a truth value. */
  | { kind: 'scalar' }
  /** Anything without a form. */
  | { kind: 'json' };

const LONG = /prompt|description|message|instruction/;
/** Texts with a longer limit get several lines. */
const LONG_FROM = 500;
/** JSON Schema's default bounds of integers are ignored. */
const NO_BOUND = 1e15;

/** @param name of the member: spoken texts get more space than names and addresses */
export function fieldKind(name: string, raw: Schema, document: OpenApiDocument): FieldKind {
  const schema = resolve(withoutNull(resolve(withoutNull(raw).schema, document)).schema, document);
  if (schema.enum !== undefined) return { kind: 'choice', choices: schema.enum.filter((choice) => choice !== null) };
  if ('const' in schema) return { kind: 'choice', choices: [schema.const] };
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternativeKind(alternatives.map((one) => resolve(one, document)));
  switch (schema.type) {
    case 'string':
      return { kind: 'text', isLong: LONG.test(name) && (schema.maxLength ?? Infinity) >= LONG_FROM };
    case 'boolean':
      return { kind: 'choice', choices: [true, false] };
    case 'integer':
    case 'number': {
      const bound = (value: number | undefined) =>
        value === undefined || Math.abs(value) > NO_BOUND ? undefined : value;
      return {
        kind: 'number',
        min: bound(schema.minimum),
        max: bound(schema.maximum),
        isWhole: schema.type === 'integer',
      };
    }
    case 'object':
      return schema.properties === undefined ? { kind: 'json' } : { kind: 'group', schema };
    case 'array':
      return schema.items === undefined ? { kind: 'json' } : { kind: 'list', items: schema.items };
    default:
      return { kind: 'json' };
  }
}

const SCALARS = ['string', 'number', 'integer', 'boolean'];

function alternativeKind(alternatives: readonly Schema[]): FieldKind {
  if (alternatives.every(({ type, ...rest }) => SCALARS.includes(String(type)) && !('enum' in rest))) {
    return { kind: 'scalar' };
  }
  const variants = alternatives.flatMap((schema) => {
    const name = schema.required?.[0];
    return name === undefined || schema.properties === undefined ? [] : [{ name, schema }];
  });
  const names = new Set(variants.map(({ name }) => name));
  const isClear = variants.length === alternatives.length && names.size === variants.length;
  return isClear ? { kind: 'variants', variants } : { kind: 'json' };
}

/** The variant that a value is of: the first whose own member it has. */
export function variantOf(value: unknown, variants: readonly { name: string; schema: Schema }[]): number {
  if (typeof value !== 'object' || value === null) return -1;
  return variants.findIndex(({ name }) => name in value);
}

/** A text as people write values: `true`, `8`, `Vienna`; in quotes it is a text in any case. */
export function scalarOf(text: string): string | number | boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string' ? value : text;
  } catch {
    return text;
  }
}

export function scalarText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' && scalarOf(value) === value ? value : JSON.stringify(value);
}
