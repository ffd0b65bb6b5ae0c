import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { makePdf } from '../../bench/lib/pdf.js';
import { KnowledgeBase, type KnowledgeBaseOptions } from '../../src/store/knowledge.js';
import type { Passage } from '../../src/tools/knowledge/knowledge.js';
import { httpServer, type LocalServer } from '../net/local-server.js';
import { isPostgresInstalled, postgresUrl } from './support/backends.js';

const bases: KnowledgeBase[] = [];
const servers: LocalServer[] = [];
const folders: string[] = [];
const databases: { url: string; remove: () => Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(bases.splice(0).map((base) => base.close()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
  await Promise.all(databases.splice(0).map(({ remove }) => remove()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function openBase(options: KnowledgeBaseOptions): KnowledgeBase {
  const base = new KnowledgeBase(options);
  bases.push(base);
  return base;
}

/** Where a base is stored, for two that share it. */
type Place = Pick<KnowledgeBaseOptions, 'path' | 'databaseUrl'>;

interface KindOfBase {
  name: string;
  place: () => Promise<Place>;
}

const sqlite: KindOfBase = { name: 'SQLite', place: async () => ({ path: join(folder(), 'knowledge.db') }) };
const postgres: KindOfBase = {
  name: 'PostgreSQL',
  place: async () => {
    const database = await postgresUrl();
    databases.push(database);
    return { databaseUrl: database.url };
  },
};
const kinds = isPostgresInstalled ? [sqlite, postgres] : [sqlite];

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-knowledge-'));
  folders.push(path);
  return path;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function ask(base: KnowledgeBase, text: string, fileIds: readonly string[], language = 'en'): Promise<Passage[]> {
  return base.search({ text, fileIds, language, limit: 3, signal: new AbortController().signal });
}

/** Knows two things: animals and money. */
const meaning = (text: string): number[] => [
  /dog|puppy|pet|animal/i.test(text) ? 1 : 0.01,
  /price|cost|fee|charge/i.test(text) ? 1 : 0.01,
];

async function embeddingServer(fails = () => false): Promise<{ url: string; asked: unknown[] }> {
  const asked: unknown[] = [];
  const it = await httpServer((request, response, body) => {
    const { input, model } = JSON.parse(body) as { input: string[]; model: string };
    asked.push({ url: request.url, key: request.headers.authorization, model });
    response.statusCode = fails() ? 500 : 200;
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: meaning(text) })).toReversed();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data }));
  });
  servers.push(it);
  return { url: it.origin, asked };
}

describe('a new base in SQLite', () => {
  it('says that there is nothing without opening anything, and takes the first file all the same', async () => {
    const path = join(folder(), 'knowledge.db');
    const base = openBase({ path });
    expect([await base.list(), await base.known(['kettle']), await base.filesOf('seller')]).toEqual([[], [], []]);
    expect(existsSync(path)).toBe(false);
    await base.add({ id: 'kettle', name: 'kettle.txt', source: bytes('Kettles have three years.') });
    expect(await base.known(['kettle', 'tea'])).toEqual(['kettle']);
    await base.close();
    await expect(base.list()).rejects.toMatchObject({ code: 'KNOWLEDGE_FAILED' });
  });
});

