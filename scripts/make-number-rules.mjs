/**
 * Makes data/number-rules.json from the metadata of libphonenumber. Needed where numbering plans change:
 *
 *   git clone --depth 1 https://github.com/google/libphonenumber
 *   node scripts/make-number-rules.mjs libphonenumber/resources
 *
 * By calling code: the length of the shortest numbers, what the expensive ones begin with (premium rate, shared cost,
 * personal numbers), and the emergency numbers; of all countries that share the code.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from 'htmlparser2';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node scripts/make-number-rules.mjs <resources>');

const EXPENSIVE = new Set(['premiumRate', 'sharedCost', 'personalNumber']);
/** Kinds of numbers that people have. */
const ORDINARY = new Set(['fixedLine', 'mobile']);

/** Digits of the longest numbers that there are. */
const LONGEST = 15;

/** @type {Map<string, {shortest: number, expensive: Set<string>, emergency: Set<string>}>} */
const rules = new Map();
/** Calling codes by country: the file of short numbers has countries only. @type {Map<string, string>} */
const codes = new Map();
read('PhoneNumberMetadata.xml', (rule, kind, { pattern, lengths }) => {
  if (EXPENSIVE.has(kind) && pattern !== '') rule.expensive.add(pattern);
  if (ORDINARY.has(kind) && lengths !== '') rule.shortest = Math.min(rule.shortest, shortestOf(lengths));
});
read('ShortNumberMetadata.xml', (rule, kind, { pattern }) => {
  if (kind === 'emergency' && pattern !== '') rule.emergency.add(pattern);
});

const lines = [...rules]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([code, { shortest, expensive, emergency }]) => {
    const joined = (/** @type {Set<string>} */ patterns) => [...patterns].sort().join('|');
    const rule = {
      shortest: shortest === LONGEST ? 1 : shortest,
      expensive: joined(expensive),
      emergency: joined(emergency),
    };
    return `  ${JSON.stringify(code)}: ${JSON.stringify(rule)}`;
  });
writeFileSync(new URL('../data/number-rules.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`);

/** `[9-11]`, `7,10` and the like. @param {string} lengths */
function shortestOf(lengths) {
  return Math.min(...(lengths.match(/\d+/g) ?? []).map(Number));
}

/**
 * @param {string} name
 * @param {(rule: {shortest: number, expensive: Set<string>, emergency: Set<string>}, kind: string,
 *   facts: {pattern: string, lengths: string}) => void} take one kind of number of one country
 */
function read(name, take) {
  /** @type {string[]} */
  const path = [];
  let code = '';
  let facts = { pattern: '', lengths: '' };
  const parser = new Parser(
    {
      onopentag(tag, attributes) {
        path.push(tag);
        if (tag === 'territory') {
          const { id = '', countryCode } = attributes;
          code = countryCode ?? codes.get(id) ?? '';
          if (countryCode !== undefined) codes.set(id, countryCode);
        }
        if (path.at(-2) === 'territory') facts = { pattern: '', lengths: '' };
        if (tag === 'possibleLengths') facts.lengths = attributes['national'] ?? '';
      },
      ontext(text) {
        if (path.at(-1) === 'nationalNumberPattern') facts.pattern += text.replace(/\s+/g, '');
      },
      onclosetag(tag) {
        path.pop();
        if (path.at(-1) !== 'territory' || facts.pattern === 'NA' || code === '') return;
        const rule = rules.get(code) ?? { shortest: LONGEST, expensive: new Set(), emergency: new Set() };
        rules.set(code, rule);
        take(rule, tag, facts);
      },
    },
    { xmlMode: true },
  );
  parser.write(readFileSync(join(folder ?? '', name), 'utf8'));
  parser.end();
}
