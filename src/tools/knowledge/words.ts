import { baseLanguage } from '../../base/language.js';
/** Scripts without spaces, or with joined particles, and with short words: indexed by character pairs. */
const PAIRED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]+/gu;
/** Scripts without spaces and with long words: segmented by a dictionary. */
const UNSPACED = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

const segmenters = new Map<string, Intl.Segmenter>();

/** Inserts spaces at word boundaries, also in scripts without spaces. Used for both texts and queries. */
export function spaced(text: string): string {
  return text
    .normalize('NFKC')
    .replace(PAIRED, (run) => ` ${pairs(run).join(' ')} `)
    .replace(UNSPACED, (run) => ` ${divided(run).join(' ')} `);
}

/** The words of a spaced text, lower case and without the accents that the index ignores. */
export function wordsOf(text: string): string[] {
  return withoutAccents(spaced(text).toLowerCase()).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

/** Only Latin, Greek and Cyrillic accents: the marks of other scripts are vowels. */
function withoutAccents(text: string): string {
  return text
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '')
    .normalize('NFC');
}

function pairs(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => (characters[index] ?? '') + character);
}

function divided(run: string): string[] {
  const language = /\p{Script=Thai}/u.test(run)
    ? 'th'
    : /\p{Script=Lao}/u.test(run)
      ? 'lo'
      : /\p{Script=Khmer}/u.test(run)
        ? 'km'
        : 'my';
  let segmenter = segmenters.get(language);
  if (segmenter === undefined) {
    segmenter = new Intl.Segmenter(language, { granularity: 'word' });
    segmenters.set(language, segmenter);
  }
  return [...segmenter.segment(run)].map(({ segment }) => segment);
}

/**
 * Stop words by language: articles, pronouns, auxiliary verbs, and typical beginnings of spoken questions. Without
 * accents, as in the index.
 */
