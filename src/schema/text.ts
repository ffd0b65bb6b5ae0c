import * as z from 'zod';

/** Longest phrase in characters: about two minutes of speech. */
const PHRASE_CHARS = 2_000;

/** A phrase that the agent says. */
export const phraseSchema = z.string().max(PHRASE_CHARS);

/** Alternative phrases. */
export const phrasesSchema = z.array(phraseSchema).max(100);

/** Instructions to the model about one action. */
export const instructionSchema = z.string().max(10_000);

/** What language models take as a tool's name. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

export const toolNameSchema = z.string().regex(TOOL_NAME, 'Input should be 1 to 64 letters, digits, _ or -');

/** An IANA time zone, such as `Europe/Berlin`; empty = none. */
export const timezoneSchema = z.string().refine((name) => name === '' || isTimezone(name), {
  error: 'Input should be an IANA time zone such as Europe/Berlin',
  params: { type: 'timezone' },
});

/** Valid names: `Intl` takes longer to check one than all other checks of a configuration together. */
const knownTimezones = new Set<string>();

function isTimezone(name: string): boolean {
  if (knownTimezones.has(name)) return true;
  // Only some runtimes accept offsets such as +02:00.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    knownTimezones.add(new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone);
    return true;
  } catch {
    return false;
  }
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['on', true],
  ['yes', true],
  ['false', false],
  ['0', false],
  ['off', false],
  ['no', false],
]);

/** Converts text to the schema's type. Invalid numbers stay text, so that the schema reports the fault. */
export function fromText(text: string, schema: z.ZodType): unknown {
  const kind = innermost(schema);
  if (kind instanceof z.ZodArray) return text.split(/[\s,]+/).filter((part) => part !== '');
  if (isNumeric(kind) && /^-?\d+(\.\d+)?$/.test(text.trim())) return Number(text);
  if (kind instanceof z.ZodBoolean) return BOOLEANS.get(text.trim().toLowerCase()) ?? text;
  return kind instanceof z.ZodNumber ? text : text.trim();
}

function isNumeric(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodLiteral) return [...schema.values].every((value) => typeof value === 'number');
  return schema instanceof z.ZodNumber;
}

function innermost(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault
  ) {
    return innermost(schema.unwrap() as z.ZodType);
  }
  return schema;
}
