import { baseLanguage } from '../../base/language.js';
import { wordsOf } from '../language/words.js';

/**
 * The call status of a recorded announcement by the network or a company's switchboard: `failed`: the number does not
 * work; `busy`: no free line or agent; `no-answer`: the person cannot be reached, or the office is closed.
 */
export type AnnouncedEnd = 'failed' | 'busy' | 'no-answer';

/** Patterns over lower-case words with single spaces, without punctuation but with apostrophes. */
type Announcements = Readonly<Record<AnnouncedEnd, RegExp>>;

/**
 * Recognisers drop the short words of announcements: "the number you have dialed is in service" may lack any of them.
 */
const ENGLISH: Announcements = {
  failed: anyOf(
    /\bnumber (?:(?:that|you|you've|have|has|are) )*(?:dial|call|reach|tr(?:y|ied))[a-z0-9' ]{0,32}\b(?:not (?:currently |presently |a )?(?:in )?(?:service|working|valid|assigned|allocated|recognised|recognized|connected)|no longer (?:in )?(?:service|assigned|available|valid)|disconnected|out of service|does not exist|doesn't exist|incorrect|invalid|unallocated|changed)\b/,
    /\bcalls? (?:cannot|can't|can not|could not|couldn't) be completed as\b/,
    /\b(?:please )?check the number (?:and|you)\b/,
    /\bnot a (?:valid|working) (?:telephone |phone )?number\b/,
  ),
  busy: anyOf(
    /\b(?:all )?(?:of )?(?:our |the )?(?:circuits|lines|trunks) (?:are )?(?:currently |now |presently )?busy\b/,
    /\bnetwork (?:is )?(?:currently )?(?:busy|congested)\b/,
    /\b(?:calls? (?:cannot|can't|can not|could not|couldn't) be completed at|unable to complete your call)\b/,
    /\ball (?:of )?(?:our |the )?(?:[a-z]+ )?(?:representatives|agents|operators|associates|advisors|attendants)\b[a-z ]{0,24}\b(?:busy|assisting|helping|on (?:another|other))\b/,
  ),
  'no-answer': anyOf(
    /\b(?:person|party|customer|subscriber|user|mobile|phone|number)\b[a-z' ]{0,40}\b(?:switched off|turned off|out of (?:the )?(?:coverage|service area|range|reach)|cannot be reached|can't be reached|could not be reached|not reachable|unreachable|not in (?:the )?coverage)\b/,
    /\b(?:office|store|shop|branch|clinic|we) (?:is |are |'re )?(?:currently |now |presently )?closed\b/,
    /\bwe're (?:currently |now |presently )?closed\b/,
  ),
};

const BY_LANGUAGE: Readonly<Record<string, Announcements>> = {
  en: ENGLISH,
  de: {
    failed:
      /\bkein anschluss unter dieser (?:ruf)?nummer\b|\b(?:ruf)?nummer\b.*\b(?:nicht vergeben|nicht mehr vergeben|nicht gültig|ungültig|geändert)\b/,
    busy: /\balle (?:leitungen|mitarbeiter|plätze)\b.*\b(?:belegt|besetzt|im gespräch)\b|\bnetz\b.*\büberlastet\b/,
    'no-answer':
      /\b(?:teilnehmer|anschluss|gesprächspartner|rufnummer|person)\b.*\b(?:nicht erreichbar|nicht zu erreichen|ausgeschaltet)\b|\b(?:büro|praxis|geschäft)\b.*\bgeschlossen\b/,
  },
  fr: {
    failed:
      /\bnuméro\b.*\b(?:n'est (?:pas|plus) (?:attribué|en service|valide)|n'existe pas)(?=\s|$)|\bnuméro que vous avez (?:composé|demandé) n'est (?:pas|plus)\b/,
    busy: /\btoutes (?:nos|les) lignes\b.*\boccupées\b|\btous nos (?:conseillers|agents)\b.*\b(?:occupés|en ligne)\b|\bréseau\b.*\b(?:saturé|encombré)(?=\s|$)/,
    'no-answer':
      /\b(?:correspondant|abonné|personne)\b.*\bn'est pas joignable\b|\bbureaux? (?:est|sont) fermés?(?=\s|$)/,
  },
  es: {
    failed:
      /\bnúmero\b.*\b(?:no existe|no está asignado|no corresponde|fuera de servicio|no es válido)\b|\bno existe ninguna línea\b/,
    busy: /\btod[oa]s (?:nuestr[oa]s |l[oa]s )?(?:líneas|operadores|agentes)\b.*\bocupad[oa]s\b|\bred\b.*\b(?:saturada|congestionada)\b/,
    'no-answer':
      /\b(?:teléfono|móvil|usuario|abonado|persona)\b.*\b(?:apagado|fuera de cobertura|no se encuentra disponible)\b|\boficinas? (?:está|están) cerradas?\b/,
  },
  pt: {
    failed: /\bnúmero\b.*\b(?:não existe|não está atribuído|inexistente|não é válido)(?=\s|$)/,
    busy: /\btodas as (?:linhas|nossas linhas)\b.*\bocupadas\b|\btodos os (?:nossos )?(?:atendentes|operadores)\b.*\bocupados\b/,
    'no-answer':
      /\b(?:telemóvel|celular|número|assinante)\b.*\b(?:desligado|fora da área|fora de área|sem cobertura)\b/,
  },
  it: {
    failed: /\bnumero\b.*\b(?:inesistente|non è attivo|non è più attivo|non è valido|non esiste)\b/,
    busy: /\btutte le (?:nostre )?linee\b.*\boccupate\b|\btutti (?:i nostri )?operatori\b.*\boccupati\b/,
    'no-answer':
      /\b(?:cliente|utente|numero|persona)\b.*\b(?:non (?:è|sono) (?:al momento )?raggiungibil[ei]|spento)\b|\buffici sono chiusi\b/,
  },
  nl: {
    failed: /\b(?:nummer|telefoonnummer)\b.*\b(?:niet in gebruik|bestaat niet|niet toegewezen|ongeldig)\b/,
    busy: /\balle (?:lijnen|medewerkers)\b.*\b(?:bezet|in gesprek)\b/,
    'no-answer': /\b(?:abonnee|persoon|nummer)\b.*\b(?:niet bereikbaar|uitgeschakeld)\b|\bkantoor\b.*\bgesloten\b/,
  },
  hi: {
    failed: /नंबर (?:मौजूद नहीं|गलत|अमान्य|सेवा में नहीं)/,
    busy: /सभी लाइनें व्यस्त/,
    'no-answer': /पहुँच से बाहर|पहुंच से बाहर|स्विच ?ऑफ/,
  },
  ja: {
    failed: /(?:電話番号|番号)は.{0,6}(?:現在)?使われて(?:い|お)/,
    busy: /(?:大変|ただいま).{0,8}混み(?:合|あ)って/,
    'no-answer': /電源が入っていない|電波の届かない|本日の(?:営業|受付)は終了/,
  },
  zh: {
    failed: /(?:号码|您拨打的).{0,4}(?:是空号|不存在|有误|已停机)/,
    busy: /(?:线路|网络|坐席).{0,3}(?:繁忙|正忙)/,
    'no-answer': /已关机|不在服务区|无法接通/,
  },
};

const ENDS = ['failed', 'busy', 'no-answer'] as const satisfies readonly AnnouncedEnd[];

/**
 * The status of an announcement, in a language or in English, which networks use everywhere; null = not an
 * announcement.
 */
export function announcedEnd(text: string, language: string): AnnouncedEnd | null {
  const said = wordsOf(text).join(' ');
  const base = baseLanguage(language);
  const own = Object.hasOwn(BY_LANGUAGE, base) ? BY_LANGUAGE[base] : undefined;
  return ENDS.find((end) => ENGLISH[end].test(said) || own?.[end].test(said) === true) ?? null;
}

/** Sentences of announcements as hints for the recogniser. */
export const ANNOUNCEMENTS: readonly string[] = [
  'the number you have dialed is not in service',
  'the number you have reached has been disconnected or is no longer in service',
  'please check the number and dial again',
  'your call cannot be completed as dialed',
  'we are sorry all circuits are busy now will you please try your call again later',
  'all of our representatives are currently busy',
  'the subscriber you have called cannot be reached',
  'the mobile phone you are calling is switched off',
  'nobody is available to take your call at the moment',
  'our office is currently closed',
];

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'));
}
