import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
  ])('does not cut within "%s"', (text) => {
    expect(cutSentences(text, false)).toEqual({ pieces: [], rest: text });
  });

  it.each([
    ['Really?! Yes.', ['Really?!', 'Yes.']],
    ['"Come in." He did.', ['"Come in."', 'He did.']],
    ['はい。承知しました。', ['はい。', '承知しました。']],
    ['One\nTwo\n', ['One', 'Two']],
    ['Wait… now.', ['Wait…', 'now.']],
  ])('cuts %j', (text, pieces) => {
    expect(cutSentences(text, false).pieces).toEqual(pieces);
  });

  it('leaves out what has nothing to say', () => {
    expect(cutSentences('… — !\nHello there. ', false).pieces).toEqual(['… — !\nHello there.']);
    expect(isSpeakable('?!')).toBe(false);
    expect(isSpeakable('7')).toBe(true);
  });

  it('cuts endless text at a space, and never within a character', () => {
    const words = cutSentences('word '.repeat(100), false).pieces;
    expect(words.every((piece) => piece.length <= 240 && !piece.endsWith('wor'))).toBe(true);
    for (const piece of cutSentences(`a${'😀'.repeat(300)}a`, false).pieces)
      expect(piece).not.toMatch(/\p{Surrogate}/u);
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
