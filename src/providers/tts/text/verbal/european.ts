import { digitGroups, type SpeechRule } from './place.js';

/** The wordings of a language that writes "12,50 €", "23.11.2026" and "19:30". */
interface Wording {
  dot: string;
  at: string;
  /** Of ranges: "9 bis 17". */
  to: string;
  minus: string;
  plus: string;
  months: readonly string[];
  date: (day: number, month: string, year: string) => string;
  time: (hours: string, minutes: string) => string;
  /** A word behind a time that the time already has: "19:30 Uhr". */
  clockWord: RegExp;
  currencies: Readonly<Record<string, readonly [one: string, many: string]>>;
  cent: readonly [one: string, many: string];
  /** Between euros and cents. */
  and: string;
  weekdays: Readonly<Record<string, string>>;
  units: Readonly<Record<string, readonly [one: string, many: string]>>;
  abbreviations: Readonly<Record<string, string>>;
}

const CODES: Readonly<Record<string, string>> = { EUR: '€', USD: '$', GBP: '£', CHF: 'CHF' };
const NUMBER = /^-?\d+(?:[.\u00a0\u202f]\d{3})*(?:,\d+)?$/u;
const EMAIL = /^[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/u;
const HOST = /^[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.(?:com|org|net|io|eu|de|at|ch|fr|be|es|mx|ar|info)$/iu;

const GERMAN: Wording = {
  dot: 'Punkt', at: 'ät', to: 'bis', minus: 'minus', plus: 'plus',
  months: 'Januar Februar März April Mai Juni Juli August September Oktober November Dezember'.split(' '),
  date: (day, month, year) => `${String(day)}. ${month}${year === '' ? '' : ` ${year}`}`,
  time: (hours, minutes) => `${hours} Uhr${minutes === '0' ? '' : ` ${minutes}`}`,
  clockWord: /^Uhr$/,
  currencies: { '€': ['Euro', 'Euro'], $: ['Dollar', 'Dollar'], '£': ['Pfund', 'Pfund'], CHF: ['Franken', 'Franken'] },
  cent: ['Cent', 'Cent'], and: '',
  weekdays: { Mo: 'Montag', Di: 'Dienstag', Mi: 'Mittwoch', Do: 'Donnerstag', Fr: 'Freitag', Sa: 'Samstag', So: 'Sonntag' },
  units: {
    km: ['Kilometer', 'Kilometer'], m: ['Meter', 'Meter'], cm: ['Zentimeter', 'Zentimeter'], mm: ['Millimeter', 'Millimeter'],
    kg: ['Kilogramm', 'Kilogramm'], g: ['Gramm', 'Gramm'], l: ['Liter', 'Liter'], ml: ['Milliliter', 'Milliliter'],
    'km/h': ['Kilometer pro Stunde', 'Kilometer pro Stunde'], 'm²': ['Quadratmeter', 'Quadratmeter'],
    Min: ['Minute', 'Minuten'], min: ['Minute', 'Minuten'], Std: ['Stunde', 'Stunden'], h: ['Stunde', 'Stunden'],
    Sek: ['Sekunde', 'Sekunden'], kWh: ['Kilowattstunde', 'Kilowattstunden'], GB: ['Gigabyte', 'Gigabyte'],
    '°C': ['Grad Celsius', 'Grad Celsius'], St: ['Stück', 'Stück'],
  },
  abbreviations: {
    'z.B': 'zum Beispiel', 'd.h': 'das heißt', 'u.a': 'unter anderem', bzw: 'beziehungsweise', usw: 'und so weiter',
    ca: 'circa', Nr: 'Nummer', Tel: 'Telefon', Str: 'Straße', inkl: 'inklusive', zzgl: 'zuzüglich', ggf: 'gegebenenfalls',
    evtl: 'eventuell', max: 'maximal', mind: 'mindestens', 'St': 'Sankt',
  },
}; // prettier-ignore

const FRENCH: Wording = {
  dot: 'point', at: 'arobase', to: 'à', minus: 'moins', plus: 'plus',
  months: 'janvier février mars avril mai juin juillet août septembre octobre novembre décembre'.split(' '),
  date: (day, month, year) => `${day === 1 ? '1er' : String(day)} ${month}${year === '' ? '' : ` ${year}`}`,
  time: (hours, minutes) => `${hours} ${hours === '1' || hours === '0' ? 'heure' : 'heures'}${minutes === '0' ? '' : ` ${minutes}`}`,
  clockWord: /^(?:h|heures?)$/,
  currencies: { '€': ['euro', 'euros'], $: ['dollar', 'dollars'], '£': ['livre', 'livres'], CHF: ['franc', 'francs'] },
  cent: ['centime', 'centimes'], and: '',
  weekdays: { lun: 'lundi', mar: 'mardi', mer: 'mercredi', jeu: 'jeudi', ven: 'vendredi', sam: 'samedi', dim: 'dimanche' },
  units: {
    km: ['kilomètre', 'kilomètres'], m: ['mètre', 'mètres'], cm: ['centimètre', 'centimètres'], mm: ['millimètre', 'millimètres'],
    kg: ['kilogramme', 'kilogrammes'], g: ['gramme', 'grammes'], l: ['litre', 'litres'], ml: ['millilitre', 'millilitres'],
    'km/h': ['kilomètre heure', 'kilomètres heure'], 'm²': ['mètre carré', 'mètres carrés'], min: ['minute', 'minutes'],
    s: ['seconde', 'secondes'], kWh: ['kilowattheure', 'kilowattheures'], Go: ['gigaoctet', 'gigaoctets'],
    '°C': ['degré Celsius', 'degrés Celsius'],
  },
  abbreviations: {
    'p.ex': 'par exemple', 'c.-à-d': "c'est-à-dire", etc: 'et cetera', env: 'environ', Tél: 'téléphone', tél: 'téléphone',
    av: 'avenue', bd: 'boulevard', Mme: 'Madame', Mlle: 'Mademoiselle', max: 'maximum', min: 'minimum',
  },
}; // prettier-ignore

const SPANISH: Wording = {
  dot: 'punto', at: 'arroba', to: 'a', minus: 'menos', plus: 'más',
  months: 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' '),
  date: (day, month, year) => `${String(day)} de ${month}${year === '' ? '' : ` de ${year}`}`,
  time: (hours, minutes) => `${hours}${minutes === '0' ? '' : ` y ${minutes}`}`,
  clockWord: /^(?:h|hs|horas?)$/,
  currencies: { '€': ['euro', 'euros'], $: ['dólar', 'dólares'], '£': ['libra', 'libras'], CHF: ['franco', 'francos'] },
  cent: ['céntimo', 'céntimos'], and: 'con ',
  weekdays: { lun: 'lunes', mar: 'martes', mié: 'miércoles', jue: 'jueves', vie: 'viernes', sáb: 'sábado', dom: 'domingo' },
  units: {
    km: ['kilómetro', 'kilómetros'], m: ['metro', 'metros'], cm: ['centímetro', 'centímetros'], mm: ['milímetro', 'milímetros'],
    kg: ['kilogramo', 'kilogramos'], g: ['gramo', 'gramos'], l: ['litro', 'litros'], ml: ['mililitro', 'mililitros'],
    'km/h': ['kilómetro por hora', 'kilómetros por hora'], 'm²': ['metro cuadrado', 'metros cuadrados'], min: ['minuto', 'minutos'],
    s: ['segundo', 'segundos'], kWh: ['kilovatio hora', 'kilovatios hora'], GB: ['gigabyte', 'gigabytes'],
    '°C': ['grado Celsius', 'grados Celsius'],
  },
  abbreviations: {
    'p.ej': 'por ejemplo', etc: 'etcétera', aprox: 'aproximadamente', Tel: 'teléfono', tel: 'teléfono', núm: 'número',
    Sr: 'señor', Sra: 'señora', Dr: 'doctor', Dra: 'doctora', Avda: 'avenida', Ud: 'usted', Uds: 'ustedes', máx: 'máximo',
  },
}; // prettier-ignore

const WORDINGS: Readonly<Record<string, Wording>> = { de: GERMAN, fr: FRENCH, es: SPANISH };

/** Rules for German, French or Spanish text, in order; undefined for other languages. */
export function europeanRules(language: string): readonly SpeechRule[] | undefined {
  const wording = Object.hasOwn(WORDINGS, language) ? WORDINGS[language] : undefined;
  if (wording === undefined) return undefined;
  const date: SpeechRule = ({ core, tail }) => sayDate(core, tail, wording);
  const time: SpeechRule = ({ core, before }) => sayTime(core, before, wording);
  const money: SpeechRule = ({ core, before, after }) => sayMoney(core, before, after, wording);
  const unit: SpeechRule = ({ core, before }) => sayUnit(core, before, wording);
  const simple = [date, time, money, unit];
  const range: SpeechRule = (place) => {
    const [, from = '', to = ''] = /^([^-–]{1,20})[-–]([^-–]{1,20})$/u.exec(place.core) ?? [];
    const end = (core: string, after: string): string | null => {
      for (const rule of simple) {
        const said = rule({ ...place, core, after, tail: '' });
        if (said !== null) return said;
      }
      return wording.weekdays[core.replace('.', '')] ?? (/^(?:0|[1-9]\d{0,3})(?:,\d+)?%?$/.test(core) ? core : null);
    };
    const [first, last] = from === '' ? [null, null] : [end(from, ''), end(to, place.after)];
    return first === null || last === null ? null : `${first} ${wording.to} ${last}`;
  };
  return [
    addressIn(wording),
    dictatedIn(wording),
    ...simple,
    range,
    (place) => abbreviated(place.core, place.tail, wording),
  ];
}

function addressIn({ dot, at }: Wording): SpeechRule {
  return ({ core, isAddress }) => {
    const isNumeric = /^(?:\d{1,3}\.){3}\d{1,3}$/.test(core);
    if (!isAddress && !isNumeric && !HOST.test(core) && !EMAIL.test(core)) return null;
    return core.replaceAll('.', ` ${dot} `).replaceAll('@', ` ${at} `);
  };
}

function dictatedIn({ plus }: Wording): SpeechRule {
  return ({ core, before, dictated: place }) => {
    if (place === null) return null;
    const groups = digitGroups(core, before).map((group) => [...group].join(' '));
    return `${core.startsWith('+') ? `${plus} ` : ''}${groups.join(', ')}${place === 'inside' ? ',' : ''}`;
  };
}

/** "23.11.2026", "23/11/2026", "2026-11-23", "23.11." */
function sayDate(core: string, tail: string, { months, date }: Wording): string | null {
  const [, isoYear, isoMonth, isoDay] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(core) ?? [];
  const [, day, month, year] = /^(\d{1,2})[./-](\d{1,2})(?:[./-](\d{4}))?$/.exec(core) ?? [];
  if (
    isoDay === undefined &&
    (day === undefined || (year === undefined && !(core.includes('.') && tail.startsWith('.'))))
  )
    return null;
  const number = Number(isoDay ?? day);
  const name = months[Number(isoMonth ?? month) - 1];
  return name === undefined || number < 1 || number > 31 ? null : date(number, name, isoYear ?? year ?? '');
}

function sayTime(core: string, before: string, { time, clockWord }: Wording): string | null {
  if (clockWord.test(core)) return /^\d{1,2}:\d{2}$/.test(before) ? '' : null;
  const [, hours = '', minutes = ''] = /^([01]?\d|2[0-4])(?::|h)([0-5]\d)$/.exec(core) ?? [];
  return hours === '' ? null : time(String(Number(hours)), String(Number(minutes)));
}

function sayMoney(core: string, before: string, after: string, wording: Wording): string | null {
  const symbolOf = (text: string): string | undefined => (text in wording.currencies ? text : CODES[text]);
  if (symbolOf(core) !== undefined) return NUMBER.test(before) || NUMBER.test(after) ? '' : null;
  const [, lead, number = '', tail] = /^([€$£])?(-?\d[\d.,\u00a0\u202f]*)([€$£])?$/u.exec(core) ?? [];
  const symbol = lead ?? tail ?? symbolOf(after) ?? symbolOf(before);
  if (symbol === undefined || !NUMBER.test(number)) return null;
  const [whole = '', cents = ''] = number
    .replace(/[.\u00a0\u202f]/gu, '')
    .replace('-', `${wording.minus} `)
    .split(',');
  const names = wording.currencies[symbol] ?? ['', ''];
  const small = Number(cents.padEnd(2, '0'));
  if (whole === '0' && small > 0) return `${String(small)} ${wording.cent[small === 1 ? 0 : 1]}`;
  return `${whole} ${names[whole === '1' ? 0 : 1]}${small === 0 ? '' : ` ${wording.and}${String(small)}`}`;
}

function sayUnit(core: string, before: string, { units }: Wording): string | null {
  const [, number, name] = /^(-?\d+(?:,\d+)?)([^\d\s,.-].{0,4})$/u.exec(core) ?? [];
  const unit = name ?? core;
  if (number === undefined && !NUMBER.test(before)) return null;
  const names = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (names === undefined) return null;
  const said = names[(number ?? before) === '1' ? 0 : 1];
  return number === undefined ? said : `${number} ${said}`;
}

/** Always with a full stop: without one these are words, or letters. */
function abbreviated(core: string, tail: string, { weekdays, abbreviations }: Wording): string | null {
  if (!tail.startsWith('.')) return null;
  const named = Object.hasOwn(abbreviations, core) ? abbreviations[core] : undefined;
  return named ?? (Object.hasOwn(weekdays, core) ? (weekdays[core] ?? null) : null);
}
