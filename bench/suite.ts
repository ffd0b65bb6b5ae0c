/**
 * The whole set that a person can wait for: `npm run bench`.
 *
 *   npm run build && npm run bench                    # about twenty minutes
 *   npm run bench -- --quick                          # under three minutes
 *   npm run bench -- --only=startup,micro             # parts of it by name
 *   npm run bench -- --from=bench/results/bench.json --docs
 *
 * Runs one benchmark after the other, each in a process of its own, and writes bench/results/bench.json (every table, every
 * measured turn, machine and versions) and bench/results/bench.html (the same to look at; it loads nothing), and prints one
 * table of the figures that matter most. What fails is said and does not stop the rest; the exit code tells.
 *
 * `--docs` also puts the tables into docs/benchmarks.md and READMEs of this folder, each between the marks of its part
 * (`<!-- bench: NAME -->`); with `--from` it takes those of a run that is over.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { markdownTable } from './lib/numbers.js';
import { machine } from './lib/machine.js';
import { writeDocs } from './lib/suite-docs.js';
import { headlineRows, suitePage } from './lib/suite-page.js';
import { PARTS } from './lib/suite-parts.js';
import { isThere, runPart, type SuiteReport, versions } from './lib/suite-run.js';

const DOCS = ['../docs/benchmarks.md', 'README.md', 'peers/kernels/README.md'];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    from: { type: 'string' },
    docs: { type: 'boolean', default: false },
    out: { type: 'string', default: fileURLToPath(new URL('results', import.meta.url)) },
  },
});
const report =
  values.from === undefined ? await measured() : (JSON.parse(readFileSync(values.from, 'utf8')) as SuiteReport);
writeFileSync(join(values.out, 'bench.html'), suitePage(report));
if (values.docs) for (const page of DOCS) writeDocs(report, new URL(page, import.meta.url));
console.log(`\n${markdownTable(headlineRows(report))}\n\nbegan: ${report.began}\nended: ${report.ended}`);
for (const { name, error } of report.parts) if (error !== null) console.log(`failed: ${name}: ${error}`);
console.log(`bench.json and bench.html are in ${values.out}`);
process.exit(report.parts.some(({ error }) => error !== null) ? 1 : 0);

async function measured(): Promise<SuiteReport> {
  mkdirSync(values.out, { recursive: true });
  const names = values.only?.split(',') ?? PARTS.map(({ name }) => name);
  const unknown = names.filter((name) => PARTS.every((part) => part.name !== name));
  if (unknown.length > 0)
    throw new Error(`no such part: ${unknown.join(', ')}; of ${PARTS.map(({ name }) => name).join(', ')}`);
  const made: SuiteReport = {
    time: new Date().toISOString(),
    began: machine(),
    ended: '',
    versions: versions(),
    quick: values.quick,
    parts: [],
  };
  for (const part of PARTS.filter(({ name }) => names.includes(name))) {
    const args = values.quick ? part.quick : part.args;
    if (args === null || !isThere(args)) {
      console.error(`${part.name}: left out${args === null ? '' : ', its packages are not installed'}`);
      continue;
    }
    console.error(`\n== ${part.title} (${args.join(' ')})`);
    made.parts.push(await runPart(part, args, values.out));
    made.ended = machine();
    // What has been measured is not lost where the run is broken off.
    writeFileSync(join(values.out, 'bench.json'), `${JSON.stringify(made)}\n`);
  }
  return made;
}
