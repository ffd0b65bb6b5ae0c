import { spokenNumber } from '../../../../base/spoken-number.js';
import { OWN_STOP, type SpeechRule, type WordPlace } from './place.js';

const WEEKDAYS: Readonly<Record<string, string>> = {
  Mon: 'Monday', Tue: 'Tuesday', Tues: 'Tuesday', Wed: 'Wednesday', Thu: 'Thursday', Thur: 'Thursday',
  Thurs: 'Thursday', Fri: 'Friday', Sat: 'Saturday', Sun: 'Sunday',
}; // prettier-ignore
/** Also words of their own. */
const DOUBTFUL_DAYS = new Set(['Wed', 'Sat', 'Sun', 'Mon']);
const MONTHS: Readonly<Record<string, string>> = {
  Jan: 'January', Feb: 'February', Mar: 'March', Apr: 'April', Jun: 'June', Jul: 'July', Aug: 'August',
  Sep: 'September', Sept: 'September', Oct: 'October', Nov: 'November', Dec: 'December',
}; // prettier-ignore

/** With a full stop behind, or exactly so. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  'vs': 'versus', 'approx': 'approximately', 'etc': 'et cetera', 'e.g': 'for example', 'i.e': 'that is',
  'Ave': 'Avenue', 'Blvd': 'Boulevard', 'Rd': 'Road', 'Apt': 'apartment', 'Ste': 'suite', 'Dept': 'department',
  'dept': 'department', 'appt': 'appointment', 'appts': 'appointments', 'max': 'maximum', 'est': 'estimated',
  'incl': 'including', 'excl': 'excluding', 'tel': 'telephone', 'Tel': 'telephone', 'ext': 'extension',
  'Ext': 'extension', 'hrs': 'hours', 'mins': 'minutes', 'secs': 'seconds', 'qty': 'quantity', 'Qty': 'quantity',
  'Jct': 'junction', 'Pkwy': 'Parkway', 'Hwy': 'Highway', 'Mt': 'Mount', 'Ft': 'Fort',
}; // prettier-ignore
/** Meant without a full stop too. */
const ALWAYS = new Set([
  'vs',
  'e.g',
  'i.e',
  'Blvd',
  'appt',
  'appts',
  'qty',
  'Qty',
  'Pkwy',
  'Hwy',
  'hrs',
  'mins',
  'secs',
]);

/** With a full stop, or without one before a name. */
const TITLES: Readonly<Record<string, string>> = {
  Dr: 'Doctor', Mr: 'Mister', Mrs: 'Missus', Prof: 'Professor', Rev: 'Reverend', Gen: 'General', Capt: 'Captain', Lt: 'Lieutenant',
  Sgt: 'Sergeant', Gov: 'Governor', Sen: 'Senator', Hon: 'Honorable', Jr: 'Junior', Sr: 'Senior',
}; // prettier-ignore

/** "Dr. Smith", "St. James St.", "Elm Dr.", "p. 12", "Vol. 2". */
export const title: SpeechRule = ({ core, tail, after, before }) => {
  const hasStop = tail.startsWith('.');
  const isName = /^\p{Lu}/u.test(after) && !/[,;!?]/.test(tail);
  const follows = /^\p{Lu}/u.test(before) && !isName;
  if (core === 'St' && (isName || follows)) return follows ? 'Street' : `Saint${OWN_STOP}`;
  if (core === 'Dr' && hasStop && follows) return 'Drive';
  if (core === 'p' && hasStop && /^\d/.test(after)) return 'page';
  if (core === 'pp' && hasStop && /^\d/.test(after)) return 'pages';
  const numbered: Readonly<Record<string, string>> = {
    Vol: 'volume',
    vol: 'volume',
    Fig: 'figure',
    fig: 'figure',
    Ch: 'chapter',
    ch: 'chapter',
    Sec: 'section',
    sec: 'section',
  };
  if (Object.hasOwn(numbered, core) && hasStop && /^\d/.test(after)) return numbered[core] ?? null;
  const full = Object.hasOwn(TITLES, core) ? TITLES[core] : undefined;
  return full !== undefined && (isName || hasStop) ? full + (isName ? OWN_STOP : '') : null;
};

/** Said letter by letter, although they could be read as words. */
const INITIALS = new Set(
  (
    'CEO CFO CTO COO CIO CMO SKU ATM FAQ URL VIP ID USA UK US EU UN AI API UI UX ETA DIY IOU IPO GPA USB ISP EIN IRS FBI CIA ' +
    'DUI APR ROI KPI EOD FYI IVR SLA UPS IBM BBC EST EDT CET UTC PO GPS HR IT TV PC DJ MD RSVP AC IQ MBA ' +
    'PhD DOB SSN SMS MRI ER ICU UFO NYC LA EV SUV OTP MFA IP'
  ).split(' '),
);