describe('a file of SQLite', () => {
  it('is readable by its owner only', async () => {
    const path = join(folder(), 'knowledge.db');
    await openBase({ path }).add({ id: 'a', name: 'a.txt', source: bytes('Delivery.') });
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  it('is a path that no database can have', async () => {
    const path = join(folder(), 'no', 'such', 'folder.db');
    await expect(openBase({ path }).list()).rejects.toMatchObject({ code: 'KNOWLEDGE_FAILED' });
    const other = join(folder(), 'other.db');
    writeFileSync(other, 'no database at all, but long enough to be one'.repeat(100));
    await expect(openBase({ path: other }).list()).rejects.toMatchObject({ code: 'KNOWLEDGE_FAILED' });
  });
});

describe.each(kinds)('in $name', (kind) => {
  const open = async (options: KnowledgeBaseOptions = {}): Promise<KnowledgeBase> => {
    return openBase({ ...(await kind.place()), ...options });
  };

  describe('a file', () => {
    it('is found by what it says, with its name, page and heading', async () => {
      const base = await open();
      const source = makePdf([['Hello.'], [{ text: 'Warranty', heading: true }, 'Kettles have three years.']]);
      const file = await base.add({ id: 'kettle', name: 'kettle.pdf', description: 'the manual', source });
      expect(file).toMatchObject({ id: 'kettle', fileType: 'application/pdf', size: source.length, passages: 2 });
      expect(await base.list()).toEqual([file]);
      expect(await ask(base, 'How long is the warranty on my kettle?', ['kettle'])).toEqual([
        { fileId: 'kettle', fileName: 'kettle.pdf', page: 2, heading: 'Warranty', text: 'Kettles have three years.' },
      ]);
    });

    it('is found in any language', async () => {
      const base = await open();
      const languages = [
        ['de', 'Das Café öffnet um zehn.', 'Wann offnet das Cafe?'],
        ['fr', 'Les retours sont acceptés pendant un mois.', 'Est-ce que vous acceptez un retour ?'],
        ['es', 'La devolución es gratuita.', '¿Puedo hacer devoluciones?'],
        ['ru', 'Магазины закрыты по воскресеньям.', 'Магазин работает в воскресенье?'],
        ['zh', '我们的营业时间是早上九点到晚上八点。', '你们的营业时间是什么？'],
        ['ja', '駐車場は二十台分あります。', '駐車場はありますか'],
        ['th', 'ร้านอาหารเปิดเวลาสิบโมงเช้า', 'ร้านอาหารเปิดกี่โมง'],
        ['hi', 'दुकान रविवार को बंद रहती है।', 'क्या दुकान रविवार को खुली है?'],
        ['ar', 'المتجر مغلق يوم الجمعة.', 'هل المتجر مفتوح يوم الجمعة؟'],
        ['ko', '주차장은 무료입니다.', '주차장 있어요?'],
      ] as const;
      for (const [language, text] of languages) await base.add({ id: language, name: 'a.txt', source: bytes(text) });
      const ids = languages.map(([language]) => language);
      for (const [language, text, question] of languages) {
        const found = await ask(base, question, ids, language);
        expect(found.map((passage) => passage.text)).toEqual([text]);
      }
    });

    it('ranks what answers more of the question first, and is not found where it may not be searched', async () => {
      const base = await open();
      await base.add({ id: 'a', name: 'a.txt', source: bytes('Delivery takes a while.') });
      await base.add({ id: 'b', name: 'b.md', source: bytes('# Delivery\nOn sundays it costs five dollars.') });
      const found = await ask(base, 'what does delivery cost on sunday', ['a', 'b']);
      expect(found.map(({ fileId }) => fileId)).toEqual(['b', 'a']);
      expect(await ask(base, 'delivery', ['a'])).toHaveLength(1);
      expect(await ask(base, 'delivery', [])).toEqual([]);
      expect(await ask(base, 'submarines', ['a', 'b'])).toEqual([]);
    });

    it('that was removed is gone, from the agents too', async () => {
      const base = await open();
      await base.add({ id: 'a', name: 'a.txt', source: bytes('Delivery.') });
      await base.setAgentFiles('baker', ['a']);
      expect(await base.remove('a')).toBe(true);
      expect(await base.remove('a')).toBe(false);
      expect(await ask(base, 'delivery', ['a'])).toEqual([]);
      expect(await base.filesOf('baker')).toEqual([]);
      expect(await base.known(['a'])).toEqual([]);
    });

    it('stays where the base is opened again', async () => {
      const place = await kind.place();
      const first = openBase(place);
      await first.add({ id: 'a', name: 'a.txt', source: bytes('Delivery.') });
      await first.setAgentFiles('baker', ['a', 'a']);
      await first.close();
      await first.close();
      await expect(first.list()).rejects.toMatchObject({ code: 'KNOWLEDGE_FAILED' });
      const second = openBase(place);
      expect(await ask(second, 'delivery', ['a'])).toHaveLength(1);
      expect(await second.filesOf('baker')).toEqual(['a']);
    });
  });

  describe('what cannot be read', () => {
    it.each([
      ['a picture', { name: 'a.png', source: bytes('x') }, 'FILE_NOT_READABLE', /a\.png.*txt, md, csv/],
      [
        'a program',
        { name: 'a.txt', source: Uint8Array.from([0, 1, 2]) },
        'FILE_NOT_READABLE',
        /a\.txt: it is not text/,
      ],
      ['nothing', { name: 'a.txt', source: bytes(' \n ') }, 'FILE_NOT_READABLE', /a\.txt: it holds no text/],
      ['a locked PDF', { name: 'a.pdf', source: makePdf([['x']], { encrypt: true }) }, 'FILE_NOT_READABLE', /password/],
      ['a missing file', { name: 'a.txt', source: '/nowhere/a.txt' }, 'FILE_NOT_READABLE', /a\.txt: ENOENT/],
      ['a folder', { name: 'a.txt', source: tmpdir() }, 'FILE_NOT_READABLE', /it is not a file/],
      [
        'too much',
        { name: 'a.txt', source: bytes('x'.repeat(101)) },
        'KNOWLEDGE_FILE_TOO_LARGE',
        /larger than 100 bytes/,
      ],
    ])('%s is refused by name and leaves nothing', async (_name, file, code, message) => {
      const base = await open({ limits: { fileBytes: code === 'KNOWLEDGE_FILE_TOO_LARGE' ? 100 : 10_000 } });
      await expect(base.add(file)).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
      expect(await base.list()).toEqual([]);
    });

    it('is more than the operator allows, and an id twice', async () => {
      const base = await open({ limits: { files: 2 } });
      await base.add({ id: 'a', name: 'a.txt', source: bytes('One.') });
      await expect(base.add({ id: 'a', name: 'a.txt', source: bytes('One.') })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
      const more = ['b', 'c'].map((id) => base.add({ id, name: 'a.txt', source: bytes('Two.') }));
      const settled = await Promise.allSettled(more);
      expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      await expect(more[1]).rejects.toMatchObject({ code: 'KNOWLEDGE_FULL' });
    });

    it('does not keep others from being searched meanwhile', async () => {
      const base = await open();
      await base.add({ id: 'a', name: 'a.txt', source: bytes('Delivery.') });
      const rows = Array.from({ length: 60_000 }, (_, row) => `${String(row)},name ${String(row)},"a ""quoted"" cell"`);
      let done = false;
      const huge = base.add({ id: 'b', name: 'b.csv', source: bytes(rows.join('\n')) }).then((file) => {
        done = true;
        return file;
      });
      expect(await ask(base, 'delivery', ['a', 'b'])).toHaveLength(1);
      expect(done).toBe(false);
      expect((await huge).passages).toBeGreaterThan(1000);
      expect((await ask(base, 'name 59999', ['b']))[0]?.text).toContain('name 59999');
    });
  });

  describe('agents', () => {
    it('cannot be given files that are not there', async () => {
      const base = await open();
      await base.add({ id: 'a', name: 'a.txt', source: bytes('One.') });
      await base.setAgentFiles('baker', ['a']);
      await expect(base.setAgentFiles('baker', ['a', 'b'])).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: 'There is no knowledge file "b"',
      });
      expect(await base.filesOf('baker')).toEqual(['a']);
    });
  });

  describe('with an embedding model', () => {
    it('finds what is meant, in other words', async () => {
      const { url, asked } = await embeddingServer();
      const base = await open({ embedding: { baseUrl: `${url}/v1/`, apiKey: 'key', model: 'small' } });
      await base.add({
        id: 'a',
        name: 'a.md',
        source: bytes('# Rules\nDogs are welcome.\n# Fees\nEntry is ten dollars.'),
      });
      await base.vectorsReady();
      expect(asked).toMatchObject([{ url: '/v1/embeddings', key: 'Bearer key', model: 'small' }]);
      expect((await ask(base, 'may I bring my puppy', ['a']))[0]?.text).toBe('Dogs are welcome.');
      expect((await ask(base, 'what do you charge', ['a']))[0]?.text).toBe('Entry is ten dollars.');
    });

    it('searches the words where it fails, and embeds later', async () => {
      let broken = true;
      const { url } = await embeddingServer(() => broken);
      const faults: string[] = [];
      const base = await open({
        embedding: { baseUrl: url, apiKey: null, model: 'small' },
        onFault: (reason) => faults.push(reason),
      });
      await base.add({ id: 'a', name: 'a.txt', source: bytes('Dogs are welcome.') });
      await base.vectorsReady();
      expect(await ask(base, 'dogs', ['a'])).toHaveLength(1);
      expect(faults).toEqual([
        expect.stringContaining('passages were not embedded'),
        expect.stringContaining('status 500'),
      ]);
      broken = false;
      await base.add({ id: 'b', name: 'b.txt', source: bytes('Nothing.') });
      await base.vectorsReady();
      expect((await ask(base, 'puppy', ['a', 'b']))[0]?.text).toBe('Dogs are welcome.');
    });
  });
});

describe.runIf(isPostgresInstalled)('nodes of one PostgreSQL database', () => {
  const animalsAndMoney = async (place: Place): Promise<KnowledgeBase[]> => {
    const { url } = await embeddingServer();
    const embedding = { baseUrl: url, apiKey: null, model: 'small' };
    return [openBase({ ...place, embedding }), openBase({ ...place, embedding })];
  };

  it('find what another one adds, removes and embeds', async () => {
    const [one, other] = await animalsAndMoney(await postgres.place());
    if (one === undefined || other === undefined) throw new Error('there are two');
    await one.add({ id: 'a', name: 'a.txt', source: bytes('Dogs are welcome.') });
    await one.vectorsReady();
    expect((await ask(other, 'puppy', ['a']))[0]?.text).toBe('Dogs are welcome.');
    expect((await other.list()).map(({ id }) => id)).toEqual(['a']);
    await one.remove('a');
    await one.add({ id: 'a', name: 'a.txt', source: bytes('Entry is ten dollars.') });
    await one.vectorsReady();
    expect((await ask(other, 'charge', ['a']))[0]?.text).toBe('Entry is ten dollars.');
    const both = [one, other].map((base) => base.add({ id: 'b', name: 'b.txt', source: bytes('Twice.') }));
    const settled = await Promise.allSettled(both);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('compare vectors in the database if it has pgvector', async () => {
    const place = await postgres.place();
    const client = new pg.Client({ connectionString: place.databaseUrl ?? '' });
    await client.connect();
    // What is used of pgvector; it counts its calls.
    await client.query(`CREATE DOMAIN vector AS real[];
      CREATE SEQUENCE compared;
      CREATE FUNCTION distance(a real[], b real[]) RETURNS float LANGUAGE sql AS $$
        SELECT 1 - sum(x * y) + 0 * nextval('compared') FROM unnest(a, b) AS both_of (x, y)
      $$;
      CREATE OPERATOR <=> (LEFTARG = real[], RIGHTARG = real[], FUNCTION = distance)`);
    const [base] = await animalsAndMoney(place);
    await base?.add({
      id: 'a',
      name: 'a.md',
      source: bytes('# Rules\nDogs are welcome.\n# Fees\nEntry is ten dollars.'),
    });
    await base?.vectorsReady();
    if (base === undefined) throw new Error('there is one');
    expect((await ask(base, 'may I bring my puppy', ['a']))[0]?.text).toBe('Dogs are welcome.');
    expect((await ask(base, 'what do you charge', ['a']))[0]?.text).toBe('Entry is ten dollars.');
    const { rows } = await client.query<{ last_value: string }>('SELECT last_value FROM compared');
    expect(Number(rows[0]?.last_value)).toBeGreaterThan(2);
    await client.end();
  });

  it('say that a database cannot be reached', async () => {
    const cluster = await postgres.place();
    const nowhere = new URL(cluster.databaseUrl ?? '');
    nowhere.port = '9';
    await expect(openBase({ databaseUrl: nowhere.href }).list()).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
    });
  });
});
