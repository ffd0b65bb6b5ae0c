import * as z from 'zod';

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
