import * as z from 'zod';

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

/** Documentation of a setting in addition to its effect. */
interface SettingNotes {
  /** Environment variable. `PARLEY_…` variables also have a flag unless they are secret: command lines are visible. */
  env?: string;
  secret?: true;
  unit?: string;
}

/** A setting of the operator. The docs and `--help` show `effect`. */
export function setting<T extends z.ZodType>(
  schema: T,
  effect: string,
  notes: SettingNotes = {},
): z.ZodExactOptional<T> {
  const meta: Record<string, unknown> = { description: effect };
  if (notes.env !== undefined) meta['x-env'] = notes.env;
  if (notes.secret) meta['x-secret'] = true;
  if (notes.unit !== undefined) meta['x-unit'] = notes.unit;
  return schema.exactOptional().meta(meta);
}

/** A key or password of another service. */
export const secretSchema = z
  .string()
  .max(500)
  .regex(/^[\x21-\x7e]+$/, 'Input should be printable characters without spaces');

/** A password that is only used in digests, as in SIP. It may contain spaces. */
export const passwordSchema = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'Input should be printable characters or spaces');

/** The base URL of an API. */
export const baseUrlSchema = z.string().refine((text) => isUrl(text, ['http:', 'https:']), {
  error: 'Input should be an http:// or https:// address',
  params: { type: 'url_parsing' },
});

/** Whether a text is a URL with one of these protocols, such as `https:`. */
export function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}
