/**
 * Makes one word sayable for an English voice that takes plain ASCII and reads numbers, times, dates and common
 * abbreviations itself, but neither symbols nor addresses. Pure.
 */

const FOLDED: readonly [RegExp, string][] = [
  [/[‘’ʼ´`]/gu, "'"],
  [/[“”„«»]/gu, '"'],
  [/…/gu, '...'],
  [/[—―]|--+/gu, ', '],
  [/[–‐‑−]/gu, '-'],
  [/[。｡]/gu, '. '],
  [/[，、]/gu, ', '],
  [/ß/gu, 'ss'],
  [/æ/giu, 'ae'],
  [/œ/giu, 'oe'],
  [/ø/giu, 'o'],
  [/ł/giu, 'l'],
  [/đ|ð/giu, 'd'],
  [/þ/giu, 'th'],
];

const CURRENCIES: Readonly<Record<string, readonly [one: string, many: string]>> = {
  $: ['dollar', 'dollars'],
  '€': ['euro', 'euros'],
  '£': ['pound', 'pounds'],
  '¥': ['yen', 'yen'],
  '₹': ['rupee', 'rupees'],
};
const MAGNITUDES: Readonly<Record<string, string>> = { k: 'thousand', m: 'million', bn: 'billion', b: 'billion' };
/** Symbol, amount, decimals, magnitude: "€20", "£30.50", "$5M". flite itself reads only plain dollars. */
const MONEY = /([$€£¥₹])(\d[\d,]*)(?:\.(\d{1,2})(?!\d))?(bn|[kmb])?\b/giu;
const EMAIL = /^([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})([.,;:!?]*)$/u;
const HOST =
  /^([\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.(?:com|org|net|io|dev|ai|app|edu|gov|info|co|uk|de|eu))([.,;:!?]*)$/iu;

const SYMBOLS: readonly [RegExp, string][] = [
  [/°\s?C\b/gu, ' degrees Celsius '],
  [/°\s?F\b/gu, ' degrees Fahrenheit '],
  [/°/gu, ' degrees '],
  [/&/gu, ' and '],
  [/\+\+/gu, ' plus plus '],
  [/\+/gu, ' plus '],
  [/=/gu, ' equals '],
  [/(?<=\d)[×x](?=\d)/gu, ' times '],
  [/#(?=\d)/gu, ' number '],
  [/@/gu, ' at '],
  [/~(?=\d)/gu, ' about '],
  [/½/gu, ' one half '],
  [/¼/gu, ' one quarter '],
  [/¾/gu, ' three quarters '],
  [/[/_~#<>^|*\\]/gu, ' '],
];

/** @returns pieces parted by single spaces, each with a letter or digit; '' if nothing of the word can be said */
export function pronounceEnglish(word: string): string {
  let said = address(word) ?? word.replace(MONEY, money);
  for (const [symbol, name] of SYMBOLS) said = said.replace(symbol, name);
  for (const [letter, plain] of FOLDED) said = said.replace(letter, plain);
  said = said.normalize('NFKD').replace(/[^\x20-\x7e]/gu, '');
  return joinPieces(said.split(' '));
}

function address(word: string): string | undefined {
  const dotted = (name: string): string => name.replaceAll('.', ' dot ');
  const email = EMAIL.exec(word);
  if (email !== null)
    return `${dotted(email[1] ?? '').replaceAll('_', ' underscore ')} at ${dotted(email[2] ?? '')}${email[3] ?? ''}`;
  const host = HOST.exec(word);
  return host === null ? undefined : `${dotted(host[1] ?? '')}${host[2] ?? ''}`;
}

function money(whole: string, symbol: string, amount: string, cents?: string, magnitude?: string): string {
  const unit = CURRENCIES[symbol];
  if (unit === undefined) return whole;
  const many = magnitude !== undefined || amount !== '1';
  const name = unit[many ? 1 : 0];
  if (magnitude !== undefined) {
    return `${amount}${cents === undefined ? '' : `.${cents}`} ${MAGNITUDES[magnitude.toLowerCase()] ?? ''} ${name}`;
  }
  return cents === undefined || Number(cents) === 0 ? `${amount} ${name}` : `${amount} ${name} ${cents}`;
}

/** Punctuation that stands alone goes to the piece before it, so that its pause is kept. */
function joinPieces(pieces: readonly string[]): string {
  const said: string[] = [];
  for (const piece of pieces) {
    if (/[A-Za-z0-9]/.test(piece)) said.push(piece);
    else if (said.length > 0 && /^[.,;:!?]+$/.test(piece)) said.push(`${said.pop() ?? ''}${piece}`);
  }
  return said.join(' ');
}
