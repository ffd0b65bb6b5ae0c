/**
 * Bundles a program of `bench`. They are TypeScript and import the build as '../dist/...', from however deep; the build,
 * scripts (which find their files by their own place) and all packages are left outside.
 */
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {string} source path of the program
 * @param {string} outdir where `<name>.mjs` is written
 * @param {import('esbuild').BuildOptions} [options] more of them
 */
export async function bundleProgram(source, outdir, options = {}) {
  await build({
    entryPoints: [source],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    plugins: [
      {
        name: 'build-stays-outside',
        setup(bundler) {
          bundler.onResolve({ filter: /^(\.\.\/)+(dist|scripts)\// }, ({ path }) => ({
            path: relative(outdir, join(root, path.replace(/^(\.\.\/)+/, ''))),
            external: true,
          }));
        },
      },
    ],
    ...options,
  });
}
