import * as z from 'zod';

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

/** Text as the schema's kind of value; a number that is none stays text, so that the schema words the fault. */
export function fromText(text: string, schema: z.ZodType): unknown {
  const kind = innermost(schema);
  if (kind instanceof z.ZodArray) return text.split(/[\s,]+/).filter((part) => part !== '');
  if (kind instanceof z.ZodNumber && /^-?\d+(\.\d+)?$/.test(text.trim())) return Number(text);
  if (kind instanceof z.ZodBoolean) return BOOLEANS.get(text.trim().toLowerCase()) ?? text;
  return kind instanceof z.ZodNumber ? text : text.trim();
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
