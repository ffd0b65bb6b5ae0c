import * as z from 'zod';
import { optional, required } from '../../schema/field.js';
import { languageSchema } from '../language.js';

const LETTER = /[\p{L}\p{N}]/u;
/** Letters, signs and stress marks of the International Phonetic Alphabet. */
const IPA = /^[\p{Ll}\p{Lm}\p{Mn}θβχɸʘǀǃǂǁˈˌːˑ.‿|\s()'’/[\]-]+$/u;

const wordSchema = z
  .strictObject({
    word: required(
      z.string().min(1).max(100).regex(LETTER, 'Input should have a letter or a digit'),
      'The word or words as the agent writes them.',
    ),
    alias: optional(
      z.string().min(1).max(200).regex(LETTER, 'Input should have a letter or a digit'),
      'Text that is read in its place, with its numbers and abbreviations: `SLA` as "service level agreement".',
      { default: 'none' },
    ),
    respelling: optional(
      z.string().min(1).max(200).regex(LETTER, 'Input should have a letter or a digit'),
      'Letters that the voice reads rightly: `nginx` as "engine ex".',
      { default: 'none' },
    ),
    ipa: optional(
      z.string().min(1).max(200).regex(IPA, 'Input should be phonemes of the International Phonetic Alphabet'),
      'Phonemes of the International Phonetic Alphabet: `kwɛɹi`. Voices that take none read `respelling` or `alias`, or ' +
        'letters derived from the phonemes.',
      { default: 'none' },
    ),
    languages: optional(
      z.array(languageSchema).min(1).max(50),
      'Languages in which the entry applies; `en` is also `en-US` and the others.',
      { default: 'all' },
    ),
    case_sensitive: optional(z.boolean(), 'Whether capitals count.', { default: false }),
    whole_word: optional(z.boolean(), 'Whether it is not looked for inside of words.', { default: true }),
  })
  .refine(({ alias, respelling, ipa }) => alias != null || respelling != null || ipa != null, {
    error: 'An entry needs an alias, a respelling or ipa',
    path: ['word'],
  })
  .meta({ id: 'PronunciationWord', description: 'How a word is said.' });

/** `extensions.pronunciation`: what every voice of the agent says for its words. */
export const pronunciationSchema = z
  .strictObject({
    words: optional(
      z.array(wordSchema).max(500),
      'The dictionary. At one place of a text the longest word wins, then the first.',
      { default: 'none' },
    ),
    region: optional(
      z.string().regex(/^[A-Z]{2}$/, 'Input should be a country of two capital letters'),
      'The country whose numbers, dates and money are said: `BE` and `CH` say "septante", `AT` "Jänner", `MX` "pesos".',
      { default: "that of the agent's language" },
    ),
  })
  .meta({ id: 'Pronunciation', description: 'How the agent says its words.' });

export type PronunciationSettings = z.infer<typeof pronunciationSchema>;
export type PronunciationWord = z.infer<typeof wordSchema>;
