import type { SpeechRule } from './place.js';

/** Singular and plural. */
const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  mm: ['millimetre', 'millimetres'], cm: ['centimetre', 'centimetres'], m: ['metre', 'metres'],
  km: ['kilometre', 'kilometres'], in: ['inch', 'inches'], ft: ['foot', 'feet'], yd: ['yard', 'yards'],
  mi: ['mile', 'miles'], mg: ['milligram', 'milligrams'], g: ['gram', 'grams'], kg: ['kilogram', 'kilograms'],
  lb: ['pound', 'pounds'], lbs: ['pound', 'pounds'], oz: ['ounce', 'ounces'], ml: ['millilitre', 'millilitres'],
  cl: ['centilitre', 'centilitres'], l: ['litre', 'litres'], L: ['litre', 'litres'], gal: ['gallon', 'gallons'],
  ms: ['millisecond', 'milliseconds'], s: ['second', 'seconds'], sec: ['second', 'seconds'], secs: ['second', 'seconds'],
  min: ['minute', 'minutes'], mins: ['minute', 'minutes'], h: ['hour', 'hours'], hr: ['hour', 'hours'],
  hrs: ['hour', 'hours'], wk: ['week', 'weeks'], wks: ['week', 'weeks'], mo: ['month', 'months'], yr: ['year', 'years'],
  yrs: ['year', 'years'], mph: ['mile per hour', 'miles per hour'], 'km/h': ['kilometre per hour', 'kilometres per hour'],
  kmh: ['kilometre per hour', 'kilometres per hour'], 'm/s': ['metre per second', 'metres per second'],
  Hz: ['hertz', 'hertz'], kHz: ['kilohertz', 'kilohertz'], MHz: ['megahertz', 'megahertz'], GHz: ['gigahertz', 'gigahertz'],
  W: ['watt', 'watts'], kW: ['kilowatt', 'kilowatts'], kWh: ['kilowatt hour', 'kilowatt hours'], V: ['volt', 'volts'],
  KB: ['kilobyte', 'kilobytes'], MB: ['megabyte', 'megabytes'], GB: ['gigabyte', 'gigabytes'], TB: ['terabyte', 'terabytes'],
  Mbps: ['megabit per second', 'megabits per second'], Gbps: ['gigabit per second', 'gigabits per second'],
  kcal: ['kilocalorie', 'kilocalories'], dB: ['decibel', 'decibels'], px: ['pixel', 'pixels'], ha: ['hectare', 'hectares'],
  'm²': ['square metre', 'square metres'], m2: ['square metre', 'square metres'], 'km²': ['square kilometre', 'square kilometres'],
  'm³': ['cubic metre', 'cubic metres'], sqft: ['square foot', 'square feet'], C: ['degree Celsius', 'degrees Celsius'],
}; // prettier-ignore

/** Not a unit where it stands alone: "5 in the morning", "Henry 5 s". */
const ATTACHED_ONLY = new Set(['in', 's', 'm2', 'C', 'V', 'W', 'mo']);
const ATTACHED = /^(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)([A-Za-zµ²³][A-Za-z/²³\d]{0,4})$/u;
const NUMERIC = /^(?:-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\d+\/\d+|[½¼¾⅓⅔])$/u;
const HEIGHT = /^(\d)['’′](?:(\d{1,2})(?:"|”|″|'')?)?$/u;

/** "5ft", "11in", "3.5km", "20g", "5'11". */
export const attachedUnit: SpeechRule = ({ core, before, tail }) => {
  const [, feet, inches] = HEIGHT.exec(core) ?? [];
  if (feet !== undefined && (inches !== undefined || /^["”″]/.test(tail))) {
    return `${feet} ${feet === '1' ? 'foot' : 'feet'}${inches === undefined ? '' : ` ${inches} ${inches === '1' ? 'inch' : 'inches'}`}`;
  }
  const [, number = '', unit = ''] = ATTACHED.exec(core) ?? [];
  if (number === '' || unit === 'C') return null;
  // "1h 30m": minutes behind hours.
  const name = unit === 'm' && /^\d+h$/.test(before) ? 'min' : unit;
  const names = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
  // "A 16GB phone".
  const isOne = number === '1' || /^(?:an?|the|this|per|each)$/i.test(before);
  return names === undefined ? null : `${number.replace(/^-/, 'minus ')} ${names[isOne ? 0 : 1]}`;
};

/** "12 lbs", "3.5 km", "5 min.", "1/2 oz", "900 sq ft". */
export const unitAfterNumber: SpeechRule = ({ core, before, beforeThat, begins }) => {
  if (begins && !/^\d/.test(before)) return null;
  const isSquare = /^(?:sq|cu|fl)$/.test(before) && NUMERIC.test(beforeThat);
  if (NUMERIC.test(before) && /^(?:sq|cu|fl)$/.test(core)) return { sq: 'square', cu: 'cubic' }[core] ?? 'fluid';
  if (!NUMERIC.test(before) && !isSquare) return null;
  const names = Object.hasOwn(UNITS, core) && !ATTACHED_ONLY.has(core) ? UNITS[core] : undefined;
  const amount = isSquare ? beforeThat : before;
  return names === undefined ? null : names[amount === '1' || /^(?:1\/|[½¼¾⅓])/u.test(amount) ? 0 : 1];
};
