/** Builds what the daemon serves to browsers, the folders of `src/web`, into `dist/web`. `npm run build` runs this file. */
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

const to = fileURLToPath(new URL('../dist/web/', import.meta.url));

// What browsers of the last three years have: AudioWorklet, private members, color-mix, :has().
const target = ['chrome111', 'firefox121', 'safari16.4'];

/** @type {import('esbuild').BuildOptions} */
const options = {
  outdir: to,
  loader: { '.html': 'copy', '.svg': 'copy' },
  bundle: true,
  format: 'esm',
  target,
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
await build({
  ...options,
  absWorkingDir: folder('console'),
  // The worker has the conversation core: it is fetched by those who replay a call.
  entryPoints: { console: 'main.ts', 'replay-worker': 'replay/replay-worker.ts' },
});
await build({
  ...options,
  absWorkingDir: folder('console'),
  entryPoints: [
    { in: 'index.html', out: 'console' },
    { in: 'style.css', out: 'console' },
  ],
});
await build({
  ...options,
  absWorkingDir: folder('widget'),
  entryPoints: { widget: 'main.ts' },
  // A plain script, which knows its own tag and leaves nothing global behind.
  format: 'iife',
  plugins: [styleAsText()],
});
await build({
  ...options,
  absWorkingDir: folder('widget'),
  entryPoints: [{ in: 'frame.html', out: 'widget' }],
});

/**
 * Style sheets that a script imports are text in it, with what they import. A `rem` would be the size that a page around
 * has set: in its place comes `--u`, which the widget sets itself.
 * @returns {import('esbuild').Plugin}
 */
function styleAsText() {
  return {
    name: 'style-as-text',
    setup(bundle) {
      bundle.onLoad({ filter: /\.css$/ }, async ({ path }) => {
        const { outputFiles } = await build({ target, minify: true, entryPoints: [path], bundle: true, write: false });
        const css = outputFiles[0]?.text ?? '';
        return { loader: 'text', contents: css.trim().replaceAll(/(\d*\.?\d+)rem\b/g, 'calc(var(--u)*$1)') };
      });
    },
  };
}

/** @param {string} name */
function folder(name) {
  return fileURLToPath(new URL(`../src/web/${name}/`, import.meta.url));
}
