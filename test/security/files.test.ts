/**
 * Files that unpack to far more than they are, that never end or that mean something else: each is read or refused with a
 * reason, in a thread of its own, and the daemon answers others meanwhile.
 */
import { strToU8, zipSync } from 'fflate';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makePdf } from '../../bench/lib/pdf.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { House, PRIVATE_KEY } from '../daemon/house.js';
import { makeDocx } from '../tools/knowledge/docx.js';

let house: House;
beforeAll(async () => {
  house = await House.open({ limits: { ...DEFAULT_SETTINGS.limits, requestsPerMinute: 1e9 } });
});
afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

const MB = 1_000_000;
const text = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value);

/** A document whose archive says that it is small. */
function lyingDocx(): Uint8Array {
  const archive = Buffer.from(zipSync({ 'word/document.xml': new Uint8Array(20 * MB) }, { level: 1 }));
  // PKWARE's APPNOTE 4.3.12: the unpacked size stands at 24 in the central directory's header, at 22 in the local one.
  const central = archive.indexOf('PK\x01\x02', 0, 'latin1');
  archive.writeUInt32LE(100, central + 24);
  archive.writeUInt32LE(100, archive.indexOf('PK\x03\x04', 0, 'latin1') + 22);
  return archive;
}

/** A PDF whose only page has a stream that unpacks to so many bytes. */
function pdfBomb(bytes: number): Uint8Array {
  const stream = deflateSync(Buffer.alloc(bytes, ' '));
  const head = Buffer.from(
    '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
      '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n' +
      `4 0 obj<</Length ${String(stream.length)}/Filter/FlateDecode>>stream\n`,
  );
  return Buffer.concat([head, stream, Buffer.from('\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF')]);
}

/** A PDF of these objects without a table of them. */
const pdf = (...objects: string[]): Uint8Array =>
  text(`%PDF-1.4\n${objects.join('\n')}\ntrailer<</Root 1 0 R>>\n%%EOF`);

const laughs = Array.from(
  { length: 10 },
  (_each, n) => `<!ENTITY a${String(n + 1)} "${`&a${String(n)};`.repeat(10)}">`,
).join('');

