import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRecords } from '../../../src/cli/shared/record-file.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-records-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function read(content: string | Buffer, country?: string) {
  const path = join(folder, 'records');
  writeFileSync(path, content);
  return readRecords(path, country);
}

describe('files of records', () => {
  it('are CSV with a header row; the other columns become metadata', async () => {
    expect(await read('Name,phone,City\nAnn,+12025550101,Berlin\nBob,+12025550102,\n')).toEqual([
      {
        phone: '+12025550101',
        metadata: { Name: 'Ann', City: 'Berlin' },
        place: 'line 2: Ann,+12025550101,Berlin',
      },
      { phone: '+12025550102', metadata: { Name: 'Bob', City: '' }, place: 'line 3: Bob,+12025550102,' },
    ]);
  });

  it('may have a byte order mark, quotes, line breaks in them, semicolons, tabs and other line ends', async () => {
    expect(await read('\uFEFF"Phone";"Name"\r\n"+1 202 555 0101";"Smith, ""Ann"""\r\n\r\n;\r\n')).toMatchObject([
      { phone: '+1 202 555 0101', metadata: { Name: 'Smith, "Ann"' } },
    ]);
    expect(await read('phone\tnote\n+12025550101\t"two\nlines"\n')).toMatchObject([
      { phone: '+12025550101', metadata: { note: 'two\nlines' } },
    ]);
    expect(await read(Buffer.from('\uFEFFphone,Name\n+12025550101,Jörg\n', 'utf16le'))).toMatchObject([
      { phone: '+12025550101', metadata: { Name: 'Jörg' } },
    ]);
  });

  it('are JSON', async () => {
    expect(await read('[{"phone":"+12025550101","metadata":{"Name":"Ann","n":1}},{"phone":"+12025550102"}]')).toEqual([
      { phone: '+12025550101', metadata: { Name: 'Ann', n: 1 }, place: 'item 0: +12025550101' },
      { phone: '+12025550102', metadata: {}, place: 'item 1: +12025550102' },
    ]);
  });

  it('may have numbers as they are written in a country', async () => {
    const found = await read('phone\n(202) 555-0101\n12025550102\n+442079460000\nnobody\n', 'us');
    expect(found.map(({ phone }) => phone)).toEqual(['+12025550101', '+12025550102', '+442079460000', 'nobody']);
    await expect(read('phone\n1\n', 'Atlantis')).rejects.toThrow('--country must be a code such as US, not Atlantis');
  });

  it.each([
    ['Name,City\nAnn,Berlin\n', 'the header row has no column "phone"; its columns are Name, City'],
    ['', 'the header row has no column "phone"; its columns are none'],
    ['phone,Name,Name\n1,2,3\n', 'two columns have the name "Name"'],
    ['phone,Name\n+12025550101\n', /on line 2/],
    ['phone,Name\n+12025550101,"Ann\n', /[Qq]uote/],
    ['[{"phone":12025550101}]', '"phone" of item 0 must be a string'],
    ['[{"phone":"+12025550101","metadata":[]}]', '"metadata" of item 0 must be an object'],
    ['[{"phone":', /JSON/],
    [Buffer.from([0x70, 0x68, 0x6f, 0x6e, 0x65, 0x0a, 0xe4, 0xf6]), /not UTF-8/],
  ])('%j are refused', async (content, reason) => {
    await expect(read(content)).rejects.toThrow(reason);
  });

  it('that are not there are named', async () => {
    await expect(readRecords('/nowhere/list.csv')).rejects.toThrow('Cannot read /nowhere/list.csv');
  });
});
