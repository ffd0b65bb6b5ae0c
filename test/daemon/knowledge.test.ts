import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePdf } from '../../bench/lib/pdf.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

let house: House;
beforeAll(async () => {
  house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, knowledgeFileBytes: 5000, knowledgeFiles: 3 } });
});
afterAll(() => house.close());

type Reply = { status: number; body: unknown };

function post(path: string, body: unknown, key = PRIVATE_KEY): Promise<Reply> {
  const headers = { authorization: key, 'content-type': 'application/json' };
  return house.ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

function upload(name: string, content: string | Uint8Array<ArrayBuffer>, key = PRIVATE_KEY): Promise<Reply> {
  const body = new FormData();
  body.append('note', 'a field that says nothing');
  body.append('file', new Blob([content]), name);
  return house.ask('/knowledge/upload', { method: 'POST', headers: { authorization: key }, body });
}

async function list(): Promise<unknown> {
  return (await house.ask('/knowledge/list_files', { headers: { authorization: PRIVATE_KEY } })).body;
}

const uploads = (): string[] => readdirSync(join(house.dataDir, 'uploads'));
const refused = (status: number, detail: string): object => ({
  status,
  body: { detail: expect.stringContaining(detail) as string },
});

describe('a knowledge file', () => {
  it('is uploaded, read, listed, given to an agent and deleted', async () => {
    const pdf = makePdf([['The oven is hot.'], ['Bread costs two dollars.']]);
    const { status, body } = await upload('Prices 2026.PDF', pdf);
    expect([status, body]).toMatchObject([200, { name: 'Prices 2026.PDF', size: pdf.length }]);
    const { object_key } = body as { object_key: string };
    const made = await post('/knowledge/create_file', {
      object_key,
      name: 'prices',
      description: 'What things cost.',
      file_type: null,
      size: pdf.length,
    });
    const file = made.body as { id: string };
    expect(made).toEqual({
      status: 200,
      body: {
        id: expect.any(String) as string,
        name: 'prices',
        description: 'What things cost.',
        file_type: 'application/pdf',
        size: pdf.length,
        create_at: expect.any(Number) as number,
      },
    });
    expect(uploads()).toEqual([]);
    expect(await list()).toEqual([made.body]);
    const { id } = file;
    expect(await post('/knowledge/set_agent_files', { agent_id: 'baker', file_ids: [id] })).toEqual({
      status: 200,
      body: { success: true },
    });
    const given = await house.ask('/knowledge/agent_files?agent_id=baker', { headers: { authorization: PRIVATE_KEY } });
    expect(given).toEqual({ status: 200, body: { file_ids: [id] } });
    expect(await post('/knowledge/delete_file', { id })).toEqual({ status: 200, body: { success: true } });
    expect(await list()).toEqual([]);
    expect(await post('/knowledge/delete_file', { id })).toMatchObject(
      refused(404, `There is no knowledge file "${id}"`),
    );
  });

  it('that cannot be read is refused by its name, and stays to be tried again', async () => {
    const { body } = await upload('notes.pdf', 'These are notes.');
    const { object_key } = body as { object_key: string };
    const first = await post('/knowledge/create_file', { object_key, name: 'notes.pdf' });
    expect(first).toMatchObject({
      status: 422,
      body: {
        detail: [{ msg: expect.stringContaining('Cannot read notes.pdf: it is not a whole PDF') as string }],
        code: 'FILE_NOT_READABLE',
      },
    });
    const second = await post('/knowledge/create_file', {
      object_key,
      name: 'notes',
      file_type: 'text/plain',
      size: 1,
    });
    expect(second).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'size'] }] } });
    const third = await post('/knowledge/create_file', { object_key, name: 'notes', file_type: 'text/plain' });
    expect(third.status).toBe(200);
    await post('/knowledge/delete_file', { id: (third.body as { id: string }).id });
  });

  it('may not be too large, nor one too many', async () => {
    expect(await upload('a.txt', 'x'.repeat(5001))).toMatchObject(refused(413, 'a.txt is larger than 5000 bytes'));
    expect((await upload('a.txt', 'x'.repeat(5000))).status).toBe(200);
    const files: string[] = [];
    for (let number = 0; number < 4; number++) {
      const { object_key } = (await upload('a.txt', 'Hello.')).body as { object_key: string };
      const { status, body } = await post('/knowledge/create_file', { object_key, name: 'a.txt' });
      if (number === 3)
        expect([status, body]).toMatchObject([413, { detail: expect.stringContaining('3 files') as string }]);
      else files.push((body as { id: string }).id);
    }
    for (const id of files) await post('/knowledge/delete_file', { id });
  });
});

describe('what is refused', () => {
  it.each(['/knowledge/create_file', '/knowledge/delete_file', '/knowledge/set_agent_files', '/knowledge/upload'])(
    '%s without a private key',
    async (path) => {
      expect((await post(path, {}, 'nonsense')).status).toBe(401);
      expect((await post(path, {}, PUBLIC_KEY)).status).toBe(403);
    },
  );

  it('a list without a key, and an upload, which is not even read', async () => {
    expect((await house.ask('/knowledge/list_files')).status).toBe(401);
    expect((await upload('a.txt', 'x', 'nonsense')).status).toBe(401);
  });

  it.each([
    ['/knowledge/create_file', {}, 'object_key', 'missing'],
    ['/knowledge/create_file', { object_key: 'a', name: 'b', more: 1 }, 'more', 'extra_forbidden'],
    ['/knowledge/delete_file', { id: 7 }, 'id', 'string_type'],
    ['/knowledge/set_agent_files', { agent_id: 'baker' }, 'files', 'missing'],
    ['/knowledge/upload', {}, 'file', 'missing'],
  ])('%s with %j', async (path, body, member, type) => {
    const { status, body: answer } = await post(path, body);
    expect(status).toBe(422);
    expect((answer as { detail: unknown[] }).detail).toContainEqual(
      expect.objectContaining({ loc: ['body', member], type }),
    );
  });

  it.each([
    ['an empty form', 'multipart/form-data; boundary=x', '--x--\r\n'],
    [
      'a form that is cut off',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\nhel',
    ],
    ['a form without a boundary', 'multipart/form-data', 'hello'],
  ])('%s', async (_name, type, body) => {
    const headers = { authorization: PRIVATE_KEY, 'content-type': type };
    const answer = await house.ask('/knowledge/upload', { method: 'POST', headers, body });
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'file'] }] } });
  });

  it.each(['../parley.db', '/etc/passwd', '00000000-0000-0000-0000-000000000000.txt', 'x'])(
    'an upload that is none: %s',
    async (object_key) => {
      expect(await post('/knowledge/create_file', { object_key, name: 'a.txt' })).toMatchObject(
        refused(404, 'There is no upload'),
      );
    },
  );

  it('agents and files that are not there', async () => {
    const none = await house.ask('/knowledge/agent_files?agent_id=nobody', {
      headers: { authorization: PRIVATE_KEY },
    });
    expect(none.status).toBe(404);
    expect(await post('/knowledge/set_agent_files', { agent_id: 'nobody', file_ids: [] })).toMatchObject(
      refused(404, 'agent'),
    );
    expect(await post('/knowledge/set_agent_files', { agent_id: 'baker', file_ids: ['x'] })).toMatchObject(
      refused(404, 'There is no knowledge file "x"'),
    );
    expect(house.faults).toEqual([]);
  });
});
