import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { makePdf } from '../../../bench/lib/pdf.js';
import type { Block } from '../../../src/tools/knowledge/chunker.js';
import { formatOf } from '../../../src/tools/knowledge/formats.js';
import { makeDocx, paragraph } from './docx.js';

async function read(name: string, content: string | Uint8Array, fileType: string | null = null): Promise<Block[]> {
  const format = formatOf(name, fileType);
  if (format === null) throw new Error('no format');
  const reader = await format.load();
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const blocks: Block[] = [];
  for await (const block of reader(bytes)) blocks.push(block);
  return blocks;
}

const texts = (blocks: readonly Block[]): string[] => blocks.map(({ kind, text }) => `${kind}: ${text}`);

describe('a text', () => {
  it('is paragraphs', async () => {
    expect(texts(await read('a.txt', 'One\nline.\r\n\r\n  Two. \n \nThree.'))).toEqual([
      'text: One line.',
      'text: Two.',
      'text: Three.',
    ]);
  });

  it.each([
    ['UTF-8 with its mark', Uint8Array.from([0xef, 0xbb, 0xbf, ...new TextEncoder().encode('Müsli für Zoë')])],
    ['UTF-16', new Uint8Array(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Müsli für Zoë', 'utf16le')]))],
    ['a Western single-byte encoding', new Uint8Array(Buffer.from('Müsli für Zoë', 'latin1'))],
    ['accents that stand alone', new TextEncoder().encode('Mu\u0308sli fu\u0308r Zoe\u0308')],
  ])('may be %s', async (_name, bytes) => {
    expect(texts(await read('a.txt', bytes))).toEqual(['text: Müsli für Zoë']);
  });

  it('is not what has control characters', async () => {
    await expect(read('a.txt', Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]))).rejects.toThrow(
      'it is not text',
    );
  });
});

it('reads Markdown without its marks', async () => {
  const source =
    '# Our *shop*\n\nOpen **daily**, see [the map](https://a.example/x).\nEven on Sundays.\n\n- bread\n- `rolls`\n\n' +
    'Prices\n------\n| what | price |\n|---|---|\n| bread | 4 |\n\n```\n# no heading\n```\n';
  const blocks = await read('a.md', source);
  expect(texts(blocks)).toEqual([
    'heading: Our shop',
    'text: Open daily, see the map. Even on Sundays.',
    'text: bread',
    'text: rolls',
    'heading: Prices',
    'row: what | price',
    'row: bread | 4',
    'text: # no heading',
  ]);
  expect(blocks.map(({ level }) => level)).toEqual([
    1,
    undefined,
    undefined,
    undefined,
    2,
    undefined,
    undefined,
    undefined,
  ]);
});

describe('a table', () => {
  it.each([
    ['commas', 'item,price\n"Soup, hot","4.50 ""special"""\nBread,2\n'],
    ['semicolons', 'item;price\r\nSoup, hot;"4.50 ""special"""\r\nBread;2'],
    ['tabs', 'item\tprice\nSoup, hot\t"4.50 ""special"""\n\nBread\t2'],
  ])('with %s names the column of each cell', async (_name, source) => {
    expect(texts(await read('a.csv', source)).slice(0, 2)).toEqual([
      'row: item: Soup, hot; price: 4.50 "special"',
      'row: item: Bread; price: 2',
    ]);
  });

  it('may have no header', async () => {
    expect(texts(await read('a.csv', '1,Soup\n2,Bread'))).toEqual(['row: 1; Soup', 'row: 2; Bread']);
  });

  it('may end in the middle of a quoted cell', async () => {
    expect(texts(await read('a.csv', '1,"So'))).toEqual(['row: 1; So']);
  });
});

