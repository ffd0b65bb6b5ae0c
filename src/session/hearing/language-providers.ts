import { baseLanguage } from '../../base/language.js';
import { reasonOf } from '../../base/errors.js';
import type { SpeechHints, SttProvider } from '../../providers/stt/stt.js';
import type { TtsProvider } from '../../providers/tts/tts.js';
import type { Recogniser } from './recogniser.js';
import type { SessionContext } from '../session-context.js';
import type { Voice } from '../speech/voice.js';

/** The recogniser, the voice and the hints for one language. */
export interface LanguageProviders {
  stt: SttProvider;
  /** Hints for the recogniser. */
  hints: SpeechHints;
  tts: TtsProvider;
  voiceId: string | null;
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
}

/** The languages that a session may change to. */
export interface Languages {
  /** The providers of a language, or the reason why there are none. */
  find(language: string): Promise<LanguageProviders | { missing: string }>;
  /** Whether the language follows the user's (`multi`). */
  follows: boolean;
}

type LanguageSwitchContext = Pick<SessionContext, 'clock' | 'emit' | 'fault'>;

export interface LanguageSwitchOptions {
  languages: Languages | null;
  /** The current language. */
  current: () => string;
  recogniser: Pick<Recogniser, 'use'>;
  voice: Pick<Voice, 'use'>;
}

/**
 * Changes the language that a session recognises and speaks: when its model requests it, or when the user speaks
 * another language.
 */
export class LanguageSwitch {
  readonly #context: LanguageSwitchContext;
  #options: LanguageSwitchOptions;
  /** The latest change; an earlier one that completes later has no effect. */
  #asked = 0;
  /** Languages that the user spoke and that are not available. */
  readonly #missing = new Set<string>();
  #closed = false;

