import { baseLanguage } from '../../base/language.js';
import { phraseSet, wordsOf } from '../language/words.js';

/**
 * The meaning of words over the agent: no words (`none`), the agent's own words (`echo`), an acknowledgement
 * (`acknowledgement`), or words for which the agent must stop (`real`).
 */
export type OverlapWords = 'none' | 'echo' | 'acknowledgement' | 'real';

type PhrasesByLanguage = Readonly<Record<string, ReadonlySet<string>>>;

const ENGLISH = phraseSet(`
  mm, mmm, mhm, hm, hmm, mm-hm, mm-hmm, mmhmm, mm hm, mm hmm, uh-huh, uhhuh, uh huh, ah, aha, oh, ok, okay, yeah, yep, yup,
  yes, right, sure, alright, all right, fine, good, great, nice, cool, perfect, exactly, i see, got it, of course, go on, uh,
  um, er, well`);

const ACKNOWLEDGEMENTS: PhrasesByLanguage = {
  en: ENGLISH,
  de: phraseSet(`mm, mhm, hm, hmm, aha, ah, ja, jaja, jawohl, ok, okay, genau, gut, klar, alles klar, richtig, stimmt, ach so,
    verstehe, äh, ähm`),
  fr: phraseSet(`mm, mhm, hm, hum, ah, ok, okay, oui, ouais, d'accord, bien, très bien, je vois, voilà, euh`),
  es: phraseSet(`mm, mhm, aha, ajá, ah, ok, okay, sí, si, vale, claro, bueno, bien, ya, entiendo, de acuerdo, eh`),
  pt: phraseSet(`mm, mhm, aham, ah, ok, okay, sim, tá, tá bom, certo, claro, bom, entendi, isso, é`),
  it: phraseSet(`mm, mhm, ah, ok, okay, sì, si, certo, bene, va bene, capisco, esatto, giusto, eh`),
  nl: phraseSet(`mm, mhm, hm, ah, ok, oké, okay, ja, jaja, goed, prima, precies, juist, klopt, eh`),
  hi: phraseSet(`हाँ, हां, हम्म, ठीक, ठीक है, अच्छा, जी, जी हाँ, जी हां, ok, okay`),
  ja: phraseSet(`はい, うん, ええ, そう, なるほど, そうですね, そうですか, ああ, へえ, えっと`),
  zh: phraseSet(`嗯, 哦, 啊, 对, 是, 是的, 好, 好的, 行, 明白, 知道了`),
};

/** Said while the agent says goodbye; no reason to stay on the line. */
const FAREWELLS: PhrasesByLanguage = {
  en: phraseSet(`bye, bye-bye, bye now, goodbye, good bye, thanks, thanks a lot, thank you, thank you so much, so much,
    thank you very much, very much, you too, same to you, good night, good day, have a nice day, have a good day,
    have a good one, take care, see you, see you then, see you soon, talk to you later, cheers`),
  de: phraseSet(`tschüss, tschüs, danke, danke schön, vielen dank, auf wiederhören, auf wiedersehen, bis dann, bis bald,
    ebenfalls, gleichfalls, ihnen auch, schönen tag noch, schönen tag`),
  fr: phraseSet(`au revoir, merci, merci beaucoup, bonne journée, bonne soirée, à bientôt, salut, vous aussi, de même`),
  es: phraseSet(
    `adiós, gracias, muchas gracias, hasta luego, hasta pronto, igualmente, chao, buen día, que tenga buen día`,
  ),
  pt: phraseSet(`adeus, tchau, obrigado, obrigada, muito obrigado, muito obrigada, até logo, igualmente, bom dia`),
  it: phraseSet(`arrivederci, grazie, grazie mille, ciao, buona giornata, buona serata, altrettanto, a presto`),
  nl: phraseSet(`doei, dag, dank je, dank je wel, dank u, dank u wel, bedankt, tot ziens, fijne dag, insgelijks`),
  hi: phraseSet(`धन्यवाद, शुक्रिया, नमस्ते, अलविदा, फिर मिलेंगे`),
  ja: phraseSet(`ありがとう, ありがとうございます, ありがとうございました, 失礼します, さようなら, では, また`),
  zh: phraseSet(`再见, 拜拜, 谢谢, 谢谢你, 谢谢您, 多谢`),
};

/** Said while the agent greets, often because both start at once; no reason to stop greeting. */
const GREETINGS: PhrasesByLanguage = {
  en: phraseSet(`hello, hi, hey, hi there, hello there, hey there, good morning, good afternoon, good evening, speaking,
    this is he, this is she`),
  de: phraseSet('hallo, hi, guten tag, guten morgen, guten abend, tag, moin, servus, grüezi, ja bitte, bitte'),
  fr: phraseSet('allô, allo, bonjour, bonsoir, salut, oui allô'),
  es: phraseSet('hola, aló, diga, dígame, buenas, buenos días, buenas tardes, buenas noches'),
  pt: phraseSet('alô, olá, oi, está, estou, sim, bom dia, boa tarde, boa noite'),
  it: phraseSet('pronto, ciao, buongiorno, buonasera, salve'),
  nl: phraseSet('hallo, hoi, goedemorgen, goedemiddag, goedenavond, goedendag'),
  hi: phraseSet('हैलो, हेलो, नमस्ते, नमस्कार'),
  ja: phraseSet('もしもし, こんにちは, おはようございます, こんばんは'),
  zh: phraseSet('喂, 你好, 您好'),
};

const AT_THE_END = withAcknowledgements(FAREWELLS);
const AT_THE_OPENING = withAcknowledgements(GREETINGS);

