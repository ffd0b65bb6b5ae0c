import type { z } from 'zod';

/** What a field's documentation says beside its effect. */
export interface FieldNotes {
  /** Unit of a number: `ms`, `s`, `0..1` and so on. */
  unit?: string;
  /** What null or omitted means, in words or as a JSON value. */
  default?: string | number | boolean;
}

/** A field that must be there. `effect` says what it does: the docs table and the OpenAPI document show it. */
export function required<T extends z.ZodType>(schema: T, effect: string, notes: FieldNotes = {}): T {
  return schema.meta(metaOf(effect, notes));
}

/** A field that may be null or left out; both mean its default. */
export function optional<T extends z.ZodType>(
  schema: T,
  effect: string,
  notes: FieldNotes = {},
): z.ZodOptional<z.ZodNullable<T>> {
  return schema.nullish().meta(metaOf(effect, notes));
}

function metaOf(effect: string, notes: FieldNotes): Record<string, unknown> {
  return {
    description: effect,
    ...(notes.unit !== undefined && { 'x-unit': notes.unit }),
    ...(notes.default !== undefined && { 'x-default': notes.default }),
  };
}

/** The value, or `otherwise` where it means "not set": null, left out, an empty text or 0. */
export function setOr<T extends string | number>(value: T | '' | null | undefined, otherwise: T): T {
  return value == null || value === '' || value === 0 ? otherwise : value;
}
