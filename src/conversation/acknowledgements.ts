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
  de: [
    'mhm',
    'hm',
    'aha',
    'ah',
    'ja',
    'jaja',
    'ok',
    'okay',
    'genau',
    'gut',
    'klar',
    'richtig',
    'stimmt',
    'ach so',
    'äh',
    'ähm',
  ],
  fr: [
    'mm',
    'hm',
    'mhm',
    'ah',
    'ok',
    'okay',
    'oui',
    'ouais',
    "d'accord",
    'bien',
    'très bien',
    'je vois',
    'voilà',
    'euh',
  ],
  es: [
    'mm',
    'mhm',
    'aha',
    'ajá',
    'ah',
    'ok',
    'okay',
    'sí',
    'si',
    'vale',
    'claro',
    'bueno',
    'bien',
    'ya',
    'entiendo',
    'eh',
  ],
  pt: ['mm', 'mhm', 'ah', 'ok', 'okay', 'sim', 'tá', 'certo', 'claro', 'bom', 'entendi', 'isso', 'é'],
  it: ['mm', 'mhm', 'ah', 'ok', 'okay', 'sì', 'si', 'certo', 'bene', 'va bene', 'capisco', 'esatto', 'giusto', 'eh'],
  nl: ['mm', 'mhm', 'hm', 'ah', 'ok', 'oké', 'okay', 'ja', 'goed', 'prima', 'precies', 'juist', 'klopt', 'eh'],
  hi: ['हाँ', 'हां', 'हम्म', 'ठीक', 'ठीक है', 'अच्छा', 'जी', 'जी हाँ', 'ok', 'okay'],
  ja: ['はい', 'うん', 'ええ', 'そう', 'なるほど', 'そうですね', 'そうですか', 'ああ', 'うんうん'],
  zh: ['嗯', '哦', '对', '是', '是的', '好', '好的', '行', '明白', '嗯嗯', '对对'],
};

/** What is said while the agent says goodbye, and is none to stay for. */
const FAREWELLS: Readonly<Record<string, readonly string[]>> = {
  en: ['bye', 'bye-bye', 'goodbye', 'good bye', 'thanks', 'thank you', 'you too', 'good night', 'see you', 'cheers'],
  de: ['tschüss', 'danke', 'danke schön', 'auf wiederhören', 'auf wiedersehen', 'bis dann', 'ebenfalls'],
  fr: ['au revoir', 'merci', 'bonne journée', 'bonne soirée', 'à bientôt', 'salut'],
  es: ['adiós', 'gracias', 'muchas gracias', 'hasta luego', 'igualmente', 'chao'],
  pt: ['adeus', 'tchau', 'obrigado', 'obrigada', 'até logo'],
  it: ['arrivederci', 'grazie', 'ciao', 'buona giornata'],
  nl: ['doei', 'dank je', 'dank u', 'bedankt', 'tot ziens', 'dag'],
};

/** Classifies what was said over the agent. `ending`: the agent is saying goodbye. */
export function classifyOverlap(text: string, language: string, ending = false): OverlapWords {
  const words = wordsOf(text);
  if (words.length === 0) return 'none';
  const base = baseLanguage(language);
  const known = new Set(BY_LANGUAGE[base] ?? ENGLISH);
  if (ending) for (const farewell of FAREWELLS[base] ?? FAREWELLS['en'] ?? []) known.add(farewell);
  for (let index = 0; index < words.length;) {
    const two = `${words[index] ?? ''} ${words[index + 1] ?? ''}`;
    if (known.has(two)) index += 2;
    else if (known.has(words[index] ?? '')) index += 1;
    else return 'real';
  }
  return 'acknowledgement';
}