const EXPECTED = { opening: AT_THE_OPENING, middle: ACKNOWLEDGEMENTS, ending: AT_THE_END } as const;

const WITHOUT_SPACES = new Set(['ja', 'zh']);
/** Units (words, or characters where there are no spaces) of the longest phrase above. */
const LONGEST_PHRASE = 11;

/** One of these stops the agent at once, however short. */
const STOPS: PhrasesByLanguage = {
  en: phraseSet('stop, wait, no, nope, hold, cancel, hey, quiet'),
  de: phraseSet('stopp, stop, halt, warte, warten, nein, moment, falsch'),
  fr: phraseSet('stop, arrête, arrêtez, attends, attendez, non'),
  es: phraseSet('para, pare, alto, espera, espere, no, stop'),
  pt: phraseSet('para, pare, espera, espere, não, stop'),
  it: phraseSet('ferma, fermo, aspetta, aspetti, no, stop, basta'),
  nl: phraseSet('stop, wacht, nee, ho'),
  hi: phraseSet('रुको, रुकिए, नहीं, बस'),
  ja: phraseSet('待って, ちょっと待って, 違う, 違います, いいえ, ストップ, やめて'),
  zh: phraseSet('停, 等等, 等一下, 不, 不是, 不对, 别'),
};

export interface OverlapContext {
  language: string;
  /** The agent is opening or ending the call: greetings or farewells do not stop it. */
  part: 'opening' | 'middle' | 'ending';
  /** More words may follow: the start of a phrase ("I …", for "I see") may become an acknowledgement. */
  goesOn: boolean;
}

/** Classifies words over the agent. */
export function classifyOverlap(text: string, { language, part, goesOn }: OverlapContext): OverlapWords {
  const words = wordsOf(text);
  if (words.length === 0) return 'none';
  const base = baseLanguage(language);
  const phrases = phrasesOf(EXPECTED[part], base);
  const units = unitsOf(words, base);
  for (let index = 0; index < units.length;) {
    const length = phraseAt(units, index, phrases, base);
    if (length === 0) {
      const rest = units.slice(index).join(jointOf(base)) + jointOf(base);
      return goesOn && [...phrases].some((phrase) => phrase.startsWith(rest)) ? 'acknowledgement' : 'real';
    }
    index += length;
  }
  return 'acknowledgement';
}

/** Whether a text contains only acknowledgements. */
export function isAcknowledgement(text: string, language: string): boolean {
  return classifyOverlap(text, { language, part: 'middle', goesOn: false }) === 'acknowledgement';
}

/** Whether a text contains a word that stops the agent, however short. */
export function holdsStop(text: string, language: string): boolean {
  const base = baseLanguage(language);
  const words = wordsOf(text);
  const stops = phrasesOf(STOPS, base);
  if (!WITHOUT_SPACES.has(base)) return words.some((word) => stops.has(word));
  return [...stops].some((stop) => words.join('').includes(stop));
}

/**
 * Whether interim words suffice to be sure that the user speaks: two, or one that always means it; three over the opening,
 * because a "hello" is easily taken for "to" and "no" before it is heard whole.
 */
export function isTelling(text: string, { language, part }: Pick<OverlapContext, 'language' | 'part'>): boolean {
  const base = baseLanguage(language);
  const words = wordsOf(text);
  if (part === 'opening') return unitsOf(words, base).length >= (WITHOUT_SPACES.has(base) ? 6 : 3);
  const stops = phrasesOf(STOPS, base);
  if (WITHOUT_SPACES.has(base)) {
    const letters = words.join('');
    return letters.length >= 4 || [...stops].some((stop) => letters.startsWith(stop));
  }
  return words.length >= 2 || holdsStop(text, language);
}

export function holdsFarewell(text: string, language: string): boolean {
  const base = baseLanguage(language);
  const farewells = phrasesOf(FAREWELLS, base);
  const units = unitsOf(wordsOf(text), base);
  return units.some((_unit, index) => phraseAt(units, index, farewells, base) > 0);
}

/** For unknown languages: the acknowledgements or stops of all languages. */
function ofAll(lists: PhrasesByLanguage): ReadonlySet<string> {
  const known = ALL.get(lists) ?? new Set(Object.values(lists).flatMap((phrases) => [...phrases]));
  ALL.set(lists, known);
  return known;
}

const ALL = new Map<PhrasesByLanguage, ReadonlySet<string>>();

function withAcknowledgements(lists: PhrasesByLanguage): PhrasesByLanguage {
  return Object.fromEntries(
    Object.entries(lists).map(([language, phrases]) => [
      language,
      new Set([...phrases, ...(ACKNOWLEDGEMENTS[language] ?? [])]),
    ]),
  );
}

function phrasesOf(lists: PhrasesByLanguage, base: string): ReadonlySet<string> {
  if (base === 'multi') return ofAll(lists);
  return (Object.hasOwn(lists, base) ? lists[base] : lists['en']) ?? ENGLISH;
}

/** Length in units of the longest phrase at `index`; 0 = none. */
function phraseAt(units: readonly string[], index: number, phrases: ReadonlySet<string>, base: string): number {
  let length = Math.min(LONGEST_PHRASE, units.length - index);
  while (length > 0 && !phrases.has(units.slice(index, index + length).join(jointOf(base)))) length--;
  return length;
}

/** Words of a language, or characters if it has no spaces. */
export function unitsOf(words: readonly string[], base: string): readonly string[] {
  return WITHOUT_SPACES.has(base) ? [...words.join('')] : words;
}

/** The separator between two units. */
export function jointOf(base: string): string {
  return WITHOUT_SPACES.has(base) ? '' : ' ';
}
