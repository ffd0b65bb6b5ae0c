import * as z from 'zod';

/** What an operator can set, and under which name in the environment. */
interface SettingNotes {
  /** Name in the environment. `PARLEY_…` ones are flags too, but for secrets: command lines can be read by others. */
  env?: string;
  secret?: true;
  unit?: string;
}

/** A setting: what it does, and how else it can be given. */
export function setting<T extends z.ZodType>(
  schema: T,
  effect: string,
  notes: SettingNotes = {},
): z.ZodExactOptional<T> {
  return schema.exactOptional().meta({
    description: effect,
    ...(notes.env !== undefined && { 'x-env': notes.env }),
    ...(notes.secret && { 'x-secret': true }),
    ...(notes.unit !== undefined && { 'x-unit': notes.unit }),
  });
}

/** A key or password of another service. */
export const secretSchema = z
  .string()
  .max(500)
  .regex(/^[\x21-\x7e]+$/, 'Input should be printable characters without spaces');

/** A password that is never sent itself, such as one of SIP: spaces are part of it. */
export const passwordSchema = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'Input should be characters that can be read, or spaces');

/** The root of an API. */
export const baseUrlSchema = z.string().refine((text) => isUrl(text, ['http:', 'https:']), {
  error: 'Input should be an http:// or https:// address',
  params: { type: 'url_parsing' },
});

/** Whether a text is an address with one of these protocols, such as `https:`. */
export function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol);
}
