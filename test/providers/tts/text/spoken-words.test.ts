import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PronunciationSettings } from '../../../../src/agent/extensions/pronunciation.js';
import { readMarkup } from '../../../../src/base/speech-markup.js';
import { findEspeak } from '../../../../src/providers/tts/espeak.js';
import {
  cartesiaPhonemes,
  espeakPhonemes,
  flitePhones,
  phonesOf,
  respellingOf,
} from '../../../../src/providers/tts/text/phonemes.js';
import { spokenText } from '../../../../src/providers/tts/text/speakable.js';
import { speechWords, withPhonemes } from '../../../../src/providers/tts/text/spoken-words.js';

interface Said {
  language?: string;
  takesPhonemes?: boolean;
}

function said(
  marked: string,
  pronunciation: PronunciationSettings | null = null,
  { language = 'en-US', takesPhonemes = false }: Said = {},
): string {
  const { text, spans } = readMarkup(marked);
  return spokenText(speechWords({ text, spans, language, pronunciation }, takesPhonemes));
}

describe('the dictionary of an agent', () => {
  it('says aliases by the rules, and respellings as they are', () => {
    const words = [
      { word: 'SLA', alias: 'agreement no. 5 for 2 km' },
      { word: 'nginx', respelling: 'engine ex' },
      { word: 'La Jolla', respelling: 'la hoya' },
    ];
    expect(said('Our SLA, nginx; in La Jolla!', { words })).toBe(
      'Our agreement number five for two kilometres, engine ex; in la hoya!',
    );
  });

  it('finds whole words whatever their case, unless an entry says otherwise', () => {
    const words = [
      { word: 'polish', respelling: 'pollish', case_sensitive: true },
      { word: 'cat', respelling: 'kitty' },
      { word: 'gif', respelling: 'jif', whole_word: false },
    ];
    expect(said('Polish polish', { words })).toBe('Polish pollish');
    expect(said("CAT concatenates cat's", { words })).toBe("kitty concatenates kitty's");
    expect(said('gifted GIFs', { words })).toBe('jifted jifs');
  });

  it('takes the longest word, then the first, and says no result again', () => {
    const words = [
      { word: 'York', respelling: 'yorick' },
      { word: 'New York', respelling: 'noo yawk' },
      { word: 'new york', respelling: 'never' },
      { word: 'yawk', respelling: 'loop' },
    ];
    expect(said('York, New  York', { words })).toBe('yorick, noo yawk');
  });

  it('applies an entry in its languages only', () => {
    const words = [{ word: 'Job', respelling: 'Dschob', languages: ['de' as const] }];
    expect(said('Job', { words }, { language: 'de' })).toBe('Dschob');
    expect(said('Job', { words }, { language: 'de-CH' })).toBe('Dschob');
    expect(said('Job', { words })).toBe('Job');
  });

  it('gives voices phonemes where they take them, else the respelling or letters derived from them', () => {
    const words = [
      { word: 'Siobhan', ipa: 'ʃɪˈvɔːn' },
      { word: 'Nguyen', ipa: 'wɪn', respelling: 'win' },
    ];
    expect(said('Siobhan Nguyen', { words })).toBe('shi-vawn win');
    expect(said('Siobhan', { words }, { language: 'de' })).toBe('schi-wohn');
    const text = said('Siobhan Nguyen.', { words }, { takesPhonemes: true });
    expect(withPhonemes(text, (word, ipa) => `{${word}:${ipa}}`)).toBe('{Siobhan:ʃɪˈvɔːn} {Nguyen:wɪn}.');
  });

  it('leaves regular expression signs without effect', () => {
    expect(
      said('C++ or a.b', {
        words: [
          { word: 'C++', respelling: 'sea' },
          { word: 'a.b', respelling: 'ab' },
        ],
      }),
    ).toBe('sea or ab');
    expect(said('Our Wi-Fi', { words: [{ word: 'Wi-Fi', respelling: 'why fie' }] })).toBe('Our why fie');
  });

  it('does not change parts of addresses', () => {
    const words = [
      { word: 'Acme', respelling: 'ack me' },
      { word: 'Node.js', respelling: 'node jay ess' },
    ];
    expect(said('Visit https://acme.com or acme-shop.com, Acme.', { words })).toBe(
      'Visit acme dot com or acme dash shop dot com, ack me.',
    );
    expect(said('Mail acme@mail.acme.com about Node.js', { words })).toBe(
      'Mail acme at mail dot acme dot com about node jay ess',
    );
  });
});

