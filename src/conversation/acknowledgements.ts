import { baseLanguage, wordsOf } from './words.js';

/**
 * What words said over the agent mean: nothing that was said (`none`), an acknowledgement that it should go on
 * (`acknowledgement`), or something it has to stop for (`real`).
 */
export type OverlapWords = 'none' | 'acknowledgement' | 'real';

const ENGLISH = [
  'mm',
  'mhm',
  'hm',
  'hmm',
  'mm-hm',
  'mm-hmm',
  'mmhmm',
  'uh-huh',
  'uhhuh',
  'uh huh',
  'mm hm',
  'mm hmm',
  'ah',
  'aha',
  'oh',
  'ok',
  'okay',
  'yeah',
  'yep',
  'yup',
  'yes',
  'right',
  'sure',
  'alright',
  'all right',
  'fine',
  'good',
  'great',
  'nice',
  'cool',
  'perfect',
  'exactly',
  'i see',
  'got it',
  'of course',
  'go on',
  'uh',
  'um',
  'er',
  'well',
];

const BY_LANGUAGE: Readonly<Record<string, readonly string[]>> = {
  en: ENGLISH,
  de: ['mhm', 'hm', 'aha', 'ah', 'ja', 'jaja', 'ok', 'okay', 'genau', 'gut', 'klar', 'richtig', 'stimmt', 'ach so', 'äh', 'ähm'],
  fr: ['mm', 'hm', 'mhm', 'ah', 'ok', 'okay', 'oui', 'ouais', 'd\'accord', 'bien', 'très bien', 'je vois', 'voilà', 'euh'],
  es: ['mm', 'mhm', 'aha', 'ajá', 'ah', 'ok', 'okay', 'sí', 'si', 'vale', 'claro', 'bueno', 'bien', 'ya', 'entiendo', 'eh'],
  pt: ['mm', 'mhm', 'ah', 'ok', 'okay', 'sim', 'tá', 'certo', 'claro', 'bom', 'entendi', 'isso', 'é'],
  it: ['mm', 'mhm', 'ah', 'ok', 'okay', 'sì', 'si', 'certo', 'bene', 'va bene', 'capisco', 'esatto', 'giusto', 'eh'],
  nl: ['mm', 'mhm', 'hm', 'ah', 'ok', 'oké', 'okay', 'ja', 'goed', 'prima', 'precies', 'juist', 'klopt', 'eh'],
  hi: ['हाँ', 'हां', 'हम्म', 'ठीक', 'ठीक है', 'अच्छा', 'जी', 'जी हाँ', 'ok', 'okay'],
  ja: ['はい', 'うん', 'ええ', 'そう', 'なるほど', 'そうですね', 'そうですか', 'ああ', 'うんうん'],
  zh: ['嗯', '哦', '对', '是', '是的', '好', '好的', '行', '明白', '嗯嗯', '对对'],
};

/** Classifies what was said over the agent. `language` falls back to English for the words all languages share. */
export function classifyOverlap(text: string, language: string): OverlapWords {
  const words = wordsOf(text);
  if (words.length === 0) return 'none';
  const known = new Set(BY_LANGUAGE[baseLanguage(language)] ?? ENGLISH);
  for (let index = 0; index < words.length; ) {
    const two = `${words[index] ?? ''} ${words[index + 1] ?? ''}`;
    if (known.has(two)) index += 2;
    else if (known.has(words[index] ?? '')) index += 1;
    else return 'real';
  }
  return 'acknowledgement';
}
