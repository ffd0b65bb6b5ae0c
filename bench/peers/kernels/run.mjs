/** parley's kernels beside packages of others: npm install && node run.mjs [arguments of main.ts]. See README.md. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
for (const [path, remedy] of [
  ['../../../dist/index.js', 'parley is not built: run npm ci && npm run build in its folder first'],
  ['node_modules/opusscript', 'the packages are not installed: run npm install here first'],
]) {
  if (existsSync(here(path))) continue;
  console.error(remedy);
  process.exit(1);
}
const { bundleProgram } = await import('../../lib/bundle.mjs');
await bundleProgram(here('main.ts'), here('build'));
// The program sees its own arguments only.
process.argv.splice(1, 1, here('build/main.mjs'));
await import(new URL('build/main.mjs', import.meta.url).href);
