import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unfinishedMarkup, withoutMarkup } from '../../../src/base/speech-markup.js';
import { cutSentences, isSpeakable } from '../../../src/conversation/speech/sentences.js';

/** Pieces as they come out when a text arrives in chunks of so many characters. */
function stream(text: string, chunk: number): string[] {
  const pieces: string[] = [];
  let rest = '';
  for (let index = 0; index < text.length; index += chunk) {
    const cut = cutSentences(rest + text.slice(index, index + chunk), pieces.length === 0);
    pieces.push(...cut.pieces);
    rest = cut.rest;
  }
  return rest.trim() === '' ? pieces : [...pieces, rest.trim()];
}

describe('cutSentences', () => {
  it('gives whole sentences and keeps the rest', () => {
    expect(cutSentences('We open at noon. We close', false)).toEqual({
      pieces: ['We open at noon.'],
      rest: 'We close',
    });
  });

  it('gives a clause first, so that the voice starts early, and sentences later', () => {
    const text = 'Of course, certainly, and with pleasure, sir';
    expect(cutSentences(text, true).pieces).toEqual(['Of course, certainly,']);
    expect(cutSentences(text, false).pieces).toEqual([]);
  });

  it.each([
    'Dr. Miller is in at 7.30 and costs 3.50 dollars',
    'We meet at 5 p.m. sharp',
    'Bring some, e.g. two of them',
    'Version 1.2.3 is out',
    'Wir sehen uns am 3. Mai',
    'Er wohnt in der Hauptstr. 5 in Berlin',
    'Er wohnt in der Hauptstr.',
    'Das sind 5 Mio. Euro',
    'Los EE. UU',
    'Wir sind am 1. und 2. Mai da',
    'Wir sind am 24./25. Dezember da',
    'Mo. bis Fr. 9 Uhr',
    'Das kostet z. B. bei Hr. Meier ca. 20 Euro',
    'Mme Roux ou M. Petit, p. ex. demain',
    'Your code is <spell>A. B</spell> today',
    'Wait <break time="1s"',
    'It is at www.acme.',
  ])('does not cut within "%s"', (text) => {
    expect(cutSentences(text, false)).toEqual({ pieces: [], rest: text });
  });

  it.each([
    ['Really?! Yes.', ['Really?!', 'Yes.']],
    ['"Come in." He did.', ['"Come in."', 'He did.']],
    ['はい。承知しました。', ['はい。', '承知しました。']],
    ['One\nTwo\n', ['One', 'Two']],
    ['Wait… now.', ['Wait…', 'now.']],
    ['Er wohnt in der Hauptstr. Danke.', ['Er wohnt in der Hauptstr.', 'Danke.']],
  ])('cuts %j', (text, pieces) => {
    expect(cutSentences(text, false).pieces).toEqual(pieces);
  });

  it('leaves out what has nothing to say', () => {
    expect(cutSentences('… — !\nHello there. ', false).pieces).toEqual(['… — !\nHello there.']);
    expect(isSpeakable('?!')).toBe(false);
    expect(isSpeakable('7')).toBe(true);
  });

  it('gives the same pieces however the text arrives', () => {
    const parts = fc.constantFrom(
      'am 3. Mai', 'um 19.30 Uhr', '$1,204.50', 'Dr. Roux', 'ann@acme.com', 'www.acme.com', '<break time="0.5s"/>', '<spell>A.B, C</spell>',
      'yes', 'and so on', 'z. B. heute', 'Good! ', 'Is it? ', 'We close. ', 'Well, ', '3.5 km', 'the 21st',
    ); // prettier-ignore
    fc.assert(
      fc.property(fc.array(parts, { minLength: 1, maxLength: 8 }), fc.integer({ min: 1, max: 12 }), (words, chunk) => {
        const text = words.join(' ');
        const plain = (pieces: readonly string[]): string =>
          withoutMarkup(pieces.join(' ')).replace(/\s+/gu, ' ').trim();
        expect(plain(stream(text, chunk))).toBe(plain(stream(text, text.length)));
        for (const piece of stream(text, chunk)) expect(unfinishedMarkup(piece)).toBe(-1);
      }),
      { numRuns: 300 },
    );
  });

  it('cuts endless text at a space, and never within a character', () => {
    const words = cutSentences('word '.repeat(100), false).pieces;
    expect(words.every((piece) => piece.length <= 240 && !piece.endsWith('wor'))).toBe(true);
    for (const piece of cutSentences(`a${'😀'.repeat(300)}a`, false).pieces)
      expect(piece).not.toMatch(/\p{Surrogate}/u);
  });

  it('takes thousands of initials in its stride', () => {
    expect(cutSentences('A. '.repeat(10_000), false).pieces.length).toBeGreaterThan(100);
  });

  it('loses no word, however the text arrives', () => {
    const text = fc.array(fc.constantFrom('Yes.', 'well,', 'Dr.', '7.30', 'no?', 'a', 'word', 'and:', '\n', '。'));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), (parts, chunk) => {
        const whole = parts.join(' ');
        const letters = (value: string): string => value.replaceAll(/[^\p{L}\p{N}]/gu, '');
        expect(letters(stream(whole, chunk).join(''))).toBe(letters(whole));
      }),
      { seed: 1 },
    );
  });
});
