import { spokenNumber } from '../../../../base/spoken-number.js';
import type { WordPlace, SpeechRule } from './place.js';

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

/** Said letter by letter, although they could be read as words. */
const INITIALS = new Set(
  (
    'CEO CFO CTO COO CIO CMO SKU ATM FAQ URL VIP ID USA UK US EU UN AI API UI UX ETA DIY IOU IPO GPA USB ISP EIN IRS FBI CIA ' +
    'DUI APR ROI KPI EOD FYI IVR SLA UPS IBM BBC EST EDT CET UTC PO GPS HR IT TV PC DJ MD RSVP AC IQ MBA ' +
    'PhD DOB SSN SMS MRI ER ICU UFO NYC LA EV SUV OTP MFA IP'
  ).split(' '),
);

/** "Mon.", "Nov. 23", "Ext. 42", "approx.", "No. 5", "w/o", "24/7". */
export const abbreviation: SpeechRule = ({ core, tail, after, before }) => {
  const hasStop = tail.startsWith('.');
  const day = WEEKDAYS[core];
  if (day !== undefined)
    return !DOUBTFUL_DAYS.has(core) || hasStop || isDatePart(after) || isDatePart(before) ? day : null;
  const month = MONTHS[core];
  if (month !== undefined) return isDatePart(after) || /^\d{1,2}(?:st|nd|rd|th)?$/.test(before) ? month : null;
  if (/^no$/i.test(core) && hasStop && /^\d/.test(after)) return 'number';
  if (/^(?:ext|x)$/i.test(core) && /^\d/.test(after)) return 'extension';
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
  return /^\d/.test(word) || word in MONTHS || /^(?:to|through|thru|at)$/.test(word) || word in WEEKDAYS;
}

/** "CEO", "FAQs"; not in a text all in capitals. */
export const acronym: SpeechRule = (place) => {
  const [, letters = '', plural] = /^([A-Z][A-Za-z]{1,4}?)(s)?$/.exec(place.core) ?? [];
  if (!INITIALS.has(letters) || isShouted(place)) return null;
  return `${[...letters.toUpperCase()].join(' ')}${plural === undefined ? '' : "'s"}`;
};

function isShouted({ before, after }: WordPlace): boolean {
  const loud = (word: string): boolean => /^[A-Z]{2,}$/.test(word) && !INITIALS.has(word);
  return loud(before) || loud(after);
}

/** Letters with digits: "BA2490", "A7-93KX", "R101", "Q3". */
export const code: SpeechRule = ({ core }) => {
  if (!/^(?=.*[A-Z])(?=.*\d)[A-Z\d]{1,10}(?:-[A-Z\d]{1,10}){0,4}$/.test(core)) return null;
  const runs = core.match(/\d+|[A-Z]+|-/g) ?? [];
  if (runs.some((run) => /^[A-Z]{5,}$/.test(run))) return null; // a word: "COVID-19"
  const say = runs.length > 2 ? digitByDigit : numberOrDigits;
  return runs
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
  return [...digits].map((digit) => spokenNumber(Number(digit))).join(' ');
}
