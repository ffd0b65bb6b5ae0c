import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spokenText, spokenWords } from '../../../../../src/providers/tts/text/speakable.js';
import { verbalWords } from '../../../../../src/providers/tts/text/verbal/verbalise.js';
import { WordAligner } from '../../../../../src/providers/tts/text/word-aligner.js';

const said = (text: string, language: string): string => spokenText(verbalWords(text, language));

describe('what a voice is to say', () => {
  it.each([
    ['1/2 cup of milk', 'one half cup of milk'],
    ['On 2026-11-23 we open', 'On November twenty third, twenty twenty six we open'],
    ['Due 11/23/2026.', 'Due November twenty third, twenty twenty six.'],
    ['Open 9am-5pm Mon-Fri', 'Open nine AM to five PM Monday to Friday'],
    ['12 lbs & 6 oz', '12 pounds and 6 ounces'],
    ['It takes 5 min. Then call.', 'It takes 5 minutes. Then call.'],
    ['It is 3.5 km away', 'It is 3.5 kilometres away'],
    ['Tel: (0)20 7946 0958', 'Tel: zero two zero, seven nine four six, zero nine five eight'],
    ['Our CEO said so', 'Our C E O said so'],
    ['See https://a.b/c for more', 'See a dot b for more'],
    ['Ext. 42', 'extension 42'],
    ['$0.99', '99 cents'],
    ['Come at 21:00', 'Come at nine PM'],
    ['In 1999 we opened', 'In nineteen ninety nine we opened'],
    ['PO Box 123, New York, NY 10001', 'P O Box 123, New York, NY one zero zero zero one'],
    ['Flight BA2490 is late', 'Flight B A two four nine zero is late'],
    ['5ft 11in', '5 feet 11 inches'],
    ['192.168.0.1', '192 dot 168 dot 0 dot 1'],
    ['v2.0.1', 'version 2 point 0 point 1'],
    ['The SKU is 4410', 'The S K U is 4410'],
    ['$1,204.50', '1,204 dollars and 50 cents'],
    ['7:45pm', 'seven forty five PM'],
    ['5-9 pm', '5 to 9 pm'],
    ['7:05', 'seven oh five'],
    ['Nov. 23rd, 2026', 'November 23rd, twenty twenty six'],
    ["Dr. O'Neil", "Dr. O'Neil"],
    ['+1 (202) 555-0173', 'plus one, two zero two, five five five, zero one seven three'],
    ['R101', 'R one zero one'],
    ['A7-93KX', 'A seven, nine three K X'],
    ['info@acme-shop.co.uk', 'info at acme-shop dot co dot uk'],
    ['50%', '50%'],
    ['St. James St.', 'St. James St.'],
    ['0042', 'zero zero four two'],
    ['20 degrees C', '20 degrees C'],
    ['It is 20°C', 'It is 20 degrees Celsius'],
    ['call 555-0173', 'call five five five, zero one seven three'],
    ['1-800-555-0199', 'one, eight zero zero, five five five, zero one nine nine'],
    ['card 4111 1111 1111 1111', 'card four one one one, one one one one, one one one one, one one one one'],
    ['+44 (0)20 7946 0958', 'plus four four, two zero, seven nine four six, zero nine five eight'],
    ['from 2024-2026', 'from twenty twenty four to twenty twenty six'],
    ['the 1990s', 'the nineteen nineties'],
    ['24/7', 'twenty four seven'],
    ['$20-30', '20 to 30 dollars'],
    ['$5M', '5 million dollars'],
    ['€20, 20 €, EUR 15', '20 euros, 20 euros, 15 euros'],
    ['$12/hr', '12 dollars per hour'],
    ['2 1/2 hours', '2 and one half hours'],
    ['2/3 of it', 'two thirds of it'],
    ['60 km/h', '60 kilometres per hour'],
    ['1 kg, 2 kg', '1 kilogram, 2 kilograms'],
    ['a 16GB phone', 'a 16 gigabyte phone'],
    ['Mon. to Wed.', 'Monday to Wednesday.'],
    ['Sat down. Sun shines.', 'Sat down. Sun shines.'],
    ['Sat, Nov 5', 'Saturday, November 5'],
    ['approx. 10 people', 'approximately 10 people'],
    ['e.g. pasta', 'for example pasta'],
    ['No. 5', 'number 5'],
    ['No. 5 of them', 'number 5 of them'],
    ['order number 48213', 'order number four eight two one three'],
    ['your code is 1234', 'your code is one two three four'],
    ['ID 7', 'I D 7'],
    ['USA', 'U S A'],
    ['10-15 people', '10 to 15 people'],
    ['score 2-1', 'score 2 to 1'],
    ['2026-11-23T19:30:00Z', 'November twenty third, twenty twenty six, seven thirty PM'],
    ['on 3/4', 'on March fourth'],
    ['by 05/06/2026', 'by May sixth, twenty twenty six'],
    ['5 in the morning', '5 in the morning'],
    ['I ate 3 g of it', 'I ate 3 grams of it'],
    ['1h 30m', '1 hour 30 minutes'],
    ['12:00 PM', 'twelve PM'],
    ['12:00', "twelve o'clock"],
    ['00:30', 'twelve thirty AM'],
    ['19:30-21:00', 'seven thirty PM to nine PM'],
    ['MP3 file', 'M P three file'],
    ['Q3 2026', 'Q three twenty twenty six'],
    ['May 5, 2026', 'May 5, twenty twenty six'],
    ['in 1500 shops', 'in 1500 shops'],
    ['in 2005', 'in two thousand five'],
    ['Apt. 4B', 'apartment four B'],
    ['ext 1234', 'extension 1234'],
    ['-5°C', 'minus 5 degrees Celsius'],
    ['R&D', 'R and D'],
    ['C++', 'C plus plus'],
    ['and/or', 'and/or'],
    ['w/ milk', 'with milk'],
    ['FAQs', "F A Q's"],
    ['HELP ME ID CARD', 'HELP ME ID CARD'],
    ['1st, 2nd and 3rd', '1st, 2nd and 3rd'],
    ['Chapter 3', 'Chapter 3'],
    ['45.50', '45.50'],
    ['GBP 3.20', '3 pounds and 20 pence'],
    ['1,000,000', '1,000,000'],
    ['account 12345678', 'account one two three four five six seven eight'],
    ['555.0173', 'five five five, zero one seven three'],
    ['at 7 p.m. today', 'at 7 p.m. today'],
    ['call me at 9am.', 'call me at nine AM.'],
    ['$45.50!', '45 dollars and 50 cents!'],
    ['$1 or $1.00 or £1', '1 dollar or 1 dollar or 1 pound'],
    ['$1.5bn, $1,200', '1.5 billion dollars, 1,200 dollars'],
    ['john.doe@example.com.', 'john dot doe at example dot com.'],
    ['example.com, #5, 3×4, ½', 'example dot com, number 5, 3 times 4, one half'],
    ['salt & pepper', 'salt and pepper'],
    ['COVID-19 and NASA', 'COVID-19 and NASA'],
    ['He is 5\'11" tall', 'He is 5 feet 11 inches" tall'],
    ['I have 3 kids and 2 dogs.', 'I have 3 kids and 2 dogs.'],
    ['Room 302, please', 'Room 302, please'],
    ['See you on Monday at 7', 'See you on Monday at 7'],
    ['**Bold** 5 km', 'Bold 5 kilometres'],
    ['🎉 12 lbs', '12 pounds'],
  ])('in English, of %j: %j', (text, expected) => {
    expect(said(text, 'en-US')).toBe(expected);
  });

  it.each([
    ['am 23.11.2026 um 19:30 Uhr', 'am 23. November 2026 um 19 Uhr 30'],
    ['am 2026-11-23', 'am 23. November 2026'],
    ['12,50 € und 0,99 €', '12 Euro 50 und 99 Cent'],
    ['1.204,50 €', '1204 Euro 50'],
    ['Mo-Fr 9:00-17:30', 'Montag bis Freitag 9 Uhr bis 17 Uhr 30'],
    ['Tel. 030 1234567', 'Telefon 0 3 0, 1 2 3 4 5 6 7'],
    ['+49 30 1234567', 'plus 4 9, 3 0, 1 2 3 4 5 6 7'],
    ['5 km, 3,5 kg', '5 Kilometer, 3,5 Kilogramm'],
    ['z.B. info@firma.de', 'zum Beispiel info ät firma Punkt de'],
    ['10-15 Personen', '10 bis 15 Personen'],
    ['am 5.3. kommen', 'am 5. März kommen'],
    ['ca. 20 Min.', 'circa 20 Minuten.'],
  ])('in German, of %j: %j', (text, expected) => {
    expect(said(text, 'de')).toBe(expected);
  });

  it.each([
    ['le 23/11/2026 à 19h30', 'le 23 novembre 2026 à 19 heures 30'],
    ['01 23 45 67 89', '0 1, 2 3, 4 5, 6 7, 8 9'],
    ['12,50 €', '12 euros 50'],
    ['le 1/11/2026', 'le 1er novembre 2026'],
    ['5 km', '5 kilomètres'],
    ['0,99 €', '99 centimes'],
    ['ouvert lun.-ven. de 9:00 à 17:00', 'ouvert lundi à vendredi. de 9 heures à 17 heures'],
  ])('in French, of %j: %j', (text, expected) => {
    expect(said(text, 'fr')).toBe(expected);
  });

  it.each([
    ['el 23/11/2026 a las 19:30 h', 'el 23 de noviembre de 2026 a las 19 y 30'],
    ['12,50 €', '12 euros con 50'],
    ['tel. 912 345 678', 'teléfono 9 1 2, 3 4 5, 6 7 8'],
    ['+34 912 345 678', 'más 3 4, 9 1 2, 3 4 5, 6 7 8'],
    ['p.ej. 5 km', 'por ejemplo 5 kilómetros'],
    ['0,01 €', '1 céntimo'],
  ])('in Spanish, of %j: %j', (text, expected) => {
    expect(said(text, 'es')).toBe(expected);
  });

  it('takes the day first outside the United States', () => {
    expect(said('by 05/06/2026', 'en-GB')).toBe('by June fifth, twenty twenty six');
    expect(said('by 13/06/2026', 'en-US')).toBe('by June thirteenth, twenty twenty six');
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
