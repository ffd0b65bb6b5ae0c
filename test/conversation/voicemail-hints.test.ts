import { describe, expect, it } from 'vitest';
import { HINTED_LANGUAGES, machineSentences } from '../../src/conversation/voicemail-hints.js';
import { hintsAtMachine, machinePhraseOf } from '../../src/conversation/voicemail-phrases.js';

describe('sentences that a recogniser is told to expect of machines', () => {
  it.each(HINTED_LANGUAGES)('%s: each tells a machine, or hints at one', (language) => {
    for (const sentence of machineSentences(language)) {
      const tells = machinePhraseOf(sentence, language, []) !== null || hintsAtMachine(sentence, language);
      expect(tells, sentence).toBe(true);
    }
  });

  it('are English too in every language', () => {
    expect(machineSentences('ko-KR')).toEqual(machineSentences('en-US'));
    expect(machineSentences('de-DE').length).toBeGreaterThan(machineSentences('en-US').length);
  });
});