const FILES: readonly (readonly [string, string, () => Uint8Array])[] = [
  ['that unpacks to 110 MB', 'a.docx', () => zipSync({ 'word/document.xml': new Uint8Array(110 * MB) }, { level: 1 })],
  ['that says it unpacks to 100 bytes', 'a.docx', lyingDocx],
  ['of tags 20,000 deep', 'a.docx', () => makeDocx('<w:p>'.repeat(20_000))],
  [
    'of entities that grow tenfold ten times',
    'a.docx',
    () =>
      zipSync({
        'word/document.xml': strToU8(
          `<!DOCTYPE a [<!ENTITY a0 "ha">${laughs}]><w:document><w:p><w:t>&a10;</w:t></w:p></w:document>`,
        ),
      }),
  ],
  [
    'of 2,000 files with paths that lead out',
    'a.docx',
    () =>
      zipSync(
        Object.fromEntries(
          Array.from({ length: 2_000 }, (_each, n) => [`../../../../tmp/parley-${String(n)}`, strToU8('x')]),
        ),
      ),
  ],
  ['that is an archive in an archive', 'a.docx', () => gzipSync(gzipSync(new Uint8Array(50 * MB)))],
  ['with a stream of 60 MB of spaces', 'a.pdf', () => pdfBomb(60 * MB)],
  [
    'whose pages are their own parents',
    'a.pdf',
    () => pdf('1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj', '2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9>>endobj'),
  ],
  [
    'that says it has two billion pages',
    'a.pdf',
    () => pdf('1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj', '2 0 obj<</Type/Pages/Kids[]/Count 2147483647>>endobj'),
  ],
  ['of arrays 30,000 deep', 'a.pdf', () => pdf(`1 0 obj${'['.repeat(30_000)}`)],
  ['of noise', 'a.pdf', () => text(`%PDF-1.7\n${'1 0 obj<</A 1 0 R>>'.repeat(2_000)}`)],
  ['that is right', 'a.pdf', () => makePdf([['Bread costs two dollars.']])],
  ['of one line', 'a.csv', () => text('x'.repeat(MB))],
  ['of quotation marks', 'a.csv', () => text('"'.repeat(MB + 1))],
  ['of 100,000 columns', 'a.csv', () => text(`${'a,'.repeat(100_000)}b\n${'1,'.repeat(100_000)}2`)],
  ['of 50,000 rows', 'a.csv', () => text('a,b\n'.repeat(50_000))],
  ['of half surrogate pairs', 'a.csv', () => Buffer.from('a,\ud800\n1,\udfff'.repeat(1_000), 'utf16le')],
  ['of arrays a million deep', 'a.json', () => text('['.repeat(MB))],
  ['of objects 100,000 deep', 'a.json', () => text(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)],
  ['with names of prototypes', 'a.json', () => text('{"__proto__":{"polluted":"yes"},"constructor":{"a":1}}')],
  ['of tags 30,000 deep', 'a.html', () => text('<div>'.repeat(30_000))],
  ['of attributes without end', 'a.html', () => text(`<a ${'b=c '.repeat(50_000)}`)],
  ['of a heading with 300,000 spaces', 'a.md', () => text(`# a${' '.repeat(300_000)}b`)],
  ['of a heading with 300,000 marks', 'a.md', () => text(`# a ${'#'.repeat(300_000)}b`)],
  ['of a rule that is none', 'a.md', () => text(`${'- '.repeat(30_000)}a`)],
  ['of a table row that does not end', 'a.md', () => text(`|${'|'.repeat(300_000)}a${' '.repeat(300_000)}b`)],
  ['of emphasis without end', 'a.md', () => text(`${'*_`['.repeat(20_000)}a`)],
  ['of zeros', 'a.txt', () => new Uint8Array(MB)],
];

const authorization = { authorization: PRIVATE_KEY };

async function post(path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const headers = { ...authorization, 'content-type': 'application/json' };
  return house.ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

it.each(FILES)('a file %s (%s) is read or refused', async (_what, name, make) => {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(make())]), name);
  const sent = await house.ask('/knowledge/upload', { method: 'POST', headers: authorization, body: form });
  expect(sent.status).toBe(200);
  const { object_key } = sent.body as { object_key: string };
  const reading = post('/knowledge/create_file', { object_key, name });
  // Others are answered while it is read.
  for (let time = 0; time < 5; time++) {
    expect((await house.ask('/knowledge/list_files', { headers: authorization })).status).toBe(200);
  }
  const { status, body } = await reading;
  expect([status, JSON.stringify(body)]).toEqual([
    status === 200 ? 200 : 422,
    expect.not.stringContaining('took longer'),
  ]);
  if (status === 200) await post('/knowledge/delete_file', { id: (body as { id: string }).id });
  expect('polluted' in {}).toBe(false);
});

const FORMS: readonly (readonly [string, string])[] = [
  ['of 20,000 parts', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(20_000)],
  ['of 200 files', '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n1\r\n'.repeat(200)],
  ['of a header of 500 kB', `--x\r\ncontent-disposition: form-data; name="${'a'.repeat(500_000)}"\r\n\r\n1\r\n`],
  ['of 10,000 headers', `--x\r\n${'a: b\r\n'.repeat(10_000)}\r\n1\r\n`],
  ['that does not end', '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello'],
  [
    'with a path for a name',
    '--x\r\ncontent-disposition: form-data; name="file"; filename="../../../tmp/parley.txt"\r\n\r\n1\r\n--x--\r\n',
  ],
  [
    'with the name of a prototype',
    '--x\r\ncontent-disposition: form-data; name="__proto__"; filename="a.txt"\r\n\r\n1\r\n--x--\r\n',
  ],
  [
    'with an unknown encoding',
    '--x\r\ncontent-disposition: form-data; name="file"; filename*=utf-99\'\'%ff%ff.txt\r\ncontent-transfer-encoding: x\r\n\r\n1\r\n--x--\r\n',
  ],
  ['of boundaries alone', '--x\r\n'.repeat(100_000)],
  ['of nothing', ''],
];

it.each(FORMS)('a form %s is taken or refused', async (_what, body) => {
  const headers = { ...authorization, 'content-type': 'multipart/form-data; boundary=x' };
  const { status } = await house.ask('/knowledge/upload', { method: 'POST', headers, body });
  expect([200, 413, 422]).toContain(status);
  const names = readdirSync(join(house.dataDir, 'uploads'));
  expect(names.filter((name) => !/^[0-9a-f-]{36}\.[a-z0-9]+$/.test(name))).toEqual([]);
});

it('a form whose sender hangs up leaves nothing behind', async () => {
  const before = readdirSync(join(house.dataDir, 'uploads')).length;
  const { port } = new URL(house.address);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST /knowledge/upload HTTP/1.1\r\nhost: a\r\nauthorization: ${PRIVATE_KEY}\r\n` +
      'content-type: multipart/form-data; boundary=x\r\ncontent-length: 100000\r\n\r\n' +
      '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello',
  );
  const uploads = (): number => readdirSync(join(house.dataDir, 'uploads')).length;
  await expect.poll(uploads, { timeout: 15_000 }).toBe(before + 1);
  socket.destroy();
  await expect.poll(uploads, { timeout: 15_000 }).toBe(before);
});
