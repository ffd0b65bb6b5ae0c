import { describe, expect, it } from 'vitest';
import { inPieces, readRecords } from '../../../../src/web/console/campaigns/records-file.js';

describe('whom a campaign is to call, from a file', () => {
  it.each([
    ['commas', 'phone,Name\n+1202,Ann\n'],
    ['semicolons, a mark, another case and Windows lines', '\uFEFFName;Phone\r\nAnn;+1202\r\n'],
    ['tabs, space around and empty rows', ' phone \tName\n\n +1202\t Ann \n\t\n'],
    ['quotes', 'phone,Name\n"+1202","Ann"'],
    ['JSON', '\uFEFF [{"phone": "+1202", "metadata": {"Name": "Ann"}}]'],
  ])('is read with %s', (_, text) => {
    expect(readRecords(text)).toEqual([{ phone: '+1202', metadata: { Name: 'Ann' } }]);
  });

  it('may have separators, lines and quotes in quotes, and rows that are short', () => {
    const text = 'phone,Note,Table\n+1,"a, ""b""\nc" ,4\n+2\n+3,5\'11",\n';
    expect(readRecords(text)).toEqual([
      { phone: '+1', metadata: { Note: 'a, "b"\nc', Table: '4' } },
      { phone: '+2', metadata: { Note: '', Table: '' } },
      { phone: '+3', metadata: { Note: '5\'11"', Table: '' } },
    ]);
  });

  it.each([
    ['', 'no column "phone" (it has nothing)'],
    ['tel,Name\n1,2', 'no column "phone" (it has tel, Name)'],
    ['phone,a,a\n1,2,3', 'Two columns are called "a"'],
    ['phone\n1,2', 'Row 2 has more cells'],
    ['phone\n"1', 'quotes in row 2 are not closed'],
    ['phone,Name\n', 'contains no records'],
    ['[]', 'contains no records'],
    ['[{"phone": 5}]', 'Item 1 needs a "phone"'],
    ['[{"phone": "1", "metadata": []}]', '"metadata" of item 1 is not an object'],
    ['[{', 'JSON'],
  ])('is refused where it is none: %j', (text, why) => {
    expect(() => readRecords(text)).toThrow(why);
  });

  it('goes in pieces that a request may carry', () => {
    const record = { phone: '+12025550101', metadata: {} };
    expect(inPieces(Array.from({ length: 20_001 }, () => record)).map(({ length }) => length)).toEqual([
      10_000, 10_000, 1,
    ]);
    const large = { phone: '+1', metadata: { note: 'x'.repeat(2_000_000) } };
    expect(inPieces([large, large])).toHaveLength(2);
  });
});
