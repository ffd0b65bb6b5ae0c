import * as speech from '../speech/agent-speech.js';
import type { Core, RunningAction } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import { beginEnding } from '../reply/ending.js';
import { cancelReply } from '../reply/reply.js';
import { dropSpeculation } from '../reply/early.js';
import { baseLanguage } from '../../base/language.js';

/**
 * The request not to be called again. Rules find explicit words and acknowledge them at once, without the model; the
 * model finds other requests.
 */
export const doNotCall: RunningAction = {
  kind: 'running',
  name: 'do_not_call',
  takesLine: false,
  isEnabled: (config) => config.doNotCall,
  tool: () => ({
    name: 'do_not_call',
    description:
      'Puts the number of the user on the do-not-call list. Use it when the user does not want to be called again or ' +
      'asks to be taken off a list, and not when a call merely comes at a bad time.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  }),
  start: (core) => noteDoNotCall(core, 'model'),
  resultAtOnce: () =>
    'Noted: the number will not be called again. Tell the user so in one short sentence, and say goodbye.',
};

/** Acknowledges a turn that explicitly asks not to be called again, and ends the call. Returns whether it was one. */
export function takesOffList(core: Core, text: string): boolean {
  if (!core.config.doNotCall || core.state.doNotCall || !asksNotToBeCalled(text, core.language)) return false;
  dropSpeculation(core, 'the end');
  cancelReply(core);
  noteDoNotCall(core, 'rule');
  if (core.isSilenced) return false; // somebody else speaks with the user
  speech.say(core, phrasesFor(core.language).doNotCall, { kind: 'goodbye' });
  beginEnding(core, { status: 'agent-ended', reversible: true, call: null });
  return true;
}

/** Adds the number to the do-not-call list, once. */
function noteDoNotCall(core: Core, by: 'rule' | 'model'): void {
  if (core.state.doNotCall) return;
  core.state.doNotCall = true;
  core.emit({ type: 'doNotCall', by });
}

/**
 * Explicit requests not to be called again. Only unambiguous ones match: "don't call me before nine" and "call me again
 * tomorrow" do not.
 */
const BY_LANGUAGE: Readonly<Record<string, readonly RegExp[]>> = {
  en: [
    /\b(?:take|remove|get|delete|strike) (?:me|my (?:phone )?number|us|our number) (?:off|from|out of) (?:of )?(?:your|the|this|that|all|any)(?: \w+){0,3} ?(?:lists?|database|records?|system)\b/,
    /\bput (?:me|my number|us) on (?:your|the|a) (?:do not|don't|no) call list\b/,
    /\b(?:do not|don't|dont|never|stop|quit) (?:ever )?(?:call|calling|phone|phoning|ring|ringing|contact|contacting) (?:me|us|here|this number)(?: up)?(?: (?:again|any ?more|ever again|anymore please))?(?= please\b| thank|$)/,
    /\b(?:do not|don't|dont|never) (?:ever )?(?:call|phone|ring|contact) (?:me |us |here |this number )?(?:ever )?(?:again|any ?more)\b(?! (?:before|until|till|at|on|in|after|tomorrow|today|this|unless|if))/,
    /\b(?:do not|don't|dont) want (?:you |anyone )?(?:to (?:call|phone|ring|contact) (?:me|us)|to be (?:called|contacted)|any (?:more )?(?:of these )?calls|(?:these|your) calls)(?! (?:before|until|till|at|on|after|tomorrow|today|back))/,
    /\bno more (?:of these )?calls\b/,
    /\blose my number\b/,
  ],
  es: [
    /\bno (?:me|nos) (?:llame|llamen|llames|vuelva a llamar|vuelvan a llamar|vuelvas a llamar|contacte|contacten)(?: (?:más|nunca|nunca más|otra vez|de nuevo))?(?= por favor|$)/,
    /\bno (?:me|nos) (?:llame|llamen|llames) (?:nunca )?más\b/,
    /\bno (?:vuelva|vuelvan|vuelvas) a (?:llamar|contactar)(?:me|nos)?\b/,
    /\bdejen? de llamar(?:me|nos)?\b/,
    /\b(?:quíte|quiten|saque|saquen|borre|borren|elimine|eliminen|bórr)\w*(?: \w+){0,3} (?:de|en) (?:su|la|esta|tu|sus|las) (?:listas?|base de datos)\b/,
    /\bno quiero (?:que (?:me|nos) llamen|que (?:me|nos) vuelvan a llamar|recibir (?:más|estas|sus) llamadas|más llamadas)\b/,
  ],
  fr: [
    /\bne (?:m'|me |nous )(?:appel|rappel|contact|téléphon)\w*(?: (?:plus|plus jamais|jamais))\b/,
    /\b(?:arrêtez|cessez|arrête) de (?:m'|me |nous )(?:appeler|rappeler|contacter|téléphoner)\b/,
    /\b(?:retirez|enlevez|supprimez|rayez|ôtez|effacez)(?:-moi|-nous)?(?: \w+){0,3} (?:de|sur) (?:votre|la|cette|vos|ta|toutes vos) (?:listes?|fichiers?|base)\b/,
    /\b(?:je )?ne (?:veux|souhaite|voudrais) plus (?:être (?:appelé|appelée|contacté|contactée|dérangé|dérangée)|recevoir (?:vos|d'|ces|de) ?(?:appels)|que vous (?:m'appeliez|me rappeliez))/,
    /\bplus jamais (?:m'appeler|me rappeler|d'appels)\b/,
  ],
  de: [
    /\b(?:rufen sie|ruft|ruf) (?:mich|uns|hier|diese nummer) (?:bitte )?(?:nicht mehr|nie wieder|nie mehr|nicht wieder|nicht noch einmal) an\b/,
    /\b(?:rufen sie|ruft|ruf) (?:bitte )?(?:nicht mehr|nie wieder|nie mehr|nicht wieder) (?:hier |bei mir |bei uns )?an\b/,
    /\b(?:nehmen|streichen|löschen|entfernen) sie (?:mich|uns|meine (?:telefon)?nummer|unsere nummer) (?:bitte )?(?:von|aus) (?:ihrer|der|dieser|ihren|allen) (?:\w+ )?(?:\w*liste|\w*listen|datenbank|kartei)\b/,
    /\bhören sie (?:bitte )?auf (?:mich |uns |hier )?anzurufen\b/,
    /\b(?:möchte|will|wollen|möchten) (?:nicht mehr|nie wieder|keine weiteren|nicht) (?:mehr )?(?:von ihnen )?(?:angerufen|kontaktiert) werden\b/,
    /\bkeine (?:anrufe mehr|weiteren anrufe)\b/,
  ],
  pt: [
    /\bnão (?:me|nos) (?:ligue|liguem|telefone|telefonem|contacte|contactem|contate|contatem|chame|chamem) (?:mais|nunca mais|outra vez|de novo)\b/,
    /\bnão (?:ligue|liguem|telefone|telefonem|volte a ligar|voltem a ligar)(?: para mim| para cá)? ?(?:mais|nunca mais)?(?= por favor|$)/,
    /\bnunca mais (?:me|nos) (?:ligue|liguem|telefone|telefonem|contacte)\b/,
    /\b(?:pare|parem|deixe|deixem) de (?:me |nos )?(?:ligar|telefonar|contactar|contatar)(?:-me|-nos)?\b/,
    /\b(?:tire|tirem|retire|retirem|remova|removam|apague|apaguem|exclua)(?:-me)?(?: \w+){0,3} (?:da|de|das) (?:sua|vossa|lista|suas|esta|tua) ?(?:listas?|base)?/,
    /\bnão quero (?:mais (?:chamadas|ligações|receber)|que (?:me|nos) (?:liguem|telefonem)|receber mais (?:chamadas|ligações))\b/,
  ],
  it: [
    /\bnon (?:mi|ci) (?:chiam|richiam|telefon|contatt)\w*(?: (?:più|mai più|di nuovo|un'altra volta))\b/,
    /\bnon (?:chiam|richiam|telefon|contatt)\w*mi (?:più|mai più)\b/,
    /\bnon (?:chiamate|chiami|telefonate|telefoni) (?:più|mai più)\b/,
    /\b(?:smettetela|smetta|smettete|smettila) di (?:chiamar|telefonar|contattar)\w*\b/,
    /\b(?:toglie|tolga|cancell|rimuov|elimin|toglietemi|mi tolga)\w*(?: \w+){0,3} (?:dalla|dalle|dal|dai) (?:vostra |sua |vostre |vostro )?(?:list[ae]|elenc\w+|database|archivi\w*)\b/,
    /\bnon voglio (?:più (?:essere (?:chiamat|contattat|disturbat)\w|ricevere (?:chiamate|telefonate)|chiamate)|che mi chiam\w+)/,
  ],
  nl: [
    /\b(?:bel|bellen|belt|belt u|bel me|bellen jullie) (?:mij|me|ons|hier|dit nummer)?(?: alstublieft| alsjeblieft)? ?(?:niet meer|nooit meer|nooit weer|niet nog een keer)\b/,
    /\b(?:haal|haalt u|haalt|verwijder|verwijdert u|schrap|schrapt u) (?:mij|me|ons|mijn nummer|mijn telefoonnummer) (?:alstublieft |alsjeblieft )?(?:van|uit) (?:uw|de|jullie|deze|je) (?:\w+ )?(?:\w*lijst|\w*lijsten|bestand|database)\b/,
    /\b(?:stop|houd op|hou op) met (?:mij |me |ons )?(?:te )?bellen\b/,
    /\bwil (?:niet meer|nooit meer) (?:door u |door jullie )?(?:gebeld|benaderd) worden\b/,
    /\bgeen telefoontjes meer\b/,
  ],
  hi: [
    /(?:मुझे|हमें|इस नंबर पर|यहाँ)?\s*(?:दोबारा|फिर से|फिर कभी|आगे से|अब|कभी)\s*(?:मुझे |हमें )?(?:फ़ोन|फोन|कॉल|call)\s*(?:मत|न|नहीं)\s*(?:कर|कीजि|करें)/,
    /(?:मुझे|हमें)\s+(?:फ़ोन|फोन|कॉल|call)\s*(?:मत|न)\s*(?:कर|कीजि)/,
    /(?:फ़ोन|फोन|कॉल|call)\s*करना\s*(?:बंद|छोड़)/,
    /(?:सूची|लिस्ट)\s*(?:से|में से)\s*(?:मुझे |मेरा (?:नाम|नंबर) |हमें )?(?:हटा|निकाल)/,
  ],
  ja: [
    /(?:もう|二度と|今後(?:は)?|これ以上).{0,8}(?:電話|連絡|かけて|掛けて).{0,8}(?:しないで|こないで|来ないで|やめて|いりません|いらない|結構)/u,
    /(?:電話|連絡)(?:を|は)?(?:もう)?(?:かけて|掛けて|して)?(?:こないで|来ないで|しないで)(?:ください|下さい|くれ|ほしい)/u,
    /(?:リスト|名簿|データベース|登録).{0,4}から.{0,8}(?:外して|削除|消して|はずして|除いて)/u,
  ],
  zh: [
    /(?:不要|别|請不要|请不要|不用|請別|请别|不准|停止).{0,4}(?:再)?(?:给我|給我|跟我|向我)?.{0,2}(?:打电话|打電話|打来|打來|来电|來電|打给我|打給我|联系我|聯繫我|骚扰我|騷擾我)/u,
    /(?:把)?(?:我|我的(?:号码|號碼|电话|電話)).{0,4}(?:从|從|在).{0,8}(?:名单|名單|列表|数据库|資料庫|清单|清單).{0,6}(?:删除|刪除|移除|去掉|拿掉|除名|划掉)/u,
    /从.{0,6}(?:名单|列表|清单).{0,4}(?:删除|移除|去掉)/u,
  ],
};

/** With one of these the request is temporary or conditional, so the model handles it. */
const CONDITIONS: Readonly<Record<string, RegExp>> = {
  en: /\b(?:before|until|till|unless|during|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|at (?:night|work|home|this (?:hour|time))|so (?:early|late)|today|tonight|this (?:week|morning|evening))\b/,
  es: /\b(?:antes de|hasta|hoy|por la (?:noche|mañana)|tan (?:tarde|temprano)|a (?:esta hora|estas horas)|mientras)\b/,
  fr: /(?:\bavant\b|jusqu'|\baujourd'hui\b|\bce (?:soir|matin)\b|\bsi (?:tôt|tard)\b|\bà cette heure\b|\bpendant\b)/,
  de: /\b(?:vor|bis|heute|so (?:früh|spät)|um diese zeit|während|abends|morgens|nachts|sonntags)\b/,
  pt: /(?:\bantes d|\baté\b|\bhoje\b|\bà noite\b|\bde manhã\b|\btão (?:cedo|tarde)\b|\ba esta hora\b|\benquanto\b)/,
  it: /(?:\bprima d|\bfino a|\boggi\b|\bdi (?:sera|mattina|notte)\b|\bcosì (?:presto|tardi)\b|\ba quest'ora\b|\bmentre\b)/,
  nl: /\b(?:voor|tot|vandaag|zo (?:vroeg|laat)|op dit tijdstip|'s (?:avonds|ochtends|nachts)|terwijl)\b/,
  hi: /(?:से पहले|तक|आज|रात को|सुबह|इस समय)/,
  ja: /(?:まで|今日|夜|朝|この時間|前に)/u,
  zh: /(?:之前|以前|今天|晚上|早上|这个时间|這個時間|直到)/u,
};

/** Whether a text explicitly asks not to be called again, in a language or in English. */
export function asksNotToBeCalled(text: string, language: string): boolean {
  const words = text
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll('’', "'")
    .replaceAll(/[.,;:!?…¡¿"。、，！？]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return [...new Set([baseLanguage(language), 'en'])].some((base) => {
    const { phrases, condition } = rulesOf(base);
    return phrases.some((phrase) => phrase.test(words)) && condition?.test(words) !== true;
  });
}

interface Rules {
  phrases: readonly RegExp[];
  condition: RegExp | null;
}

const compiled = new Map<string, Rules>();

function rulesOf(base: string): Rules {
  const known = compiled.get(base);
  if (known !== undefined) return known;
  const condition = Object.hasOwn(CONDITIONS, base) ? CONDITIONS[base] : undefined;
  const rules = {
    phrases: (Object.hasOwn(BY_LANGUAGE, base) ? (BY_LANGUAGE[base] ?? []) : []).map(inAllScripts),
    condition: condition === undefined ? null : inAllScripts(condition),
  };
  compiled.set(base, rules);
  return rules;
}

/** Makes `\b` and `\w` work with letters of any script: in a plain expression "più" does not end at a word boundary. */
function inAllScripts({ source }: RegExp): RegExp {
  const letter = String.raw`[\p{L}\p{M}\p{N}]`;
  const edge = `(?:(?<!${letter})(?=${letter})|(?<=${letter})(?!${letter}))`;
  return new RegExp(source.replaceAll(String.raw`\b`, edge).replaceAll(String.raw`\w`, letter), 'u');
}