const STOP_WORDS: Readonly<Record<string, string>> = {
  en:
    'a an and any are as at be been but by can could d did do does don for from give got had has have he hello her hi him his how i if in ' +
    'into is it its just know like ll m may me might my need not of off on or our out please re s say she should so some t ' +
    'tell than thank thanks that the their them then there these they this those to too um uh us ve very want was we were what ' +
    'when where which who whom whose why will with would you your about also am hey okay ok well yes no there',
  de:
    'aber alle als am an auch auf aus bei bin bis bist bitte da danke dann das dass dein deine dem den denn der des die dir doch du ein eine ' +
    'einem einen einer eines er es etwas euch euer fur gibt haben habe hat hatte hallo ich ihr ihre im in ist ja kann kannst konnen ' +
    'konnte machen man mein meine mich mir mit mochte muss nach nein nicht noch nun nur ob oder sagen sehr sein seine sich sie sind ' +
    'so soll um und uns unser vom von vor wann war warum was welche welcher welches wenn wer werden wie will wir wird wo wurde zu zum zur ' +
    'uber ahm',
  fr:
    'a ai alors au aux avec avez avons bonjour c ce cela ces cet cette ceci combien comme comment d dans de des dites donc du elle elles en est ' +
    'et etes etre euh eux il ils j je l la le les leur leurs lui m ma mais me merci mes moi mon n ne non nos notre nous on ont ou ' +
    'oui par pas peut peux plait pour pouvez qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sur t ta te tes ' +
    'toi ton tu un une vos votre vous y est-ce avoir',
  es:
    'a al algo como con cual cuales cuando cuanto cuanta cuantos de del desde donde e el ella ellas ellos en entre era es esa ese eso esta ' +
    'estan este esto estos fue gracias ha han hasta hay hola la las le les lo los mas me mi mis muy no nos o para pero por porque ' +
    'pueda puede puedo que quien quiero se ser si sin sobre son su sus tambien te tiene tienen tengo tu tus u un una unas uno unos usted ustedes y ya yo favor',
  it:
    'a ad ai al alla alle anche avete c che chi ci ciao come con cosa cui d da dal dalla degli dei del dell della delle di dove e ed era essere fa ' +
    'gli grazie ha hanno ho i il in io l la le lei lo loro ma me mi mia mio ne nel nella no noi non nostro o per perche piu posso puo ' +
    'quale quali quando quanto quanti che questa questo qui s se sei si sia siamo siete sono su sua sul sulla suo ti tra tu un una uno vi voi vorrei favore',
  pt:
    'a ao aos as ate com como da das de dela dele do dos e ela elas ele eles em era essa esse esta estao este eu foi ha isso isto ja la lhe ' +
    'mais mas me meu minha muito na nao nas no nos nossa nosso o obrigado obrigada ola os ou para pela pelo por porque posso pode podem qual quais quando quanto ' +
    'que quem quero se sem ser seu sua sao sobre tambem te tem tenho um uma voce voces favor',
  nl:
    'aan alle als ben bij dan dank dat de deze die dit doen door dus een en er geen graag had hallo heb hebben heeft het hij hoe hun ik in is ja ' +
    'je jij jouw jullie kan kun kunnen kunt maar mag me meer met mij mijn moet na naar nee niet nog nu of om ons onze ook op over te ' +
    'tot u uit uw van veel voor waar waarom wanneer was wat we welke wie wij wil worden wordt ze zich zij zijn zo zou',
  pl:
    'a ale bardzo bez bo byc byl byla bylo ci co czy dla do dzien dobry dziekuje gdzie i ich ile ja jak jaka jaki jakie jego jej jest jestem juz kiedy kto ktora ' +
    'ktore ktory ma macie mam mi mnie moge moj moja mozna na nie o od ona one oni oraz po prosze przez sa sie sa swoj ta tak tam te tego ten to ' +
    'tu w we wy z za ze',
  sv:
    'alla att av bara da de dem den denna det detta dig din du eller en er ett finns for fran far ha han har hej hon hur i inte ja jag kan ' +
    'man med mig min mitt mot ni nu nej nar och om oss pa sa sig sin ska som tack till under upp ut vad var vara vi vid vilka vilken vill ar',
  da:
    'af alle at bare da de dem den denne der det dig din du efter eller en er et for fra far ga har hej hun han hvad hvem hvis hvor hvordan hvornar hvorfor i ' +
    'ikke ja jeg kan man med mig min mit nar nej nu og om op os pa sig skal som tak til ud var vi vil ved',
  no:
    'alle at av bare da de dem den denne der det deg din du eller en er et for fra far ha har hei hun han hva hvem hvis hvor hvordan hvorfor i ' +
    'ikke ja jeg kan man med meg min mitt nar nei nei na og om opp oss pa seg skal som takk til ut var vi vil ved',
  tr:
    'acaba ama bana bazi ben beni benim bir biz bu bunu da daha de diye en gibi hangi hic icin ile ise kac kim lutfen mi mu merhaba musunuz misiniz nasil ' +
    'ne neden nerede nereye ne o olan olarak onu onlar sen siz sizin su tesekkurler ve var veya ya yok zaman',
  ru:
    'а без бы был была были было быть в вам вас вот все вы где да для до его ее если есть еще же за здравствуйте и из или им их к как какая какие какой ' +
    'когда который кто ли меня мне мои мой мы на нам нас не нет но о об он она они от по пожалуйста при с сколько спасибо так такой там то ' +
    'тоже только у уже чего чем что чтобы это этот я у',
};

const sets = new Map<string, ReadonlySet<string>>();

/** The stop words of a language tag such as `en-GB`; of all languages for `multi`; none for one that is not listed. */
export function stopWords(language: string): ReadonlySet<string> {
  const base = textLanguage(language);
  let words = sets.get(base);
  if (words === undefined) {
    const texts = base === 'multi' ? Object.values(STOP_WORDS) : [STOP_WORDS[base] ?? ''];
    words = new Set(texts.join(' ').split(' '));
    sets.set(base, words);
  }
  return words;
}

/** The base language whose stop words and stems a text has; Norwegian (`no`) for `nb` and `nn`. */
export function textLanguage(language: string): string {
  const base = baseLanguage(language);
  return base === 'nb' || base === 'nn' ? 'no' : base;
}
