/**
 * A manual of 200 pages: how long it takes to read and index, how long a spoken question takes, how late the main thread
 * is meanwhile, and whether the right page comes first.
 *
 *   npm run build && node bench/run.mjs knowledge [--database postgres://…]
 *
 * It adds a file to the database and removes it. Default: in memory, with SQLite.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { KnowledgeBase } from '../dist/store/knowledge.js';
import { Random } from '../dist/base/random.js';
import { median, quantile } from './lib/numbers.js';
import { makePdf, type PdfLine } from './lib/pdf.js';

const PAGES = 200;
const LINES = 44;
const QUESTIONS = 300;

const chance = new Random(7);
const random = (): number => chance.next();
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const syllables = 'ba ke lo mi nu ra si to ve wa zo pre tri clo gan hel mon par sten vor'.split(' ');
const words = Array.from({ length: 4000 }, () => pick(syllables) + pick(syllables) + pick(syllables));
// Common words are common: a few of them make up half of any text.
const word = (): string => words[Math.floor(words.length * random() ** 3)] as string;

/** One fact a page, somewhere among the filler. */
const facts = Array.from({ length: PAGES }, (_, page) => ({
  fact: `The warranty of the ${word()} ${word()} lasts ${String(page + 3)} months and starts with the delivery.`,
  page: page + 1,
}));
const pages = facts.map(({ fact }, page) => {
  const lines: (string | PdfLine)[] = [{ text: `Chapter ${String(page + 1)}: ${word()}`, heading: true }];
  for (let line = 0; line < LINES; line++) {
    const words = Array.from({ length: 11 }, word).join(' ');
    lines.push(line === LINES / 2 ? fact : `${(words[0] ?? '').toUpperCase()}${words.slice(1)}.`);
  }
  return lines;
});
const source = makePdf(pages);

const { values } = parseArgs({ options: { database: { type: 'string' } } });
const base = new KnowledgeBase({ databaseUrl: values.database ?? null });
const delay = monitorEventLoopDelay({ resolution: 1 });
await base.list();
const late = (): string =>
  `late by ${(delay.percentile(99) / 1e6).toFixed(1)} ms (p99), ${(delay.max / 1e6).toFixed(1)} ms at most`;
delay.enable();
await new Promise((resolve) => setTimeout(resolve, 3000));
console.log(`main thread with nothing to do: ${late()}`);
delay.reset();
const startMs = performance.now();
const { passages } = await base.add({ id: 'manual', name: 'manual.pdf', source });
const readMs = performance.now() - startMs;
delay.disable();
const size = `${String(PAGES)} pages, ${(source.length / 1e6).toFixed(1)} MB, ${String(passages)} passages`;
console.log(`${size}: read and indexed in ${(readMs / 1000).toFixed(1)} s`);
console.log(`main thread meanwhile: ${late()}`);

const times: number[] = [];
let first = 0;
let amongFive = 0;
const { signal } = new AbortController();
for (let round = 0; round < QUESTIONS; round++) {
  const { fact, page } = pick(facts);
  const [, thing] = /of the (\w+ \w+)/.exec(fact) ?? [];
  const text = `um how long is the warranty of my ${String(thing)} please`;
  const startMs = performance.now();
  const found = await base.search({ text, fileIds: ['manual'], language: 'en', limit: 5, signal });
  times.push(performance.now() - startMs);
  const place = found.findIndex((passage) => passage.page === page);
  if (place === 0) first++;
  if (place !== -1) amongFive++;
}
const ms = (value: number): string => `${value.toFixed(1)} ms`;
console.log(`search: ${ms(median(times))} median, ${ms(quantile(times, 0.99))} p99, ${ms(Math.max(...times))} at most`);
console.log(`the right page: first in ${String(first)} of ${String(QUESTIONS)}, among five in ${String(amongFive)}`);
await base.remove('manual');
await base.close();
