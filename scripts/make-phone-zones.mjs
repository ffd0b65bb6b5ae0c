/**
 * Makes data/phone-zones.json from the table of libphonenumber. Needed where numbering plans change:
 *
 *   git clone --depth 1 https://github.com/google/libphonenumber
 *   node scripts/make-phone-zones.mjs libphonenumber/resources/timezones/map_data.txt
 *
 * A line of the source is `1208201|America/Denver`: numbers that begin so are in that zone, or in one of several that
 * are joined by `&`; the longest beginning counts. The result has the beginnings by zones, without those that say what
 * a shorter one says already.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [, , source] = process.argv;
if (source === undefined) throw new Error('usage: node scripts/make-phone-zones.mjs <map_data.txt>');

const lines = readFileSync(source, 'utf8').match(/^\d+\|\S+$/gm) ?? [];
const zonesOf = new Map(lines.map((line) => /** @type {[string, string]} */ (line.split('|'))));
/** @type {Record<string, string[]>} */
const beginnings = {};
for (const [digits, zones] of zonesOf) {
  let shorter;
  for (let length = digits.length - 1; length > 0 && shorter === undefined; length--) {
    shorter = zonesOf.get(digits.slice(0, length));
  }
  if (shorter !== zones) (beginnings[zones.replaceAll('&', ' ')] ??= []).push(digits);
}
const text = Object.entries(beginnings).map(([zones, digits]) => `  ${JSON.stringify(zones)}: "${digits.join(' ')}"`);
writeFileSync(new URL('../data/phone-zones.json', import.meta.url), `{\n${text.join(',\n')}\n}\n`);