describe('JSON', () => {
  it('says where each value lies', async () => {
    const value = {
      name: 'Fork',
      openingHours: { monday: 'closed' },
      dishes: [{ title: 'Soup', tags: ['hot', 'veg'] }],
    };
    expect(texts(await read('a.json', JSON.stringify(value)))).toEqual([
      'row: name: Fork',
      'heading: opening Hours',
      'row: monday: closed',
      'heading: dishes',
      'row: title: Soup; tags: hot, veg',
    ]);
  });

  it.each([
    ['that is none', '{"a":', 'it is not valid JSON'],
    ['too deep', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`, 'deep'],
  ])('%s is refused', async (_name, source, reason) => {
    await expect(read('a.json', source)).rejects.toThrow(reason);
  });
});

it('reads pages without scripts and navigation', async () => {
  const source =
    '<title>Shop</title><style>p{}</style><nav><a>Home</a></nav><h1>Fork &amp; Knife</h1><p>Open <b>da</b>ily<br>until ten' +
    '<script>if (a < b) alert("<p>no</p>")</script><div>Ring us<table><tr><th>Soup</th><td>4</td></tr></table>';
  expect(texts(await read('a.html', source))).toEqual([
    'heading: Shop',
    'heading: Fork & Knife',
    'text: Open daily until ten',
    'text: Ring us',
    'row: Soup | 4',
  ]);
});

describe('a Word document', () => {
  it('is read with its headings, tables and divided words', async () => {
    const cell = (text: string): string => `<w:tc>${paragraph(text)}</w:tc>`;
    const body =
      paragraph('Öffnungs/zeiten', 'berschrift1') +
      paragraph('Täglich ab /zehn &amp; länger.') +
      `<w:tbl><w:tr>${cell('Suppe')}${cell('4 Euro')}</w:tr></w:tbl>` +
      '<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>';
    const blocks = await read('a.docx', makeDocx(body));
    expect(texts(blocks)).toEqual([
      'heading: Öffnungszeiten',
      'text: Täglich ab zehn & länger.',
      'row: Suppe | 4 Euro',
    ]);
    expect(blocks[0]?.level).toBe(1);
  });

  it('that unpacks to gigabytes is refused', async () => {
    const bomb = zipSync({ 'word/document.xml': new Uint8Array(120_000_000) }, { level: 1 });
    expect(bomb.length).toBeLessThan(2_000_000);
    await expect(read('a.docx', bomb)).rejects.toThrow('it unpacks to more than any document has');
  });

  it.each([
    ['another archive', zipSync({ 'a.txt': new Uint8Array(3) }), 'it is not a Word document'],
    ['cut off', makeDocx(paragraph('Hello')).slice(0, 200), 'it is not a whole docx file'],
    ['one with a password', Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0]), 'password'],
  ])('that is %s is refused', async (_name, bytes, reason) => {
    await expect(read('a.docx', bytes)).rejects.toThrow(reason);
  });
});

describe('a PDF', () => {
  it('is read by page, with headings, paragraphs and words that were divided', async () => {
    const pages = [
      [
        { text: 'Warranty', heading: true as const },
        'The kettle has a war-',
        'ranty of three years.',
        { text: 'Émile pays.', gap: true as const },
      ],
      ['Second page (really).'],
    ];
    expect(await read('a.pdf', makePdf(pages))).toEqual([
      { kind: 'heading', text: 'Warranty', level: 1, page: 1 },
      { kind: 'text', text: 'The kettle has a warranty of three years.', page: 1 },
      { kind: 'text', text: 'Émile pays.', page: 1 },
      { kind: 'text', text: 'Second page (really).', page: 2 },
    ]);
  });

  it.each([
    ['protected', makePdf([['Hello']], { encrypt: true }), 'password'],
    ['empty', makePdf([[]]), 'it holds no text'],
    ['something else', new TextEncoder().encode('hello'), 'it is not a whole PDF'],
    ['cut off', makePdf([['Hello']]).slice(0, 60), 'it is not a whole PDF'],
  ])('that is %s is refused', async (_name, bytes, reason) => {
    await expect(read('a.pdf', bytes)).rejects.toThrow(reason);
  });
});

describe('the kind of a file', () => {
  it.each([
    ['a.PDF', null, 'pdf'],
    ['a', 'application/pdf', 'pdf'],
    ['a', 'text/html; charset=utf-8', 'html'],
    ['a.md', 'text/plain', 'md'],
    ['a.csv', 'application/octet-stream', 'csv'],
    ['notes', 'text/plain', 'txt'],
    ['a', 'docx', 'docx'],
    ['a.txt', 'image/png', undefined],
    ['a.xlsx', null, undefined],
    ['a', null, undefined],
  ])('of %s (%s) is %s', (name, fileType, ending) => {
    expect(formatOf(name, fileType)?.ending).toBe(ending);
  });
});