/** "Mon.", "Nov. 23", "Ext. 42", "approx.", "No. 5", "w/o", "24/7". */
export const abbreviation: SpeechRule = ({ core, tail, after, afterThat, before }) => {
  const hasStop = tail.startsWith('.');
  const day = Object.hasOwn(WEEKDAYS, core) ? WEEKDAYS[core] : undefined;
  if (day !== undefined)
    return !DOUBTFUL_DAYS.has(core) || hasStop || isDatePart(after) || isDatePart(before) ? day : null;
  const month = Object.hasOwn(MONTHS, core) ? MONTHS[core] : undefined;
  if (month !== undefined) return isDatePart(after) || /^\d{1,2}(?:st|nd|rd|th)?$/.test(before) ? month : null;
  if (/^no$/i.test(core) && hasStop && /^\d/.test(after)) return 'number';
  // "555-0173 x 42"; "10 x 12 feet".
  const isExtension = /^ext$/i.test(core) || (/^x$/i.test(core) && before.replace(/\D/g, '').length >= 7);
  if (isExtension && /^\d/.test(after)) return 'extension';
  if (core === 'x' && /^\d/.test(before) && /^\d/.test(after)) return afterThat === '=' ? 'times' : 'by';
  const extension = /^(?:ext|x)\.?(\d{1,5})$/i.exec(core)?.[1];
  if (extension !== undefined && (/^ext/i.test(core) || /\d$/.test(before)))
    return `extension ${numberOrDigits(extension)}`;
  if (core === 'w/') return 'with';
  if (core === 'w/o') return 'without';
  if (core === '24/7') return 'twenty four seven';
  if (/^p\.?o$/i.test(core) && /^box$/i.test(after)) return 'P O';
  const full = Object.hasOwn(ABBREVIATIONS, core) ? ABBREVIATIONS[core] : undefined;
  return full !== undefined && (hasStop || ALWAYS.has(core)) ? full : null;
};

function isDatePart(word: string): boolean {
  return (
    /^\d/.test(word) ||
    Object.hasOwn(MONTHS, word) ||
    /^(?:to|through|thru|at)$/.test(word) ||
    Object.hasOwn(WEEKDAYS, word)
  );
}

/** "CEO", "FAQs"; not in a text all in capitals. */
export const acronym: SpeechRule = (place) => {
  const [, letters = '', plural] = /^([A-Z][A-Za-z]{1,4}?)(s)?$/.exec(place.core) ?? [];
  // Capitals without a vowel cannot be read as a word.
  const isFlight = /^flight$/i.test(place.before) && /^\d/.test(place.after);
  const isUnsayable = isFlight || (/^[B-DF-HJ-NP-TV-XZ]{2,5}$/.test(letters) && letters !== 'PM');
  if (!(INITIALS.has(letters) || isUnsayable) || isShouted(place)) return null;
  return `${[...letters.toUpperCase()].join(' ')}${plural === undefined ? '' : "'s"}`;
};

function isShouted({ before, after }: WordPlace): boolean {
  const loud = (word: string): boolean => /^[A-Z]{2,}$/.test(word) && !INITIALS.has(word);
  return loud(before) || loud(after);
}

/** Letters with digits: "BA2490", "A7-93KX", "R101", "Q3". */
export const code: SpeechRule = ({ core }) => {
  if (!/^(?=.*[A-Z])(?=.*\d)[A-Z\d]{1,34}(?:-[A-Z\d]{1,10}){0,4}$/.test(core)) return null;
  const runs = core.match(/\d+|[A-Z]+|-/g) ?? [];
  if (runs.some((run) => /^[A-Z]{5,}$/.test(run))) return null; // a word: "COVID-19"
  const say = runs.length > 2 ? digitByDigit : numberOrDigits;
  return runs
    .flatMap((run) => (run.length > 6 ? (run.match(/.{1,4}/gu) ?? []).join(' - ').split(' ') : [run]))
    .map((run) => (run === '-' ? ',' : /\d/.test(run) ? say(run) : [...run].join(' ')))
    .join(' ')
    .replaceAll(' ,', ',');
};

/** Up to two digits as a number. */
function numberOrDigits(digits: string): string {
  if (digits.length <= 2 && !digits.startsWith('0')) return spokenNumber(Number(digits));
  return digitByDigit(digits);
}

/** "0173" as "zero one seven three". */
export function digitByDigit(digits: string): string {
  return [...digits].map((digit) => (/\d/.test(digit) ? spokenNumber(Number(digit)) : digit)).join(' ');
}
