import { expect, test } from 'vitest';
import * as z from 'zod';
import { openApiDocument } from '../../../src/daemon/api/openapi.js';
import { appWith } from './support.js';

test('an endpoint becomes an operation with its parts, its answers and its errors', () => {
  const thing = z.strictObject({ id: z.string(), part: z.int().nullable() }).meta({ id: 'Thing' });
  const { api } = appWith({
    ...{ method: 'PUT', path: '/things/{thing_id}', tag: 'things', summary: 'Change a thing', header: 'required' },
    params: { thing_id: z.string() },
    query: { limit: z.int().max(100).exactOptional().describe('How many') },
    body: z.strictObject({ things: z.array(thing) }),
    answer: thing,
    errors: ['NOT_FOUND'],
    handle: () => ({ id: '', part: null }),
  });
  const document = openApiDocument(api.endpoints) as {
    openapi: string;
    info: { version: string };
    paths: Record<string, Record<string, Record<string, unknown>>>;
    components: { schemas: Record<string, unknown> };
  };
  expect(document.openapi).toBe('3.1.0');
  expect(document.info.version).toBe('0.1.0');
  expect(document.components.schemas['Thing']).toMatchObject({ type: 'object', additionalProperties: false });
  const put = document.paths['/things/{thing_id}']?.['put'];
  expect(put).toMatchObject({
    operationId: 'put_things_thing_id',
    security: [{ key: [] }],
    parameters: [
      { name: 'thing_id', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'limit', in: 'query', required: false, description: 'How many', schema: { type: 'integer' } },
      { name: 'authorization', in: 'header', required: true },
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { properties: { things: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } } },
        },
      },
    },
  });
  expect(put?.['responses']).toMatchObject({
    200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
  });
  expect(Object.keys(put?.['responses'] as object).sort()).toEqual(['200', '401', '403', '404', '422', '429']);
});
