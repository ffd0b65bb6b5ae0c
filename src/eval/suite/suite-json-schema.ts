import * as z from 'zod';
import { suiteSchema } from './suite-schema.js';

/** The JSON Schema (draft 2020-12) of suite files. */
export function suiteJsonSchema(): Readonly<Record<string, unknown>> {
  return {
    title: 'parley test suite',
    description: 'A test suite of parley eval.',
    ...z.toJSONSchema(suiteSchema, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' }),
  };
}
