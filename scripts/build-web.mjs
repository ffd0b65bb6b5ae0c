/** Builds what the daemon serves to browsers, the folders of `src/web`, into `dist/web`. `npm run build` runs this file. */
import { build } from 'esbuild';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { workletScript } from '../packages/web/worklets.mjs';

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
  // The pages load the worklets' scripts from the daemon, because their policies allow no others.
  define: { PARLEY_WORKLETS: '""' },
  logLevel: 'warning',
};

// Chunks of earlier builds have other names.
mkdirSync(to, { recursive: true });
for (const name of readdirSync(to)) if (/^console-.*\.js$/.test(name)) rmSync(to + name);

await build({
  ...options,
  absWorkingDir: folder('page'),
  entryPoints: ['main.ts', 'index.html', 'style.css', 'icon.svg'],
});
await build({
  ...options,
  absWorkingDir: fileURLToPath(new URL('../packages/web/src/', import.meta.url)),
  entryPoints: ['capture-worklet.ts', 'playback-worklet.ts'],
});
await build({
  ...options,
  absWorkingDir: fileURLToPath(new URL('../packages/web/src/', import.meta.url)),
  // For pages without a bundler, on any origin.
  entryPoints: { 'web-sdk': 'index.ts' },
  define: { PARLEY_WORKLETS: JSON.stringify(await workletScript(target)) },
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
  entryPoints: { console: 'main.ts' },
  // Test suites and calls of one's own are loaded when a user opens them. What several need is in chunks.
  splitting: true,
  chunkNames: 'console-[name]-[hash]',
});
await build({
  ...options,
  absWorkingDir: folder('console'),
  // The conversation core: loaded when a user replays a call.
  entryPoints: { 'replay-worker': 'replay/replay-worker.ts' },
  plugins: [withoutSchemas()],
});
await build({
  ...options,
  absWorkingDir: folder('console'),
  entryPoints: [
    { in: 'index.html', out: 'console' },
    { in: 'style.css', out: 'console' },
    // Loaded with their views.
    { in: 'styles/active.css', out: 'console-active' },
    { in: 'styles/evals.css', out: 'console-evals' },
    { in: 'styles/flow.css', out: 'console-flow' },
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
 * Style sheets that a script imports are text in it, with what they import.
 * @returns {import('esbuild').Plugin}
 */
function styleAsText() {
  return {
    name: 'style-as-text',
    setup(bundle) {
      bundle.onLoad({ filter: /\.css$/ }, async ({ path }) => {
        const { outputFiles } = await build({ target, minify: true, entryPoints: [path], bundle: true, write: false });
        const css = outputFiles[0]?.text ?? '';
        return { loader: 'text', contents: css.trim() };
      });
    },
  };
}

/**
 * Leaves out schemas that nothing uses. The conversation core needs the settings' defaults, which stand beside their
 * schemas, and parses nothing; with zod it would be half as large again. esbuild drops an unused call only where it is
 * marked as one without effects.
 * @returns {import('esbuild').Plugin}
 */
function withoutSchemas() {
  return {
    name: 'without-schemas',
    setup(bundle) {
      bundle.onLoad(
        { filter: /[\\/](agent[\\/]flow[\\/][\w-]+|agent[\\/]language|schema[\\/][\w-]+)\.ts$/ },
        async ({ path }) => {
          const source = await readFile(path, 'utf8');
          const contents = source.replaceAll(
            /\b(z\s*\.|\w+Schema\s*\.superRefine\(|optional\(|required\()/g,
            '/* @__PURE__ */ $1',
          );
          return { loader: 'ts', contents };
        },
      );
    },
  };
}

/** @param {string} name */
function folder(name) {
  return fileURLToPath(new URL(`../src/web/${name}/`, import.meta.url));
}
