import { readFile } from 'node:fs/promises';
import { packageFile } from '../../../package-files.js';
import { answerModels } from '../lm/answers.js';
import { backgroundCorpus, type Corpus } from '../lm/hints.js';
import type { NgramModel } from '../lm/ngram.js';
import { parsePhraseList, type PhraseList } from '../lm/phrase-list.js';
import type { SpeechLanguage } from '../lm/text.js';
import { Lexicon, type Pronunciation } from './lexicon.js';

/** The package's acoustic model and dictionary of each language. */
export const MODEL_FOLDER: Readonly<Record<SpeechLanguage, string>> = { en: 'en-us', fr: 'fr-fr' };
/** Prefix of garbage phones. */
export const GARBAGE = '+g:';

const EVERYDAY: Readonly<Record<SpeechLanguage, string>> = { en: 'data/stt/en-us.txt', fr: 'data/stt/fr-fr.txt' };

/** Data shared by all agents of a language. */
export interface LanguageData {
  readonly language: SpeechLanguage;
  readonly lexicon: Lexicon;
  /** One-phone words whose sequences match any speech. */
  readonly garbage: readonly Pronunciation[];
  readonly list: PhraseList;
  readonly background: Corpus;
  /** Models of the answers to questions, by what is asked for. */
  readonly answers: ReadonlyMap<string, NgramModel>;
}

/** @param folder of the language's model, see MODEL_FOLDER */
export async function loadLanguage(language: SpeechLanguage, folder: string): Promise<LanguageData> {
  const [dictionary, phoneset, everyday] = await Promise.all([
    readFile(`${folder}/dict.txt`),
    readFile(`${folder}/phoneset.json`, 'utf8'),
    readFile(packageFile(EVERYDAY[language]), 'utf8'),
  ]);
  const phones = Object.keys(JSON.parse(phoneset) as object);
  const list = parsePhraseList(everyday);
  return {
    language,
    lexicon: new Lexicon(dictionary),
    garbage: phones
      .filter((phone) => /^\w+$/.test(phone) && phone !== 'SIL')
      .map((phone) => [GARBAGE + phone, phone] as const),
    list,
    background: backgroundCorpus(list),
    answers: answerModels(list),
  };
}
