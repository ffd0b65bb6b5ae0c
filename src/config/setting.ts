import type * as z from 'zod';

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
