import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spokenText, spokenWords } from '../../../../src/providers/tts/text/speakable.js';

const said = (text: string): string =>
  spokenWords(text)
    .map((word) => word.spoken)
    .filter((spoken) => spoken !== '')
    .join(' ');

describe('what of a text is said', () => {
  it.each([
    ['plain words, as they are.', 'plain words, as they are.'],
    ['**bold** and *italic* and __both__ and ~~gone~~', 'bold and italic and both and gone'],
    ['# Heading\n\n- one\n- two\n> quoted', 'Heading one two quoted'],
    ['* star\n+ plus list', 'star plus list'],
    ['1. first\n2. second', '1. first 2. second'],
    ['see [our menu](https://example.com/menu?a=b#c) now', 'see our menu now'],
    ['![a cat](cat.png) sits', 'a cat sits'],
    ['run `npm start` then', 'run npm start then'],
    ['```js\nlet x\n```', 'let x'],
    ['visit https://www.example.com/path?x=1, please', 'visit example.com, please'],
    ['www.example.org.', 'example.org.'],
    ['| a | b |\n|---|---|', 'a b'],
    ['hello <b>there</b><br/>you', 'hello thereyou'],
    ['nice 🙂👍🏽 day 🇩🇪 1️⃣', 'nice day 1'],
    ['👩‍👩‍👧‍👦', ''],
    ['snake_case stays, _emphasis_ goes', 'snake_case stays, emphasis goes'],
    ['wait — what - now', 'wait, what, now'],
    ['zero\u200bwidth \u202eturned\u202c', 'zerowidth turned'],
    ['a\u0000b\u0007c', 'abc'],
    ['5 < 6 > 4', '5 6 4'],
    ['[[hɛloʊ]]', 'hɛloʊ'],
    ['***', ''],
    ['---', ''],
    ['', ''],
    [' \n\t ', ''],
    ['\ud800 half', 'half'],
  ])('%j is said %j', (text, expected) => {
    expect(said(text)).toBe(expected);
  });

  it('finds words in scripts without spaces and keeps punctuation with the word before', () => {
    const words = spokenWords('你好，今天天气很好。').map((word) => word.text);
    expect(words.join('')).toBe('你好，今天天气很好。');
    expect(words.length).toBeGreaterThan(2);
    expect(words[0]).toBe('你好，');
    expect(words.at(-1)).toMatch(/。$/);
  });

  it('gives back the text from the words and the spaces between them, whatever the text', () => {
    const pieces = fc.constantFrom(
      '**',
      '[a](b)',
      '🙂',
      'https://x.yz/',
      '你好。',
      '\n',
      ' ',
      'word',
      '<i>',
      '—',
      '`',
      '\ud83d',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.array(pieces).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let at = 0;
        for (const word of spokenWords(text)) {
          expect(text.slice(at, word.start)).toMatch(/^\s*$/);
          expect(text.slice(word.start, word.end)).toBe(word.text);
          expect(word.text).toMatch(/^\S+$/);
          expect(word.spoken === '' || /[\p{L}\p{N}]/u.test(word.spoken)).toBe(true);
          at = word.end;
        }
        expect(text.slice(at)).toMatch(/^\s*$/);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['a', '[', '<a', '*', '_', '`', '!', 'https://', '.', '。', '👍', '[a](', '# ', '"'])(
    'takes 200,000 characters of %j in its stride',
    (unit) => {
      const text = unit.repeat(200_000 / unit.length);
      const words = spokenWords(text);
      expect(words.every((word) => word.text.length <= 2100)).toBe(true);
      expect(words.reduce((sum, word) => sum + word.text.length, 0)).toBe(text.replace(/\s/g, '').length);
    },
  );
});

it('keeps signs that are read as words, also where they stand alone', () => {
  expect(spokenText(spokenWords('Fish & chips, 50 % off = 5 €'))).toBe('Fish & chips, 50 % off = 5 €');
});
