import { describe, expect, it } from 'vitest';
import { spokenSentences } from '../../../../src/providers/stt/lm/text.js';

const say = (text: string, language: 'en' | 'fr' = 'en') =>
  spokenSentences(text, language).map((sentence) => sentence.join(' '));

describe('spoken sentences', () => {
  it.each([
    ['Hello, how can I help you?', ['hello how can i help you']],
    ['Open 5:30 pm to 10pm.', ['open five thirty p m to ten p m']],
    ['at 7 p.m. on the 3rd', ['at seven p m on the third']],
    ['It costs $25, or 15% less', ['it costs twenty five dollars or fifteen percent less']],
    ['Call 5551234567 now', ['call five five five one two three four five six seven now']],
    ['Since 1995 and 2008', ['since nineteen ninety five and two thousand eight']],
    ['342 seats, 1,500 guests', ['three hundred and forty two seats one thousand five hundred guests']],
    ['Version 2.5', ['version two point five']],
    ['Luigi’s café – twenty-one tables', ["luigi's cafe", 'twenty one tables']],
    ['Name: {{name}} please', ['name', 'please']],
    ['See https://example.com/a?b=c today', ['see', 'today']],
    ['# Title\n- item one\n* **bold** words', ['title', 'item one', 'bold', 'words']],
    ['', []],
    ['???  …  !!', []],
  ])('%j', (text, sentences) => {
    expect(say(text)).toEqual(sentences);
  });

  it('keeps accents, elisions and inversions in French', () => {
    expect(say("L'addition, s'il vous plaît. Avez-vous un rendez-vous aujourd'hui ?", 'fr')).toEqual([
      "l' addition s' il vous plaît",
      "avez vous un rendez-vous aujourd'hui",
    ]);
  });

  it('takes any text without throwing and gives plain words only', () => {
    for (const text of [
      '\u0000\uFFFF',
      '💥 boom',
      '９９９',
      'a'.repeat(100_000),
      '{{{{}}',
      "''''",
      '1:99',
      '999999999999999999999999',
    ]) {
      for (const word of spokenSentences(text, 'en').flat()) expect(word).toMatch(/^[\p{L}'-]+$/u);
    }
  });
});
