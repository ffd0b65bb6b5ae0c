/** Builds the package into `dist`: one module, with the audio worklets as text in it, and its types. */
import { build } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { workletScript } from './worklets.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));
// As scripts/build-web.mjs has it.
const target = ['chrome111', 'firefox121', 'safari16.4'];

rmSync(new URL('dist', import.meta.url), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  target,
  logLevel: 'warning',
  entryPoints: { index: 'src/index.ts' },
  outdir: 'dist',
  // Users' bundlers make names short, and stacks stay readable until then.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  define: { PARLEY_WORKLETS: JSON.stringify(await workletScript(target)) },
});
execFileSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.json'], { cwd: root, stdio: 'inherit' });
