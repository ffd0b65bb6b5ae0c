import { expect, test } from 'vitest';
import * as z from 'zod';
import { appWith } from './support.js';

const { app } = appWith({
  id: 'makeThing',
  method: 'POST',
  path: '/things/{size}',
  tag: 'things',
  summary: 'Make a thing',
  params: { size: z.string().max(5) },
  query: { count: z.int().min(1).exactOptional(), exact: z.boolean().exactOptional() },
  body: z.strictObject({ name: z.string(), parts: z.array(z.int()).exactOptional() }),
  handle: ({ params, query, body, key }) => ({ params, query, body, key: key?.name }),
});

async function ask(url: string, payload: unknown, headers: Record<string, string> = {}) {
  const reply = await app.inject({
    method: 'POST',
    url,
    headers: { authorization: 'sk', 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
  });
  return { status: reply.statusCode, body: reply.json<unknown>() };
}

test('a request that is as it should be is handed over, its query as values', async () => {
  const { status, body } = await ask('/things/big?count=3&exact=true', { name: 'chair', parts: [1] });
  expect(status).toBe(200);
  expect(body).toEqual({
    params: { size: 'big' },
    query: { count: 3, exact: true },
    body: { name: 'chair', parts: [1] },
    key: 'test',
  });
});

test('the faults of all parts are reported at once', async () => {
  const { status, body } = await ask('/things/enormous?count=many&colour=red', { parts: [1, 'two'], extra: 1 });
  expect(status).toBe(422);
  const { detail } = body as { detail: { loc: unknown[]; type: string }[] };
  expect(detail.map(({ loc, type }) => [loc, type])).toEqual([
    [['path', 'size'], 'string_too_long'],
    [['query', 'count'], 'float_parsing'],
    [['query', 'colour'], 'extra_forbidden'],
    [['body', 'name'], 'missing'],
    [['body', 'parts', 1], 'float_type'],
    [['body', 'extra'], 'extra_forbidden'],
  ]);
});

test.each([
  ['text that is no JSON', '{"name": }', {}, ['body'], 'json_invalid'],
  ['JSON that breaks off', '{"name"', {}, ['body', 7], 'json_invalid'],
  ['no body', '', {}, ['body'], 'missing'],
  ['another content type', 'name=chair', { 'content-type': 'text/plain' }, ['body'], 'content_type_invalid'],
  ['a content type that is none', '{}', { 'content-type': ';;' }, ['body'], 'content_type_invalid'],
  ['another encoding', '{}', { 'content-type': 'application/json; charset=utf-16' }, ['body'], 'content_type_invalid'],
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, ['body'], 'json_invalid'],
  ['another kind of value', '[]', {}, ['body'], 'dict_type'],
])('%s is a fault of the body', async (_what, payload, headers, loc, type) => {
  const { status, body } = await ask('/things/big', payload, headers);
  expect(status).toBe(422);
  expect(body).toMatchObject({ detail: [{ loc, msg: expect.any(String) as string, type }] });
});

test('a request without a key gets no validation issues', async () => {
  const { status, body } = await ask('/things/enormous', '{', { authorization: 'wrong' });
  expect(status).toBe(401);
  const id = expect.any(String) as string;
  expect(body).toEqual({ detail: expect.any(String) as string, code: 'AUTH_REQUIRED', request_id: id });
});

test('an endpoint without a body takes none, or an empty object', async () => {
  const { app: other } = appWith({
    id: 'go',
    method: 'POST',
    path: '/go',
    tag: 'things',
    summary: 'Go',
    handle: () => ({ went: true }),
  });
  const go = async (payload?: object) =>
    (
      await other.inject({
        method: 'POST',
        url: '/go',
        headers: { authorization: 'Bearer sk' },
        ...(payload && { payload }),
      })
    ).statusCode;
  expect(await go()).toBe(200);
  expect(await go({})).toBe(200);
  expect(await go({ fast: true })).toBe(422);
});

const LONE = 'half \ud83d a character';

test.each([
  ['a text', { name: LONE }, ['body', 'name']],
  ['a member name', { name: 'chair', [LONE]: 1 }, ['body', LONE.toWellFormed()]],
  ['a text deep inside', { name: 'chair', notes: [{ text: [LONE] }] }, ['body', 'notes', 0, 'text', 0]],
])('half of a surrogate pair in %s is a fault of that field', async (_what, payload, loc) => {
  const { status, body } = await ask('/things/big', payload);
  expect(status).toBe(422);
  const msg = 'The text contains a lone surrogate, which is not a character';
  expect(body).toMatchObject({ detail: [{ loc, msg, type: 'string_unicode' }] });
});

test.each([
  ['arrays', '['.repeat(400_000) + ']'.repeat(400_000)],
  ['objects', `${'{"name":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
])('%s in each other without end are one fault', async (_what, payload) => {
  const { status, body } = await ask('/things/big', payload);
  expect(status).toBe(422);
  const { detail } = body as { detail: { type: string }[] };
  expect(detail.map(({ type }) => type)).toEqual(['recursion_loop']);
});

test('of very many faults the first hundred are listed, and the number of the others', async () => {
  // As many as the default limit of 1 MiB lets in, each of 8 bytes.
  const names = Array.from({ length: 128_000 }, (_, at) =>
    String.fromCharCode(...[at >> 12, at >> 6, at].map((part) => 0x30 + (part & 0x3f))).replaceAll('\\', '~'),
  );
  const unknown = Object.fromEntries(names.map((name) => [name, 1]));
  const { status, body } = await ask('/things/big', unknown);
  expect(status).toBe(422);
  const { detail } = body as { detail: { loc: unknown[]; msg: string; type: string }[] };
  expect(detail).toHaveLength(101);
  expect(detail.at(-1)).toEqual({ loc: ['body'], msg: 'There are 127901 more faults', type: 'too_many_faults' });
});
