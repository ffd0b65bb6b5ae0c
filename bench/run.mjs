/**
 * Runs a benchmark of this folder against the build: node bench/run.mjs <name> [its own arguments]. Without a name it runs
 * the set of suite.ts; `--help` lists the names.
 *
 * They are bundled into bench/.build (lib/bundle.mjs), with `import.meta.url` still that of their source.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundleProgram } from './lib/bundle.mjs';

const names = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.ts'));
const USAGE = `node bench/run.mjs                     the whole set, about twenty minutes
node bench/run.mjs --quick             the same, shorter
node bench/run.mjs --only=NAME,NAME    some parts of the set
node bench/run.mjs NAME [options]      one benchmark:
  ${names.map((file) => file.slice(0, -3)).join('\n  ')}
The head of bench/NAME.ts describes its options.`;
if (process.argv[2] === '--help') {
  console.log(USAGE);
  process.exit();
}
if (process.argv[2] === undefined || process.argv[2].startsWith('--')) process.argv.splice(2, 0, 'suite');
const name = process.argv[2];
const source = new URL(`${name}.ts`, import.meta.url);
if (!/^[\w-]+$/.test(name) || !existsSync(source)) {
  console.error(USAGE);
  process.exit(1);
}
if (!existsSync(new URL('../dist', import.meta.url))) {
  console.error('There is no build: run npm run build first');
  process.exit(1);
}

const outdir = fileURLToPath(new URL('.build', import.meta.url));
await bundleProgram(fileURLToPath(source), outdir, { define: { 'import.meta.url': JSON.stringify(source.href) } });
const outfile = join(outdir, `${name}.mjs`);
// The benchmark sees its own arguments only.
process.argv.splice(1, 2, outfile);
await import(pathToFileURL(outfile).href);
