import type { z } from 'zod';

/** Documentation of a field in addition to its effect. */
export interface FieldNotes {
  /** Unit of a number: `ms`, `s`, `0..1` and so on. */
  unit?: string;
  /** The meaning of null or an omitted field, as text or a JSON value. */
  default?: string | number | boolean;
}

/** A required field. The docs and the OpenAPI document show `effect`. */
export function required<T extends z.ZodType>(schema: T, effect: string, notes: FieldNotes = {}): T {
  return schema.meta(metaOf(effect, notes));
}

/** An optional field. Null and omission both mean the default. */
export function optional<T extends z.ZodType>(
  schema: T,
  effect: string,
  notes: FieldNotes = {},
): z.ZodOptional<z.ZodNullable<T>> {
  return schema.nullish().meta(metaOf(effect, notes));
}

function metaOf(effect: string, notes: FieldNotes): Record<string, unknown> {
  const meta: Record<string, unknown> = { description: effect };
  if (notes.unit !== undefined) meta['x-unit'] = notes.unit;
  if (notes.default !== undefined) meta['x-default'] = notes.default;
  return meta;
}

/** The value, or `otherwise` for a value that means "not set": null, undefined, an empty string or 0. */
export function setOr<T extends string | number>(value: T | '' | null | undefined, otherwise: T): T {
  return value == null || value === '' || value === 0 ? otherwise : value;
}
