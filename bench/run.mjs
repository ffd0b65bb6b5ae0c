/**
 * Runs a benchmark of this folder against the build: node bench/run.mjs <name> [its own arguments]. Without a name it
 * lists them.
 *
 * Benchmarks are TypeScript and import the build as '../dist/...'. They are bundled into bench/.build, the build and
 * all packages left outside, with `import.meta.url` still that of their source.
 */
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const name = process.argv[2];
const source = new URL(`${name}.ts`, import.meta.url);
if (name === undefined || !/^[\w-]+$/.test(name) || !existsSync(source)) {
  const names = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.ts'));
  console.error(`node bench/run.mjs <name>\n  ${names.map((file) => file.slice(0, -3)).join('\n  ')}`);
  process.exit(name === undefined ? 0 : 1);
}
if (!existsSync(new URL('../dist', import.meta.url))) {
  console.error('There is no build: run npm run build first');
  process.exit(1);
}

const outfile = fileURLToPath(new URL(`.build/${name}.mjs`, import.meta.url));
await build({
  entryPoints: [fileURLToPath(source)],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  define: { 'import.meta.url': JSON.stringify(source.href) },
  plugins: [
    {
      name: 'build-stays-outside',
      setup(bundler) {
        bundler.onResolve({ filter: /^(\.\.\/)+dist\// }, ({ path }) => ({
          path: path.replace(/^(\.\.\/)+/, '../../'),
          external: true,
        }));
      },
    },
  ],
});
// The benchmark sees its own arguments only.
process.argv.splice(1, 2, outfile);
await import(pathToFileURL(outfile).href);
