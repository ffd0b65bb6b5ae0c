import { describe, expect, it } from 'vitest';
import { announcedEnd } from '../../../src/conversation/voicemail/announcements.js';
import { HINTED_LANGUAGES, machineSentences } from '../../../src/conversation/voicemail/voicemail-hints.js';
import {
  announcesMenu,
  asksCaller,
  asksToWait,
  hintsAtMachine,
  isMenu,
  machinePhraseOf,
} from '../../../src/conversation/voicemail/voicemail-phrases.js';

const SIGNS = [hintsAtMachine, isMenu, announcesMenu, asksCaller, asksToWait];

describe('hints for the recogniser about who answers', () => {
  it.each(HINTED_LANGUAGES)('%s: each tells something', (language) => {
    for (const sentence of machineSentences(language)) {
      const tells =
        machinePhraseOf(sentence, language, []) !== null ||
        announcedEnd(sentence, language) !== null ||
        SIGNS.some((tellsOne) => tellsOne(sentence, language));
      expect(tells, sentence).toBe(true);
    }
  });

  it('are English too in every language', () => {
    expect(machineSentences('ko-KR')).toEqual(machineSentences('en-US'));
    expect(machineSentences('de-DE').length).toBeGreaterThan(machineSentences('en-US').length);
  });
});
