import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openApiDocument } from '../../../src/daemon/http/openapi.js';
import { packageFile } from '../../../src/package-files.js';
import { House } from '../house.js';
import { appWith } from './support.js';

test('an endpoint becomes an operation with its parts, its answers and its errors', () => {
  const thing = z.strictObject({ id: z.string(), part: z.int().nullable() }).meta({ id: 'Thing' });
  const { api } = appWith({
    id: 'changeThing',
    method: 'PUT',
    path: '/things/{thing_id}',
    tag: 'things',
    summary: 'Change a thing',
    params: { thing_id: z.string() },
    query: { limit: z.int().max(100).exactOptional().describe('How many') },
    body: z.strictObject({ things: z.array(thing) }),
    answer: thing,
    errors: ['NOT_FOUND'],
    handle: () => ({ id: '', part: null }),
  });
  const document = openApiDocument(api.endpoints, 'https://calls.example') as {
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
    operationId: 'changeThing',
    security: [{ key: ['write'] }],
    parameters: [
      { name: 'thing_id', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'limit', in: 'query', required: false, description: 'How many', schema: { type: 'integer' } },
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

interface Operation {
  operationId: string;
  summary?: string;
  security?: Record<string, string[]>[];
  parameters?: { name: string; in: string; required: boolean }[];
  responses: Record<string, { description: string; content: Record<string, { schema?: unknown }> }>;
}

/** What linters of OpenAPI ask for, and what generators of clients need. */
test('the whole document can be linted, and clients made of it', async () => {
  const house = await House.open({ publicUrl: 'https://calls.example' });
  const { body } = await house.ask('/openapi.json');
  await house.close();
  const document = body as {
    servers: { url: string }[];
    security: unknown;
    info: { license: { name: string } };
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, unknown> };
  };
  expect(document.servers).toEqual([{ url: 'https://calls.example', description: 'This daemon' }]);
  expect(document.security).toEqual([{ key: [] }]);
  expect(document.info.license.name).toBe('MIT');
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  const ids = all.map(({ operation }) => operation.operationId);
  expect(ids.filter((id) => !/^[a-z]+[A-Z]\w*$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, operation } of all) {
    const { operationId: id, parameters = [], responses } = operation;
    expect(operation.summary, id).toBeTruthy();
    expect(operation.security, id).toBeInstanceOf(Array);
    expect(
      parameters.map(({ name }) => name.toLowerCase()),
      id,
    ).not.toContain('authorization');
    const inPath = parameters.filter((each) => each.in === 'path');
    expect(
      inPath.every(({ required }) => required),
      id,
    ).toBe(true);
    const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(new Set(inPath.map(({ name }) => name)), id).toEqual(new Set(named));
    expect(
      Object.keys(responses).some((status) => status.startsWith('4')),
      id,
    ).toBe(true);
    for (const { description, content } of Object.values(responses)) {
      expect(description, id).toBeTruthy();
      for (const type of ['application/json', 'text/event-stream']) {
        if (content[type] !== undefined) expect(content[type].schema, id).toBeDefined();
      }
    }
  }
  const exempt = all.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
  expect(exempt.sort()).toEqual([
    '/healthz',
    '/openapi.json',
    '/readyz',
    '/schemas/{file}',
    '/voices/{provider}/{voice_id}/preview',
  ]);
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
  expect(references.filter(([, name = '']) => !Object.hasOwn(document.components.schemas, name))).toEqual([]);
});

test('errors are shown with an example of each, in words that leave nothing open', async () => {
  const house = await House.open();
  const { body } = await house.ask('/openapi.json');
  await house.close();
  const { paths } = body as { paths: Record<string, Record<string, Operation>> };
  let shown = 0;
  for (const [path, methods] of Object.entries(paths)) {
    for (const { responses } of Object.values(methods)) {
      for (const [status, { description, content }] of Object.entries(responses)) {
        expect(description, path).not.toMatch(/\{\w+\}/);
        const { examples = {} } = (content['application/json'] ?? {}) as {
          examples?: Record<string, { value: object }>;
        };
        for (const [code, { value }] of Object.entries(examples)) {
          shown++;
          expect(value).toEqual({
            detail: expect.any(String) as string,
            code,
            request_id: expect.any(String) as string,
          });
          expect((value as { detail: string }).detail, `${path} ${status}`).not.toMatch(/\{\w+\}/);
          expect(description).toContain((value as { detail: string }).detail);
        }
      }
    }
  }
  expect(shown).toBeGreaterThan(100);
});

test('anyone gets the JSON Schemas of files, as the package has them', async () => {
  const house = await House.open();
  try {
    for (const name of ['agent', 'eval-suite', 'settings']) {
      const { status, body } = await house.ask(`/schemas/${name}.json`);
      expect(status).toBe(200);
      expect(body).toEqual(JSON.parse(readFileSync(packageFile(`data/${name}.schema.json`), 'utf8')));
    }
    for (const name of ['agents.json', 'agent', 'constructor.json', '..%2Fagent.json']) {
      expect((await house.ask(`/schemas/${name}`)).status).toBe(404);
    }
  } finally {
    await house.close();
  }
});
