import { describe, expect, it } from 'vitest';
import { guessPronunciation } from '../../../../src/providers/stt/lm/pronounce.js';

describe('guessed pronunciations', () => {
  it.each([
    ['bruschetta', 'B R AH SH EH T AH'],
    ['brike', 'B R AY K'],
    ['fensterton', 'F EH N S T ER T OW N'],
    ['zibation', 'Z IH B AH SH AH N'],
  ])('%s', (word, phones) => {
    expect(guessPronunciation(word)).toBe(phones);
  });

  it.each(['', 'café', 'x1', '日本', 'a'.repeat(40), "'"])('has none for %j', (word) => {
    expect(guessPronunciation(word)).toBeNull();
  });

  it('uses phones of the CMU set only', () => {
    const phones = new Set(
      'AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH'.split(' '),
    );
    for (const word of 'quizzable wrightsville gnocchi tschudi phyllo mcgough xylia oyez eauze'.split(' ')) {
      for (const phone of guessPronunciation(word)?.split(' ') ?? ['none']) expect(phones).toContain(phone);
    }
  });
});
