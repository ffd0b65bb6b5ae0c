/** What the agent has asked for, as far as it determines how an answer ends. */
export interface AnswerKind {
  kind: 'digits' | 'letters' | 'code' | 'address' | 'date' | 'place';
  /** Possible numbers of digits or characters of a complete answer; null = any. */
  whole: readonly number[] | null;
}

/** Lengths of phone numbers without and with country code. */
export const PHONE = [7, 10, 11, 12];
export const CARD = [15, 16];

interface Question extends AnswerKind {
  pattern: RegExp;
}

/** The more specific first. */
const QUESTIONS: readonly Question[] = [
  { pattern: /e-?mail|courriel|correo|メール|邮箱|郵箱|ईमेल/iu, kind: 'address', whole: null },
  {
    pattern:
      /\bborn\b|birth|geburt|geboren|naissance|\bné\(?e?\)? le|nacimiento|nascimento|nascita|geboorte|生年月日|出生|जन्म/iu,
    kind: 'date',
    whole: null,
  },
  { pattern: /\b(?:last|final) (?:four|4)\b|\bpin\b/iu, kind: 'digits', whole: [4] },
  {
    pattern: /security code|\bcv[cv]\b|prüf(?:ziffer|nummer)|code de sécurité|código de seguridad/iu,
    kind: 'digits',
    whole: [3, 4],
  },
  {
    pattern: /\b(?:zip|post ?code|postal)|postleitzahl|\bplz\b|code postal|código postal|\bcap\b|邮编|郵便番号/iu,
    kind: 'code',
    whole: [5],
  },
  {
    pattern: /reference|booking code|confirmation (?:code|number)|buchungs(?:nummer|code)|\bpnr\b/iu,
    kind: 'code',
    whole: [6],
  },
  { pattern: /\b(?:card|credit)|karten?nummer|carte|tarjeta|cartão|carta/iu, kind: 'digits', whole: CARD },
  {
    pattern: /phone|mobile|to reach you|call you back|telefon|téléphone|teléfono|telefone|電話|电话|फ़?ोन/iu,
    kind: 'digits',
    whole: PHONE,
  },
  { pattern: /\bspell|buchstabier|épele|deletre|soletr|sillab|\bspel/iu, kind: 'letters', whole: null },
  {
    pattern:
      /\b(?:your|the|street|delivery|billing|home) address|deliver(?:ed)?\?|anschrift|adresse|dirección|direccion|endereço|indirizzo|adres\b|住所|地址|पता/iu,
    kind: 'place',
    whole: null,
  },
  {
    pattern: /number|nummer|numéro|número|numero|digit|\bcodes?\b|código|codice|番号|号码|नंबर/iu,
    kind: 'digits',
    whole: null,
  },
];

/** A question whose answer is a plain number. */
const HOW_MANY =
  /how (?:many|much|old|long)|what time|what day|which day|\bwhen\b|number of (?:people|guests|persons)|wie ?viele?|wann|combien|quand|cuánt|cuándo|quant[oaie]|quando|hoeveel|wanneer|कितने|何人|何時|几位|几点|多少/iu;

const COUNTS: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
};

/** "Your six-digit code", "the 3 digits on the back". */
function countedDigits(said: string): number | null {
  const count = /\b(\w+)[- ]digits?\b/iu.exec(said)?.[1]?.toLowerCase() ?? '';
  if (Object.hasOwn(COUNTS, count)) return COUNTS[count] ?? null;
  return /^\d{1,2}$/u.test(count) ? Number(count) : null;
}

/** @returns null = no question, or one with any kind of answer */
export function answerKindOf(agentSaid: string): AnswerKind | null {
  if (agentSaid === '') return null;
  const asked = QUESTIONS.find(({ pattern }) => pattern.test(agentSaid)) ?? null;
  if (asked?.kind === 'date') return asked;
  if (HOW_MANY.test(agentSaid)) return null;
  const count = countedDigits(agentSaid);
  if (count !== null) return { kind: 'digits', whole: [count] };
  return asked;
}
