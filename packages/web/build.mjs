/** Builds the package into `dist`: one module, with the audio worklets as text in it, and its types. */
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
/** @type {import('esbuild').BuildOptions} */
const options = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  // As scripts/build-web.mjs has it.
  target: ['chrome111', 'firefox121', 'safari16.4'],
  logLevel: 'warning',
};

rmSync(new URL('dist', import.meta.url), { recursive: true, force: true });
const worklets = await build({
  ...options,
  stdin: { contents: "import './src/capture-worklet.ts'; import './src/playback-worklet.ts';", resolveDir: root },
  format: 'iife',
  minify: true,
  write: false,
});
await build({
  ...options,
  entryPoints: { index: 'src/index.ts' },
  outdir: 'dist',
  // Users' bundlers make names short, and stacks stay readable until then.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  define: { PARLEY_WORKLETS: JSON.stringify(worklets.outputFiles[0]?.text ?? '') },
});
execFileSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.json'], { cwd: root, stdio: 'inherit' });
