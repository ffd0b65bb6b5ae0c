import type { SpeechRule } from './place.js';

interface Currency {
  one: string;
  many: string;
  /** A hundredth. */
  cent: readonly [one: string, many: string] | null;
}

const CENT = ['cent', 'cents'] as const;
const CURRENCIES: Readonly<Record<string, Currency>> = {
  $: { one: 'dollar', many: 'dollars', cent: CENT },
  '€': { one: 'euro', many: 'euros', cent: CENT },
  '£': { one: 'pound', many: 'pounds', cent: ['penny', 'pence'] },
  '¥': { one: 'yen', many: 'yen', cent: null },
  '₹': { one: 'rupee', many: 'rupees', cent: ['paisa', 'paise'] },
};
const CODES: Readonly<Record<string, string>> = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹' };
const MAGNITUDES: Readonly<Record<string, string>> = { k: 'thousand', m: 'million', bn: 'billion', b: 'billion' };
const PER: Readonly<Record<string, string>> = {
  mo: 'month', yr: 'year', hr: 'hour', h: 'hour', wk: 'week', min: 'minute', lb: 'pound', kg: 'kilogram', pp: 'person',
}; // prettier-ignore

const AMOUNT = String.raw`(\d[\d,]*)(?:\.(\d{1,2})(?!\d))?(bn|[kmb])?`;
const BEFORE = new RegExp(String.raw`^(-)?([$€£¥₹])${AMOUNT}(?:[-–]([$€£¥₹])?${AMOUNT})?(?:/([a-z]{1,10}))?$`, 'iu');
const AFTER = new RegExp(String.raw`^(-)?${AMOUNT}([€£¥₹])(?:/([a-z]{1,10}))?$`, 'iu');
const PLAIN = new RegExp(String.raw`^(-)?${AMOUNT}$`, 'iu');
const BIG = /^(?:thousand|million|billion|trillion)$/i;
const NUMERIC = /^-?\d[\d,]*(?:\.\d{1,2})?$/;

/** "$1,204.50", "$0.99", "$1.5 million", "£20-30", "20 €", "EUR 20", "$5M", "$12/hr". */
export const sayMoney: SpeechRule = ({ core, before, after }) => {
  if (BIG.test(core)) {
    const counted = bareAmount(BEFORE.exec(before));
    return counted === null ? null : `${core} ${counted.currency.many}`;
  }
  if (symbolOf(core) !== undefined) return NUMERIC.test(before) || (core in CODES && NUMERIC.test(after)) ? '' : null;
  const lead = BEFORE.exec(core);
  if (lead !== null) {
    const [, minus, symbol = '', whole = '', cents, size, , toWhole, toCents, toSize, per] = lead;
    // The currency is said behind the next word.
    const bare = BIG.test(after) ? bareAmount(lead) : null;
    if (bare !== null) return bare.number;
    const first = amount(minus, symbol, whole, cents, size ?? toSize);
    if (toWhole === undefined) return first + perUnit(per);
    const start = cents === undefined ? whole : `${whole}.${cents}`;
    return `${start} to ${amount(undefined, symbol, toWhole, toCents, toSize)}${perUnit(per)}`;
  }
  const [, minus, whole = '', cents, size, symbol = '', per] = AFTER.exec(core) ?? [];
  if (whole !== '') return amount(minus, symbol, whole, cents, size) + perUnit(per);
  const beside = symbolOf(after) ?? (before in CODES ? CODES[before] : undefined);
  const [, sign, number = '', parts, scale] = PLAIN.exec(core) ?? [];
  return beside === undefined || number === '' ? null : amount(sign, beside, number, parts, scale);
};

/** "1.5" of "$1.5 million", "5 to 10" of "$5-10 million"; null for what has a size of its own. */
function bareAmount(lead: RegExpExecArray | null): { number: string; currency: Currency } | null {
  const [, minus, symbol = '', whole = '', cents, size, , toWhole, toCents, toSize, per] = lead ?? [];
  const currency = CURRENCIES[symbol];
  if (currency === undefined || (size ?? toSize ?? per) !== undefined) return null;
  const plain = (digits: string, parts?: string): string => (parts === undefined ? digits : `${digits}.${parts}`);
  const range = toWhole === undefined ? '' : ` to ${plain(toWhole, toCents)}`;
  return { number: `${minus === undefined ? '' : 'minus '}${plain(whole, cents)}${range}`, currency };
}

function symbolOf(core: string): string | undefined {
  return core in CURRENCIES ? core : CODES[core];
}

function amount(minus: string | undefined, symbol: string, whole: string, cents?: string, size?: string): string {
  const { one, many, cent } = CURRENCIES[symbol] as Currency;
  const sign = minus === undefined ? '' : 'minus ';
  if (size !== undefined) {
    return `${sign}${whole}${cents === undefined ? '' : `.${cents}`} ${MAGNITUDES[size.toLowerCase()] ?? ''} ${many}`;
  }
  const units = `${whole} ${whole === '1' ? one : many}`;
  const hundredths = cents === undefined ? 0 : Number(cents.padEnd(2, '0'));
  if (hundredths === 0 || cent === null) return sign + units;
  const small = `${String(hundredths)} ${cent[hundredths === 1 ? 0 : 1]}`;
  return sign + (whole === '0' ? small : `${units} and ${small}`);
}

function perUnit(per: string | undefined): string {
  return per === undefined ? '' : ` per ${PER[per.toLowerCase()] ?? per}`;
}
