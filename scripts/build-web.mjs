/** Builds the page that the daemon serves: `src/web/page` into `dist/web`. `npm run build` runs this file. */
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

const from = fileURLToPath(new URL('../src/web/page/', import.meta.url));

await build({
  absWorkingDir: from,
  entryPoints: ['main.ts', 'capture-worklet.ts', 'playback-worklet.ts', 'index.html', 'style.css', 'icon.svg'],
  outdir: fileURLToPath(new URL('../dist/web/', import.meta.url)),
  loader: { '.html': 'copy', '.svg': 'copy' },
  bundle: true,
  format: 'esm',
  // What browsers of the last three years have: AudioWorklet, private members, color-mix, :has().
  target: ['chrome111', 'firefox121', 'safari16.4'],
  minify: true,
  logLevel: 'warning',
});
