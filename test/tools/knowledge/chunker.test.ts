import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Block, type Chunk, Chunker, sentences } from '../../../src/tools/knowledge/chunker.js';

function chunks(blocks: readonly Block[]): Chunk[] {
  const chunker = new Chunker();
  return [...blocks.flatMap((block) => [...chunker.add(block)]), ...chunker.end()];
}

const sentence = (word: string): string => `${`${word} `.repeat(20).trim()}.`;

it('cuts at headings and tells the path of them', () => {
  const blocks: Block[] = [
    { kind: 'heading', text: 'Shop', level: 1 },
    { kind: 'text', text: 'Hello.' },
    { kind: 'heading', text: 'Prices', level: 2 },
    { kind: 'row', text: 'soup: 4' },
    { kind: 'row', text: 'bread: 2' },
    { kind: 'heading', text: 'Staff', level: 1 },
    { kind: 'text', text: 'Ann.' },
  ];
  expect(chunks(blocks)).toEqual([
    { text: 'Hello.', page: null, heading: 'Shop' },
    { text: 'soup: 4\nbread: 2', page: null, heading: 'Shop › Prices' },
    { text: 'Ann.', page: null, heading: 'Staff' },
  ]);
});

it('repeats the last short sentence in the next passage', () => {
  const text = Array.from({ length: 12 }, (_, index) => sentence(`Word${String(index)}`)).join(' ');
  const found = chunks([{ kind: 'text', text, page: 3 }]);
  expect(found.length).toBeGreaterThan(1);
  expect(found.every(({ page }) => page === 3)).toBe(true);
  for (const [index, { text: next }] of found.slice(1).entries()) {
    expect(next.startsWith(sentences(found[index]?.text ?? '').at(-1) ?? '?')).toBe(true);
  }
});

it('counts a passage to the page that it begins on', () => {
  const long = Array.from({ length: 8 }, (_, index) => sentence(`W${String(index)}`)).join(' ');
  const found = chunks([
    { kind: 'text', text: long, page: 1 },
    { kind: 'text', text: 'New page.', page: 2 },
  ]);
  expect(found.at(-1)).toMatchObject({ page: 2 });
  expect(found.at(-1)?.text).toContain('New page.');
});

it('knows sentences of other scripts, and no end in "3.5" or "e.g. so"', () => {
  expect(sentences('It is 3.5 km, e.g. so. Then left! "Why?" she said.')).toHaveLength(3);
  expect(sentences('营业时间是九点。周日休息。')).toHaveLength(2);
  expect(sentences('यह है। वह है।')).toHaveLength(2);
});

it('loses no word and makes no passage longer than 1,200 characters', () => {
  const block = fc.record({
    kind: fc.constantFrom<Block['kind']>('text', 'row', 'heading'),
    text: fc
      .array(fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }), { minLength: 1, maxLength: 80 })
      .map((words) => words.join(' ').replace(/\s+/g, ' ').trim() || 'x'),
    page: fc.constantFrom(1, 1, 1, 2),
  });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 20 }), (blocks) => {
      const found = chunks(blocks);
      const all = found
        .map(({ text }) => text)
        .join(' ')
        .replace(/\s+/g, '');
      for (const { kind, text } of blocks) {
        if (kind === 'heading') continue;
        for (const part of sentences(text)) if (part.length <= 400) expect(all).toContain(part.replace(/\s+/g, ''));
      }
      expect(Math.max(0, ...found.map(({ text }) => text.length))).toBeLessThanOrEqual(1200);
    }),
    { numRuns: 200 },
  );
});
