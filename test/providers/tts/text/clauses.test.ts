import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitClauses } from '../../../../src/providers/tts/text/clauses.js';

const split = (text: string, maxChars?: number): string[] =>
  splitClauses(text, maxChars === undefined ? {} : { maxChars }).map(({ start, end }) => text.slice(start, end));

describe('splitting text into clauses', () => {
  it.each([
    [['Hello there.', 'How are you?', 'Fine!']],
    [['I met Dr. Smith and Mrs. Jones.', 'They left.']],
    [['We open at 7:30 p.m. on weekdays.', 'Come early.']],
    [['It closes at 9 p.m.', 'Then we sleep.']],
    [['It costs 3.50 in total.', 'Is that okay?']],
    [['Well... maybe not.', 'Let me see...', 'Yes.']],
    [['Hmm… perhaps.', 'No…', 'Yes.']],
    [['Bring fruit, e.g. apples, to No. 5.', 'Thanks.']],
    [['He lives in the U.S. today.', 'She said "stop."', 'He did.']],
    [['(It rained.)', 'We stayed in.']],
    [['Visit example.com today.', 'It works.']],
    [['J. R. R. Tolkien wrote it.', 'So did I.', 'Really?!']],
    [['Wait!!', '¿Qué tal?', '¡Bien!']],
    [['Das kostet ca. fünf Euro.', 'Gut.']],
    [['नमस्ते।', 'आप कैसे हैं?']],
    [['مرحبا؟', 'نعم.']],
    [['one line', 'another line', 'third']],
  ])('%j', (sentences) => {
    const joined = sentences[0] === 'one line' ? sentences.join('\n') : sentences.join(' ');
    expect(split(joined)).toEqual(sentences);
  });

  it('ends Chinese and Japanese sentences without a space', () => {
    expect(split('你好，今天很好。我们走吧！好')).toEqual(['你好，今天很好。', '我们走吧！', '好']);
    expect(split('「はい。」そうです。')).toEqual(['「はい。」', 'そうです。']);
  });

  it('keeps a sentence whole up to the limit and cuts a longer one where a speaker would breathe', () => {
    const text =
      'If you would like to book a table for tonight, please tell me how many of you there are, and when you come.';
    expect(split(text)).toEqual([text]);
    expect(split(text, 60)).toEqual([
      'If you would like to book a table for tonight,',
      'please tell me how many of you there are, and when you come.',
    ]);
  });

  it('cuts between words where there is no clause end, and inside a word only where there is no space', () => {
    expect(split('one two three four five six seven eight', 20)).toEqual([
      'one two three four',
      'five six seven eight',
    ]);
    expect(split('x'.repeat(50), 20).map((piece) => piece.length)).toEqual([20, 20, 10]);
    expect(split('👍'.repeat(15), 21).every((piece) => piece.length % 2 === 0)).toBe(true);
  });

  it('pauses longer after a sentence than after a clause, not at all in mid-clause or at the end', () => {
    const pauses = splitClauses('First, we go there together. Then back', { maxChars: 20 }).map(
      (clause) => clause.pauseMs,
    );
    expect(pauses.at(-1)).toBe(0);
    const [sentence] = splitClauses('Yes. No.');
    const [clause] = splitClauses('a clause that is here, and another one', { maxChars: 30 });
    const [middle] = splitClauses('no clause end is to be seen anywhere here', { maxChars: 30 });
    expect(sentence?.pauseMs).toBeGreaterThan(clause?.pauseMs ?? 0);
    expect(clause?.pauseMs).toBeGreaterThan(0);
    expect(middle?.pauseMs).toBe(0);
  });

  it('holds all of any text, in order, within the limit', () => {
    const unit = fc.constantFrom(
      'a',
      'B',
      '.',
      '...',
      ' ',
      ', ',
      '! ',
      '。',
      '，',
      '\n',
      'Dr. ',
      '👍',
      '"',
      ')',
      '3.5',
      'word ',
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 80 }), fc.integer({ min: 5, max: 60 }), (units, maxChars) => {
        const text = units.join('');
        let at = 0;
        for (const { start, end } of splitClauses(text, { maxChars })) {
          expect(text.slice(at, start)).toMatch(/^\s*$/);
          expect(end).toBeGreaterThan(start);
          expect(end - start).toBeLessThanOrEqual(maxChars);
          at = end;
        }
        expect(text.slice(at)).toMatch(/^\s*$/);
      }),
      { numRuns: 500 },
    );
  });

  it.each(['a', '.', '!', '"', '.)', ', ', '。', '，', 'a. ', '\n'])(
    'takes 200,000 characters of %j in its stride',
    (unit) => {
      const text = unit.repeat(200_000 / unit.length);
      const held = splitClauses(text).map(({ start, end }) => text.slice(start, end));
      expect(held.join('').replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
    },
  );
});
