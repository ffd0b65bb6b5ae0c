import { expect, it } from 'vitest';
import * as z from 'zod';
import { functionSchema } from '../../src/agent/function.js';

it.each(['GET', 'post', 'Delete'])(
  'a tool with the method %s fits the pattern that the OpenAPI document has',
  (method) => {
    const schema = z.toJSONSchema(functionSchema, { io: 'input' });
    const pattern = /"pattern":"(\^\(\?:\[Gg\][^"]*)"/.exec(JSON.stringify(schema))?.[1];
    expect(new RegExp(pattern ?? 'none').test(method)).toBe(true);
  },
);
