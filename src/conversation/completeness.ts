import { baseLanguage, wordSet, wordsOf } from './words.js';

/** How complete words are as a turn, from the words alone: a sentence that ends in "and" goes on. */

/** Words that a turn hardly ever ends with: conjunctions, prepositions, articles, words of hesitation. */
const OPEN_ENDINGS: Readonly<Record<string, ReadonlySet<string>>> = {
  en: wordSet(`and but or because cause if when while which who whose than as with without for from to of at into between
    until since the a an my your our his their its i'm i'd i'll i've we're we'd we'll we've it's that's there's they're
    i we he she they very um uh er erm uhm`),
  de: wordSet(`und aber oder weil wenn dass als ob für mit ohne von vom zu zum zur bei beim um im ins der die das den dem des
    ein eine einen einem einer mein meine unser unsere ihr ihre ich wir äh ähm hm also sehr`),
  fr: wordSet(`et mais ou parce que qui dont si quand pour avec sans de du des à au aux en dans sur par le la les un une mon ma
    mes votre notre je j'ai c'est il elle nous très euh`),
  es: wordSet(`y e pero o porque que si cuando para por con sin de del a al en sobre el la los las un una unos mi mis su sus
    nuestro es muy eh este`),
  pt: wordSet(`e mas ou porque que se quando para por com sem de do da dos das em no na a o os as um uma meu minha nosso seu
    muito eu é`),
  it: wordSet(`e ma o perché che se quando per con senza di del della dei a al alla da in nel nella su il lo la i gli le un
    uno una mio mia nostro molto è ehm`),
  nl: wordSet(`en maar of omdat als dat wanneer voor met zonder van naar bij in op de het een mijn onze zijn haar ik we wij
    heel eh ehm dus`),
  hi: wordSet(`और लेकिन या क्योंकि अगर कि का के की को से में पर मेरा मेरी मेरे`),
};

/** English words that may end a turn ("hold on", "I think so") but often do not. */
const HALF_OPEN =
  wordSet(`so not on in over about by just like maybe also some any that this these those is are was were am be
  been do does did have has had can could would should will may might must`);
/** After one of these, an auxiliary ends a short answer: "yes, it is". */
const SUBJECTS = wordSet('i you he she it we they there that this');
const AUXILIARIES = wordSet('is are was were am do does did have has had can could would should will may might must');

const SHORT_ANSWERS =
  wordSet(`yes no yeah yep nope sure okay ok right correct exactly thanks goodbye bye hello hi hey stop
  cancel ja nein doch danke hallo tschüss oui non merci bonjour sí gracias hola sim não obrigado obrigada olá sì grazie ciao
  pronto nee bedankt हाँ नहीं はい いいえ 是 是的 不 不是 好 好的`);

const DIGIT_WORDS =
  wordSet(`zero oh one two three four five six seven eight nine double triple dash dot null eins zwei zwo drei
  vier fünf sechs sieben acht neun zéro un deux trois quatre cinq six sept huit neuf cero uno dos tres cuatro cinco seis siete
  ocho nueve um dois três quatro sete oito nove due tre quattro cinque sei sette otto nove nul een twee drie vijf zes zeven
  negen`);

/** 0 = surely goes on, 1 = surely done. `digits`: the words end in digits being dictated. */
export function completenessOf(text: string, language: string, digits: boolean): number {
  const words = wordsOf(text);
  const last = words.at(-1);
  if (last === undefined) return 0.3;
  if (/[?!？！]["'”’)]*\s*$/.test(text)) return 0.95;
  const base = baseLanguage(language);
  if (Object.hasOwn(OPEN_ENDINGS, base) && OPEN_ENDINGS[base]?.has(last) === true) return 0.1;
  if (digits) return 0.45;
  if (/[,;:–—-]\s*$/.test(text)) return 0.3;
  if (words.length <= 3 && words.every((word) => SHORT_ANSWERS.has(word))) return 0.95;
  if (base === 'en' && HALF_OPEN.has(last) && !isShortAnswer(words)) return 0.4;
  return 0.65 + (/[.。]\s*$/.test(text) ? 0.15 : 0) + (words.length >= 4 ? 0.1 : 0);
}

/** "For four" is the size of a party, "five five five" a number being dictated. `expected`: the agent asked for one. */
export function endsInDigits(text: string, expected: boolean): boolean {
  const words = wordsOf(text);
  const last = words.at(-1);
  if (last === undefined || !isDigits(last)) return false;
  return expected || isDigits(words.at(-2)) || /\d{3,}$/.test(last);
}

function isDigits(word: string | undefined): boolean {
  return word !== undefined && (DIGIT_WORDS.has(word) || /^\d+(?:-\d+)*$/.test(word));
}

function isShortAnswer(words: readonly string[]): boolean {
  return AUXILIARIES.has(words.at(-1) ?? '') && SUBJECTS.has(words.at(-2) ?? '');
}
