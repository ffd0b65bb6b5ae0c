import { readFileSync, writeFileSync } from 'node:fs';
import { markdownTable } from './numbers.js';
import type { SuiteReport } from './suite-run.js';

/**
 * Puts the tables of a run into a page, each between `<!-- bench: NAME -->` and `<!-- /bench -->`, with the machine and its
 * load. Parts without marks, and marks without a part that came to its end, are left as they are.
 */
export function writeDocs({ time, parts }: SuiteReport, file: URL): void {
  const text = readFileSync(file, 'utf8');
  const done = new Map(parts.filter(({ error }) => error === null).map((part) => [part.name, part]));
  const blocks = /<!-- bench: ([\w-]+) -->[^]*?<!-- \/bench -->/g;
  const written = text.replace(blocks, (whole, name: string) => {
    const part = done.get(name);
    if (part === undefined) return whole;
    const tables = part.tables.map(({ rows }) => markdownTable(rows)).join('\n\n');
    const about = `${part.real} ${time.slice(0, 10)}, ${part.machine}: \`${part.args.join(' ')}\`.`;
    return `<!-- bench: ${name} -->\n\n${about}\n\n${tables}\n\n<!-- /bench -->`;
  });
  writeFileSync(file, written);
}
