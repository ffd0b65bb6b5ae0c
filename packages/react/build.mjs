/** Builds the package into `dist`: one module, the style sheet, and the types. The package for browsers is built before. */
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));

rmSync(new URL('dist', import.meta.url), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: ['src/index.ts', 'src/style.css'],
  outdir: 'dist',
  bundle: true,
  packages: 'external',
  format: 'esm',
  jsx: 'automatic',
  // As scripts/build-web.mjs has it.
  target: ['chrome111', 'firefox121', 'safari16.4'],
  // Next.js and others render these components on the server too, and then hand them over to the browser.
  banner: { js: "'use client';" },
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  logLevel: 'warning',
});
execFileSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.json'], { cwd: root, stdio: 'inherit' });
copyFileSync(`${root}src/style.css.d.ts`, `${root}dist/types/style.css.d.ts`);
