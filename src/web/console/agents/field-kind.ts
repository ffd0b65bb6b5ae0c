import { type OpenApiDocument, resolve, type Schema, withoutNull } from '../../docs/document.js';

/** The editor of a value. */
export type FieldKind =
  | { kind: 'text'; isLong: boolean }
  | { kind: 'number'; min: number | undefined; max: number | undefined; isWhole: boolean }
  | { kind: 'choice'; choices: readonly unknown[] }
  | { kind: 'group'; schema: Schema }
  | { kind: 'list'; items: Schema }
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
  if (schema.anyOf !== undefined || schema.oneOf !== undefined) return { kind: 'json' };
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
