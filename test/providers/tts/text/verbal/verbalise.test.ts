import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spokenText, spokenWords } from '../../../../../src/providers/tts/text/speakable.js';
import { verbalWords } from '../../../../../src/providers/tts/text/verbal/verbalise.js';
import { WordAligner } from '../../../../../src/providers/tts/text/word-aligner.js';

const said = (text: string, language: string): string => spokenText(verbalWords(text, language));

/** Hard strings of a language with their reading, written by hand: a line each, parted by a tab. */
function hardStrings(language: string): string[][] {
  const lines = readFileSync(new URL(`hard/${language}.tsv`, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => line.split('\t'));
}

describe('what a voice is to say', () => {
  it.each(['en', 'de', 'fr', 'es'])('reads the hard strings of %s as its speakers do', (language) => {
    const strings = hardStrings(language);
    expect(strings.length).toBeGreaterThanOrEqual(120);
    const wrong = strings.flatMap(([text = '', reading = '']) => {
      const heard = said(text, language);
      return heard === reading ? [] : [{ text, reading, heard }];
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ['75 € et 81 € et 99 €', 'fr', 'BE', 'septante-cinq euros et quatre-vingt-un euros et nonante-neuf euros'],
    ['75, 80, 81, 99', 'fr', 'CH', 'septante-cinq, huitante, huitante et un, nonante-neuf'],
    ['105 rooms, 1,205', 'en', 'GB', 'one hundred and five rooms, one thousand two hundred and five'],
    ['by 05/06/2026', 'en', 'GB', 'by June fifth, twenty twenty six'],
    ['by 13/06/2026', 'en', 'US', 'by June thirteenth, twenty twenty six'],
    ['020 79460958', 'en', 'GB', 'zero two zero, seven nine four six zero nine five eight'],
    ['$1,204.50', 'es', 'MX', 'mil doscientos cuatro pesos con cincuenta'],
    ['3.5 km el 1/11/2026', 'es', 'MX', 'tres punto cinco kilómetros el primero de noviembre de dos mil veintiséis'],
    ['Llame al 55 1234 5678', 'es', 'MX', 'Llame al cinco cinco, uno dos tres cuatro, cinco seis siete ocho'],
    ['$20 MXN, $20 USD, $20', 'es', 'MX', 'veinte pesos, veinte dólares, veinte pesos'],
    ['am 5.1.2026', 'de', 'AT', 'am fünften Jänner zweitausendsechsundzwanzig'],
  ])('follows the region: of %j in %s of %s: %j', (text, language, region, reading) => {
    expect(spokenText(verbalWords(text, language, region))).toBe(reading);
  });

  it('changes nothing in other languages and where the language is not known', () => {
    for (const language of ['multi', 'ja', 'pl']) {
      expect(verbalWords('On 2026-11-23 at 21:00, $5', language)).toEqual(spokenWords('On 2026-11-23 at 21:00, $5'));
    }
  });
});

const PIECES = [
  '12', 'lbs', '$', '5', '.', ',', '(0)', '+44', '-', '/', ':', '21:00', 'Mon', 'Fri', 'Nov', '2026-11-23', '€', '1/2',
  'CEO', 'https://a.b/c', ' ', ' ', ' ', '\n', 'km', 'am', "'", '"', '(', ')', 'Tel.', 'x', '4111', 'BA2490', '°C', '🎉', 'é', '你好', '*',
]; // prettier-ignore
const texts = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 120 }),
);
const languages = fc.constantFrom('en-US', 'en-GB', 'de', 'fr', 'es-MX', 'multi', 'ja');

describe('whatever the text and the language', () => {
  it('keeps the words of the text and their places, so that what was heard can be cut from it', () => {
    fc.assert(
      fc.property(texts, languages, (text, language) => {
        const words = verbalWords(text, language);
        const place = ({ text: word, start, end }: (typeof words)[number]): object => ({ word, start, end });
        expect(words.map(place)).toEqual(spokenWords(text).map(place));
        for (const { text: word, start, end } of words) expect(text.slice(start, end)).toBe(word);
        for (const { spoken } of words) expect(spoken === '' || /[\p{L}\p{N}\p{S}%&@§]/u.test(spoken)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives each word its time, in order, when a vendor times what was said', () => {
    fc.assert(
      fc.property(texts, languages, (text, language) => {
        const words = verbalWords(text, language);
        const aligner = new WordAligner(words);
        const pieces = spokenText(words)
          .split(' ')
          .filter((piece) => piece !== '');
        for (const [index, piece] of pieces.entries()) {
          aligner.push({ text: piece, startMs: index * 100, endMs: index * 100 + 100 });
        }
        const timed = aligner.finish(pieces.length * 100);
        expect(timed.map((word) => word.text)).toEqual(words.map((word) => word.text));
        let lastMs = 0;
        for (const { startMs, endMs } of timed) {
          expect(startMs).toBeGreaterThanOrEqual(lastMs);
          expect(endMs).toBeGreaterThanOrEqual(startMs);
          lastMs = endMs;
        }
      }),
      { numRuns: 500 },
    );
  });
});
