/**
 * parley and LiveKit Agents side by side: npm install && node run.mjs [arguments of main.ts]. See README.md.
 *
 * The programs are TypeScript and share bench/lib with the other benchmarks. They are bundled into build/, with parley's
 * own build and all packages left outside.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
for (const [path, remedy] of [
  ['../../../dist/index.js', 'parley is not built: run npm ci && npm run build in its folder first'],
  ['node_modules/@livekit/agents', 'LiveKit Agents is not installed: run npm install here first'],
]) {
  if (existsSync(here(path))) continue;
  console.error(remedy);
  process.exit(1);
}

// What a process does not need it must not load: memory and starts are measured.
const { bundleProgram } = await import('../../lib/bundle.mjs');
await bundleProgram(here('main.ts'), here('build'), { splitting: true });
// The programs see their own arguments only.
process.argv.splice(1, 1, here('build/main.mjs'));
await import(new URL('build/main.mjs', import.meta.url).href);
