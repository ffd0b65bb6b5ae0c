/**
 * parley and LiveKit Agents side by side: npm install && node run.mjs [arguments of main.ts]. See README.md.
 *
 * The programs are TypeScript and share bench/lib with the other benchmarks. They are bundled into build/, with parley's
 * own build and all packages left outside.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
for (const [path, remedy] of [
  ['../../../dist/index.js', 'parley is not built: run npm ci && npm run build in its folder first'],
  ['node_modules/@livekit/agents', 'LiveKit Agents is not installed: run npm install here first'],
]) {
  if (existsSync(here(path))) continue;
  console.error(remedy);
  process.exit(1);
}

await build({
  entryPoints: [here('main.ts')],
  outdir: here('build'),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  // What a process does not need it must not load: memory and starts are measured.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  plugins: [
    {
      name: 'build-stays-outside',
      setup(bundler) {
        bundler.onResolve({ filter: /^(\.\.\/)+dist\// }, ({ path }) => ({
          path: path.replace(/^(\.\.\/)+/, '../../../../'),
          external: true,
        }));
      },
    },
  ],
});
// The programs see their own arguments only.
process.argv.splice(1, 1, here('build/main.mjs'));
await import(new URL('build/main.mjs', import.meta.url).href);
