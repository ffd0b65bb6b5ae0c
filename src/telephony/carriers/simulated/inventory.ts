import type { NumberOffer, NumberQuery } from '../carrier.js';

/**
 * The numbers for sale: of each country those that its regulator reserves for fiction, so they belong to no one.
 * Sources: the North American Numbering Plan (555-0100 to 0199), Ofcom, Bundesnetzagentur, ARCEP and ACMA, each
 * "numbers for drama use".
 */
interface Range {
  /** With the country code. */
  prefix: string;
  areaCode: string;
  digits: number;
}

const MONTHLY_CENTS = 100;
const NORTH_AMERICAN = ['202', '212', '303', '312', '415', '617', '702', '206'];

const RANGES: Readonly<Record<string, readonly Range[]>> = {
  US: NORTH_AMERICAN.map(northAmerican),
  CA: ['416', '514', '604'].map(northAmerican),
  GB: [
    { prefix: '+44207946', areaCode: '20', digits: 4 },
    { prefix: '+44113496', areaCode: '113', digits: 4 },
    { prefix: '+44121496', areaCode: '121', digits: 4 },
    { prefix: '+44131496', areaCode: '131', digits: 4 },
    { prefix: '+44161496', areaCode: '161', digits: 4 },
    { prefix: '+447700900', areaCode: '7700', digits: 3 },
  ],
  DE: [
    { prefix: '+493023125', areaCode: '30', digits: 3 },
    { prefix: '+496990009', areaCode: '69', digits: 3 },
    { prefix: '+494066969', areaCode: '40', digits: 3 },
    { prefix: '+492214710', areaCode: '221', digits: 3 },
    { prefix: '+498999998', areaCode: '89', digits: 3 },
  ],
  FR: [
    { prefix: '+3319900', areaCode: '1', digits: 4 },
    { prefix: '+3326191', areaCode: '2', digits: 4 },
    { prefix: '+3335301', areaCode: '3', digits: 4 },
    { prefix: '+3346571', areaCode: '4', digits: 4 },
    { prefix: '+3353649', areaCode: '5', digits: 4 },
  ],
  AU: ['2', '3', '7', '8'].map((areaCode) => ({ prefix: `+61${areaCode}5550`, areaCode, digits: 4 })),
};

/** Matching numbers that are not `taken`, in order; without an area the areas alternate. */
export function offers(query: NumberQuery, taken: (number: string) => boolean): NumberOffer[] {
  const { areaCode, limit = 10 } = query;
  const country = query.country.toUpperCase();
  const ranges = rangesOf(country, areaCode);
  const found: NumberOffer[] = [];
  const most = Math.max(0, ...ranges.map(sizeOf));
  for (let index = 0; index < most && found.length < limit; index++) {
    for (const range of ranges) {
      const number = range.prefix + String(index).padStart(range.digits, '0');
      if (index >= sizeOf(range) || found.length === limit || taken(number)) continue;
      found.push({ number, country, monthlyCents: MONTHLY_CENTS });
    }
  }
  return found;
}

function rangesOf(country: string, areaCode: string | undefined): readonly Range[] {
  const ranges = RANGES[country] ?? [];
  if (areaCode === undefined || areaCode === '') return ranges;
  const isNorthAmerican = country === 'US' || country === 'CA';
  // Each area of the plan has 555-01xx.
  if (isNorthAmerican) return /^[2-9]\d\d$/.test(areaCode) ? [northAmerican(areaCode)] : [];
  return ranges.filter((range) => range.areaCode === areaCode.replace(/^0/, ''));
}

function northAmerican(areaCode: string): Range {
  return { prefix: `+1${areaCode}55501`, areaCode, digits: 2 };
}

function sizeOf({ digits }: Range): number {
  return 10 ** digits;
}