describe('mark-up', () => {
  it('spells letters, digits and signs, with a pause at a space', () => {
    expect(said('It is <spell>AB-12 x</spell>.')).toBe('It is A B dash one two, X.');
    expect(said('Code:<spell> AB12 </spell>')).toBe('Code: A B one two');
    expect(said('Code: <spell>\nAB12\n</spell>')).toBe('Code: A B one two');
    expect(said('<say-as interpret-as="characters">k9_ü</say-as>', null, { language: 'de' })).toBe(
      'K neun Unterstrich Ü',
    );
  });

  it('goes before the dictionary', () => {
    expect(
      said('<sub alias="see">C</sub> and <spell>cat</spell>', { words: [{ word: 'cat', respelling: 'kitty' }] }),
    ).toBe('see and C A T');
  });
});

describe('phonemes', () => {
  it.each([
    ['ʃɪˈvɔːn', 'sh ih0 v ao1 n'],
    ['/ˈnjuː.klɪ.ɚ/', 'n y uw1 k l ih0 er0'],
    ['t͡ʃiːz', 'ch iy1 z'],
    ['ɡoʊ', 'g ow1'],
    ['wɜːɹd', 'w er1 d'],
    ['ɲɔki', 'n y ao1 k iy0'],
  ])('%s is %s for flite', (ipa, phones) => {
    expect(flitePhones(ipa).join(' ')).toBe(phones);
  });

  it('are written for Cartesia sound by sound', () => {
    expect(cartesiaPhonemes('kɑrˈtiːʒə', 'en')).toBe('<<k|ɑ|ɹ|ˈ|t|i|ʒ|ə>>');
  });

  it.each([
    ['kwɛɹi', 'en', 'kweree'],
    ['ˈʃaʊbɪz', 'de', 'schaubis'],
    ['ʃaˈto', 'fr', 'cha-to'],
    ['ˈtʃoɾiso', 'es', 'choriso'],
  ])('%s is read in %s as %s', (ipa, language, letters) => {
    expect(respellingOf(ipa, language)).toBe(letters);
  });

  it('are found in any text, and nothing else is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (ipa) => {
        for (const phone of phonesOf(ipa)) expect(phone).toMatch(/^[\p{L}\p{M}ˈˌː]+$/u);
        expect(flitePhones(ipa).join(' ')).toMatch(/^[a-z01 ]*$/);
      }),
      { numRuns: 300 },
    );
  });

  const program = findEspeak();
  const heard = (ipa: string, voice: string): string => {
    const text = `[[${espeakPhonemes(ipa, voice)}]]`;
    const run = spawnSync(program ?? '', ['-v', voice, '-q', '--ipa', text], { encoding: 'utf8', timeout: 10_000 });
    return run.stdout.trim();
  };

  it.skipIf(program === undefined).each([
    ['en-us', 'ʃɪˈvɔːn'],
    ['en-us', 'ˈkjuːbɚˌnɛs'],
    ['de', 'ˈʃraʊbə'],
    ['de', 'ˈkøːnɪç'],
    ['fr-fr', 'ʃaˈto'],
    ['fr-fr', 'bɔ̃ˈʒuʁ'],
    ['es', 'ˈniɲo'],
    ['es', 'ˈtʃoɾiθo'],
  ])('are what espeak-ng says: %s %s', (voice, ipa) => {
    // It writes stress before the vowel.
    expect(heard(ipa, voice)).toBe(ipa.replace(/([ˈˌ])([^aeiouyøɛɔɪ]+)/gu, '$2$1'));
  });
});

describe('whatever the text, its mark-up and the dictionary', () => {
  const words = [
    { word: 'a b', ipa: 'ab' },
    { word: '12', alias: 'twelve km' },
    { word: 'x', respelling: 'ex', whole_word: false },
  ];
  const pieces = [
    'a b',
    '12',
    'x',
    ' ',
    ', ',
    '. ',
    '<spell>',
    '</spell>',
    '<break time="1s"/>',
    '$5',
    '🎉',
    '你好',
    '\n',
    'Dr. ',
    '**',
    '\ue100',
    '\ue000',
  ];
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(''));

  it('keeps the words of the text and their places: what was heard is a prefix of the text', () => {
    fc.assert(
      fc.property(
        texts,
        fc.constantFrom('en-US', 'de', 'fr', 'es', 'ja', 'multi'),
        fc.boolean(),
        (marked, language, takesPhonemes) => {
          const { text, spans } = readMarkup(marked);
          const found = speechWords({ text, spans, language, pronunciation: { words } }, takesPhonemes);
          let heard = 0;
          for (const { text: word, start, end } of found) {
            expect(text.slice(start, end)).toBe(word);
            expect(text.slice(heard, start)).toMatch(/^\s*$/u);
            heard = end;
          }
          expect(text.slice(heard)).toMatch(/^\s*$/u);
          expect(spokenText(found)).not.toMatch(/[<>]|[\ue100-\ue4ff]/u);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
