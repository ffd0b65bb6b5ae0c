/** Builds the pages that the daemon serves, to talk and to read: `src/web/page` and `src/web/docs` into `dist/web`. `npm run build` runs this file. */
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

const to = fileURLToPath(new URL('../dist/web/', import.meta.url));

/** @type {import('esbuild').BuildOptions} */
const options = {
  outdir: to,
  loader: { '.html': 'copy', '.svg': 'copy' },
  bundle: true,
  format: 'esm',
  // What browsers of the last three years have: AudioWorklet, private members, color-mix, :has().
  target: ['chrome111', 'firefox121', 'safari16.4'],
  minify: true,
  logLevel: 'warning',
};

await build({
  ...options,
  absWorkingDir: folder('page'),
  entryPoints: ['main.ts', 'capture-worklet.ts', 'playback-worklet.ts', 'index.html', 'style.css', 'icon.svg'],
});
await build({
  ...options,
  absWorkingDir: folder('docs'),
  entryPoints: { docs: 'main.ts' },
});
await build({
  ...options,
  absWorkingDir: folder('docs'),
  entryPoints: [
    { in: 'index.html', out: 'docs' },
    { in: 'style.css', out: 'docs' },
  ],
});

/** @param {string} name */
function folder(name) {
  return fileURLToPath(new URL(`../src/web/${name}/`, import.meta.url));
}
