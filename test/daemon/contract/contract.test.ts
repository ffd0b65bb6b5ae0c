/**
 * Every endpoint of `/openapi.json` is sent requests that its schemas take and such that are broken. Whatever comes, the
 * answer is one that the document has: never a fault of the daemon's own, and 422 for what the schemas do not take.
 * `npm run test:security -- requests` sends more of them, to a daemon process of its own.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/settings/settings.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';
import { brokenOf } from './broken.js';
import { type JsonSchema, valuesOf } from './json-schema.js';
import { RAW_BODIES, type RawBody } from './raw-bodies.js';
import { seedsOf } from './seeds.js';

const CASES = Number(process.env['PARLEY_SECURITY_COUNT'] ?? 150);
const SEED = Number(process.env['PARLEY_SECURITY_SEED'] ?? 7);
/** A daemon that runs already, in place of one in this process. */
const ADDRESS = process.env['PARLEY_SECURITY_ADDRESS'];

interface Operation {
  parameters?: { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: JsonSchema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content: Record<string, { schema?: JsonSchema }> }>;
}

interface Case {
  path: Record<string, string>;
  query: Record<string, string>;
  /** Undefined = none. */
  body: unknown;
  /** In place of the body. */
  raw: RawBody | null;
  /** Null = none. */
  authorization: string | null;
}

const UNKNOWN_QUERY = fc.oneof(
  { weight: 20, arbitrary: fc.constant<Record<string, string>>({}) },
  { weight: 1, arbitrary: fc.constantFrom({ unknown: '1' }, { __proto__x: '' }, { limit: '1e9' }, { '': '' }) },
);

/** Nearly always the right key: behind another one there is not much to see. */
const KEYS = fc.oneof(
  { weight: 40, arbitrary: fc.constant(PRIVATE_KEY) },
  { weight: 1, arbitrary: fc.constantFrom(null, `Bearer ${PRIVATE_KEY}`, PUBLIC_KEY, 'Bearer', 'sk_wrong', '"') },
);

const house =
  ADDRESS === undefined ? await House.open({ limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 1e9 } }) : null;
const address = ADDRESS ?? house?.address ?? '';
const document = (await (await fetch(`${address}/openapi.json`)).json()) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
};
const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
ajv.addSchema(document, 'openapi');

const client = new Pool(address, { connections: 4 });

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    method,
    operation,
  })),
);

let known: Record<string, readonly unknown[]> = {};
beforeAll(() => expect(operations.length).toBeGreaterThan(10));
afterAll(async () => {
  await client.destroy();
  await house?.close();
});

test.each(operations)('$name', { timeout: 3_600_000 }, async ({ path, method, operation }) => {
  known = await seedsOf(address);
  const options = { schemas: document.components.schemas, known };
  const { parameters = [], requestBody } = operation;
  const bodySchema = requestBody?.content['application/json']?.schema;
  const takes = bodySchema === undefined ? null : ajv.compile(inDocument(bodySchema));
  const answers = new Map<number, ReturnType<typeof ajv.compile>>();
  const texts = (place: 'path' | 'query'): fc.Arbitrary<Record<string, string>> => {
    const all = parameters.filter(({ in: where }) => where === place);
    const optional = all.filter(({ required }) => !required).map(({ name }) => name);
    const value = ({ name, schema }: (typeof all)[number]): fc.Arbitrary<string> => {
      const good = known[name] ?? [];
      const any = fc.oneof(valuesOf(schema, options).map(String), fc.string({ minLength: 1 }));
      const mixed = good.length === 0 ? any : fc.oneof(fc.constantFrom(...good.map(String)), any);
      // Clients normalise these away.
      return place === 'path' ? mixed.filter(isSegment) : mixed;
    };
    return fc
      .subarray(optional)
      .chain((chosen) =>
        fc.record(
          Object.fromEntries(
            all
              .filter(({ name, required }) => required || chosen.includes(name))
              .map((each) => [each.name, value(each)]),
          ),
        ),
      );
  };
  const good = bodySchema === undefined ? fc.constant<unknown>(undefined) : valuesOf(bodySchema, options);
  const bodies = bodySchema === undefined ? fc.constant<unknown>(undefined) : fc.oneof(good, brokenOf(good));
  const cases: fc.Arbitrary<Case> = fc.record({
    path: texts('path'),
    query: fc.tuple(texts('query'), UNKNOWN_QUERY).map(([some, other]) => ({ ...some, ...other })),
    body: bodies,
    raw: bodySchema === undefined ? fc.constant(null) : fc.option(RAW_BODIES, { freq: 20 }),
    authorization: KEYS,
  });

  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const url = urlOf(path, one);
      const body = one.raw?.bytes ?? (one.body === undefined ? undefined : JSON.stringify(one.body));
      const type = one.raw?.headers ?? { 'content-type': 'application/json' };
      const response = await client.request({
        path: url,
        method: method.toUpperCase(),
        headers: {
          ...(one.authorization !== null && { authorization: one.authorization }),
          ...(body !== undefined && type),
        },
        body: body ?? null,
        headersTimeout: 20_000,
        bodyTimeout: 20_000,
      });
      const { statusCode: status } = response;
      const mediaType = String(response.headers['content-type'] ?? '').split(';')[0] ?? '';
      const documented = operation.responses[String(status)];
      // Said only where it is so: putting it into words takes longer than asking.
      const fault = (what: string): Error =>
        new Error(`${method} ${url} ${String(body).slice(0, 2_000)} was answered ${String(status)}: ${what}`);
      if (documented?.content[mediaType] === undefined) throw fault(`${mediaType} is not in the document`);
      if (mediaType !== 'application/json') {
        response.body.on('error', () => undefined).destroy(); // a stream may go on for long
        return;
      }
      const answer: unknown = await response.body.json();
      const check =
        answers.get(status) ?? ajv.compile(inDocument(documented.content['application/json']?.schema ?? {}));
      answers.set(status, check);
      if (!check(answer)) throw fault(`${JSON.stringify(answer).slice(0, 2_000)} ${JSON.stringify(check.errors)}`);
      const isRefused = status === 422 || status === 401 || status === 403;
      const isTaken = one.raw !== null || one.body === undefined || takes?.(one.body) !== false;
      if (!isTaken && !isRefused) throw fault('its schema does not take that');
    }),
    { numRuns: CASES, seed: SEED, endOnFailure: true },
  );
  expect(house?.faults ?? []).toEqual([]);
  expect('polluted' in {}).toBe(false);
});

function isSegment(text: string): boolean {
  try {
    return !['', '.', '..', '%2e', '%2e%2e'].includes(encodeURIComponent(text).toLowerCase());
  } catch {
    return false; // half a surrogate pair has no place in an address
  }
}

/** Its references lead into the document. */
function inDocument(schema: JsonSchema): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')) as object;
}

function urlOf(path: string, { path: params, query }: Case): string {
  const place = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams(query).toString();
  return search === '' ? place : `${place}?${search}`;
}
