/**
 * parley and LiveKit Agents for Node, measured side by side: see README.md for what each figure counts.
 *
 *   npm install && node run.mjs [--rounds=1] [--only=start,decision,interruption,cost] [--turns=8] [--seconds=6]
 *
 * Every case has a fresh process; the two sides take turns. Prints one table and writes bench/results/livekit-agents.json.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureInChild } from '../../lib/child.js';
import { machine } from '../../lib/machine.js';
import { markdownTable } from '../../lib/numbers.js';
import { type Case, casesOf, fullerCases, type Measured, measure } from './cases.js';
import { tableOf } from './table.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: 'start,decision,interruption,cost' },
    turns: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '6' },
    one: { type: 'string' },
  },
});

const VERSIONS = Object.fromEntries(
  [
    '@livekit/agents',
    '@livekit/agents-plugin-silero',
    '@livekit/local-inference',
    '@livekit/rtc-node',
    'onnxruntime-node',
  ].map((name) => [name, versionOf(name)]),
);

if (values.one === undefined) {
  await all();
} else {
  console.log(JSON.stringify(await measure(JSON.parse(values.one) as Case)));
  process.exit(0);
}

async function all(): Promise<void> {
  const began = machine();
  const startMs = performance.now();
  const measured: Measured[] = [];
  const seconds = Number(values.seconds);
  const cases = casesOf(values.only.split(','), Number(values.turns), seconds);
  const run = async (some: readonly Case[], name: string): Promise<void> => {
    for (const [index, one] of some.entries()) {
      const result = await measureInChild<Measured['result']>([`--one=${JSON.stringify(one)}`]);
      measured.push({ case: one, result });
      keep({ began, versions: VERSIONS, arguments: values, measured }); // a run that is broken off is not lost
      console.error(`${name}, ${String(index + 1)} of ${String(some.length)}: ${JSON.stringify(one)}`);
    }
  };
  for (let round = 1; round <= Number(values.rounds); round++) await run(cases, `round ${String(round)}`);
  // More of them cost less each: once more from there.
  for (const step of ['filling a core', 'once more']) await run(fullerCases(measured, seconds), step);
  const ended = `${machine()}, after ${((performance.now() - startMs) / 1000).toFixed(0)} s`;
  const table = tableOf(measured);
  keep({ began, ended, versions: VERSIONS, arguments: values, table, measured });
  const versions = Object.entries(VERSIONS).map((entry) => entry.join(' '));
  console.log(`${markdownTable(table)}\n\nbegan: ${began}\nended: ${ended}\n${versions.join(', ')}`);
}

function keep(report: object): void {
  const folder = new URL('../../../results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('livekit-agents.json', folder), `${JSON.stringify(report, null, 2)}\n`);
}

function versionOf(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