  constructor(context: LanguageSwitchContext, options: LanguageSwitchOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Other languages from now on; a change that is under way has no effect. */
  use(languages: Languages | null): void {
    this.#options = Object.assign({}, this.#options, { languages });
    this.#asked++;
    this.#missing.clear();
  }

  /** The model requests another language: the call's `tool.result` says whether it is available. */
  switch(callId: string, language: string): void {
    void this.#switch(callId, language);
  }

  /** The user has spoken: if the language follows theirs, it may change now. */
  heard(text: string): void {
    const { languages, current } = this.#options;
    if (languages?.follows !== true) return;
    const language = detectLanguage(text);
    if (language === null || this.#missing.has(language) || baseLanguage(language) === baseLanguage(current())) return;
    void this.#follow(language);
  }

  /** May be called twice. */
  close(): void {
    this.#closed = true;
  }

  async #switch(callId: string, language: string): Promise<void> {
    const missing = await this.#change(language);
    if (this.#closed) return;
    const content =
      missing === null
        ? `Changed. The user is heard and you are spoken in ${language} from now on: answer in it.`
        : `Not changed: ${missing}. The conversation goes on as it was; tell the user so.`;
    this.#context.emit({ type: 'tool.result', callId, ok: missing === null, content });
  }

  async #follow(language: string): Promise<void> {
    const missing = await this.#change(language);
    if (missing === null || this.#closed) return;
    this.#missing.add(language);
    this.#context.fault('language.missing', missing);
  }

  /** Null = the language is active; otherwise why not. */
  async #change(language: string): Promise<string | null> {
    const { clock, emit } = this.#context;
    const { languages, recogniser, voice } = this.#options;
    if (languages === null) return 'this session has one language only';
    const order = ++this.#asked;
    let found: LanguageProviders | { missing: string };
    try {
      // Virtual time stands still meanwhile: this is work of the machine, not of the conversation.
      found = await clock.settle(languages.find(language), clock.nowMs());
    } catch (error) {
      found = { missing: reasonOf(error) };
    }
    if ('missing' in found) return found.missing;
    if (this.#closed || order !== this.#asked) return 'another change came first';
    const { stt, hints, ...spoken } = found;
    recogniser.use({ stt, language, hints });
    voice.use({ ...spoken, language });
    emit({ type: 'language', language });
    return null;
  }
}

/**
 * The language of a short text, from its script or else its most frequent words. Null if undecided: a name, a number,
 * one word that several languages share. docs/languages.md lists what it detects.
 */
export function detectLanguage(text: string): string | null {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  if (letters === 0) return null;
  const script = SCRIPTS.find(({ pattern }) => (text.match(pattern)?.length ?? 0) * 2 > letters);
  if (/[\u3040-\u30ff]/u.test(text)) return 'ja';
  if (script !== undefined) return script.among(text);
  return byWords(text);
}

interface Script {
  pattern: RegExp;
  /** Tells the languages of this script apart. */
  among: (text: string) => string;
}

const always = (language: string) => (): string => language;

const SCRIPTS: readonly Script[] = [
  { pattern: /\p{Script=Hangul}/gu, among: always('ko') },
  { pattern: /\p{Script=Han}/gu, among: always('zh') },
  { pattern: /\p{Script=Devanagari}/gu, among: always('hi') },
  { pattern: /\p{Script=Greek}/gu, among: always('el') },
  { pattern: /\p{Script=Hebrew}/gu, among: always('he') },
  { pattern: /\p{Script=Thai}/gu, among: always('th') },
  { pattern: /\p{Script=Bengali}/gu, among: always('bn') },
  { pattern: /\p{Script=Gurmukhi}/gu, among: always('pa') },
  { pattern: /\p{Script=Gujarati}/gu, among: always('gu') },
  { pattern: /\p{Script=Oriya}/gu, among: always('or') },
  { pattern: /\p{Script=Tamil}/gu, among: always('ta') },
  { pattern: /\p{Script=Telugu}/gu, among: always('te') },
  { pattern: /\p{Script=Kannada}/gu, among: always('kn') },
  { pattern: /\p{Script=Malayalam}/gu, among: always('ml') },
  { pattern: /\p{Script=Sinhala}/gu, among: always('si') },
  { pattern: /\p{Script=Georgian}/gu, among: always('ka') },
  { pattern: /\p{Script=Armenian}/gu, among: always('hy') },
  { pattern: /\p{Script=Ethiopic}/gu, among: always('am') },
  { pattern: /\p{Script=Khmer}/gu, among: always('km') },
  { pattern: /\p{Script=Lao}/gu, among: always('lo') },
  { pattern: /\p{Script=Myanmar}/gu, among: always('my') },
  { pattern: /\p{Script=Tibetan}/gu, among: always('bo') },
  {
    pattern: /\p{Script=Arabic}/gu,
    among: (text) => (/[ٹڈڑںے]/u.test(text) ? 'ur' : /[پچژگ]/u.test(text) ? 'fa' : 'ar'),
  },
  {
    pattern: /\p{Script=Cyrillic}/gu,
    among: (text) => (/[іїєґ]/iu.test(text) ? 'uk' : /[ђћџљњј]/iu.test(text) ? 'sr' : 'ru'),
  },
];

/** Frequent short words of each language. A word of several languages does not decide alone. */
const WORDS: Readonly<Record<string, string>> = {
  en: 'the a an and or but is are was am i you he she it we they my your this that of to in on for with have has do does can could would will please yes what where when how not want need hello thank thanks at there from about table speak',
  es: 'el la los las un una unos y o pero es son está estoy yo usted tú él ella nosotros mi su este esta eso de del en con para por que qué no sí quiero quisiera necesito hola gracias favor dónde cuándo cómo tengo tiene puede puedo hablar muy buenos días mesa',
  fr: "le la les un une des et ou mais est sont suis je vous tu il elle nous mon ma votre ce cette de du en dans avec pour sur que qui ne pas oui voudrais veux bonjour merci plaît où quand comment j'ai c'est avez avoir peut puis parler très deux table réserver",
  de: 'der die das ein eine einen und oder aber ist sind war ich sie du er wir mein ihr dieser dieses von zu im in mit für auf nicht ja nein möchte will hätte gern guten tag danke bitte wo wann wie habe hat kann können sprechen sehr heute',
  it: "il lo la gli le un una e o ma è sono io lei tu noi mio suo questo questa di del in con per che non sì vorrei voglio buongiorno grazie favore dove quando come ho ha può posso parlare molto c'è prenotare tavolo",
  pt: 'o os as um uma e ou mas é são está estou eu você ele ela nós meu seu este esta isso de do da em no na com para por que não sim quero queria preciso olá obrigado obrigada favor onde quando como tenho tem pode posso falar muito bom dia mesa',
  nl: 'de het een en of maar is zijn was ik u jij je hij zij wij mijn uw dit dat van te in op met voor niet ja nee wil graag zou goedendag hallo dank bedankt alstublieft waar wanneer hoe heb heeft kan kunnen spreken zeer tafel',
  sv: 'en ett och eller men är var jag du han hon vi min din detta det den av till i på med för inte ja nej vill skulle hej tack snälla mig hjälpa här när hur har kan tala mycket',
  da: 'en et og eller men er var jeg du han hun vi min din dette det den af til i på med for ikke ja nej vil gerne hej tak mig hjælpe hvor hvornår hvordan har kan tale meget',
  no: 'en et og eller men er var jeg du han hun vi min din dette det den av til i på med for ikke ja nei vil gjerne hei takk meg hjelpe hvor når hvordan har kan snakke veldig',
  fi: 'ja tai mutta on ovat oli minä sinä hän me minun tämä se että ei kyllä haluaisin haluan hei kiitos missä milloin miten voinko voitte puhua hyvin',
  pl: 'i lub ale jest są był ja pan pani ty on ona my mój ten ta to w na z do dla nie tak chcę chciałbym chciałabym dzień dobry dziękuję proszę gdzie kiedy jak mam czy może mogę mówić bardzo się',
  cs: 'a nebo ale je jsou byl já vy ty on ona my můj ten ta to v na s do pro ne ano chci chtěl bych dobrý den děkuji prosím kde kdy jak mám může mohu mluvit velmi se',
  ro: 'un o și sau dar este sunt eu dumneavoastră tu el ea noi meu acest această de la în cu pentru pe că nu da vreau aș bună ziua mulțumesc rog unde când cum am are poate pot vorbi foarte',
  hu: 'a az egy és vagy de van volt én ön te ő mi ez azt hogy nem igen szeretnék akarok jó napot köszönöm kérem hol mikor hogyan lehet tud beszélni nagyon',
  tr: 've veya ama bir bu şu ben siz sen o biz benim sizin için ile de da mi mı değil evet hayır istiyorum merhaba teşekkürler lütfen nerede zaman nasıl var yok konuşmak çok',
  id: 'dan atau tetapi adalah saya anda kamu dia kami ini itu yang di ke dari untuk dengan tidak ya mau ingin halo terima kasih tolong mana kapan bagaimana ada bisa bicara sangat',
  vi: 'và hoặc nhưng là tôi bạn anh chị ông bà chúng này đó của ở cho với không vâng muốn xin chào cảm ơn làm đâu khi nào có thể nói rất một',
  ca: 'el la els les un una i o però és són sóc jo vostè tu ell ella nosaltres meu aquest aquesta de del en amb per què no sí vull voldria hola gràcies plau on quan com tinc té pot puc parlar molt',
};

let index: ReadonlyMap<string, readonly string[]> | null = null;

/** The languages in which a word is frequent. */
function languagesOf(word: string): readonly string[] {
  if (index === null) {
    const made = new Map<string, string[]>();
    for (const [language, words] of Object.entries(WORDS)) {
      for (const one of new Set(words.split(' '))) made.set(one, [...(made.get(one) ?? []), language]);
    }
    index = made;
  }
  return index.get(word) ?? [];
}

/** A word of one language counts 1, a word of several a share. */
function byWords(text: string): string | null {
  const words =
    text
      .toLowerCase()
      .normalize('NFC')
      .replaceAll('’', "'")
      .match(/[\p{L}\p{M}']+/gu) ?? [];
  const scores = new Map<string, number>();
  for (const word of words) {
    const languages = languagesOf(word);
    for (const language of languages) scores.set(language, (scores.get(language) ?? 0) + 1 / languages.length);
  }
  const [best, second] = [...scores].sort(([, one], [, other]) => other - one);
  if (best === undefined) return null;
  const [language, score] = best;
  const isClear = score >= 1.5 * (second?.[1] ?? 0) + 0.25;
  return isClear && score >= (words.length <= 2 ? 1 : 1.25) ? language : null;
}
