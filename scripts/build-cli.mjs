/**
 * Builds the `parley` command: `dist/cli/main.js` and all that it imports, packages too, into `dist/cli.js` and a few
 * chunks beside it, so that a start opens a dozen files instead of a thousand (`bench/startup` shows what that is
 * worth). Commands stay chunks of their own, loaded when they are called. `npm run build` runs this file, after tsc.
 */
import { build } from 'esbuild';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
for (const name of readdirSync(dist)) if (/^cli(-\w+)?\.js$/.test(name)) rmSync(join(dist, name));

await build({
  absWorkingDir: root,
  entryPoints: { cli: 'dist/cli/main.js' },
  // One folder below the package's root, as src/package-files.ts expects of every file that uses it.
  outdir: dist,
  chunkNames: 'cli-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Packages with files of their own beside their code: compiled addons, WASM, acoustic models.
  // Fastify's compilers of schemas are left out because src/daemon/server.ts replaces them, and its
  // client for tests; the parser of uploads because a chunk of CommonJS has no names when it is imported late.
  external: [
    '@fastify/*-compiler',
    'light-my-request',
    '@fastify/busboy',
    'better-sqlite3',
    'webrtcvad',
    'soundswallower',
    'werift',
    '@echogarden/*',
    'onnxruntime-*',
  ],
  // Half the characters to read at a start. Names stay, so that a stack tells where it was.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  // What the packages inside still ask for with require(): Node's own modules.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module';\nconst require = makeRequire(import.meta.url);",
  },
  legalComments: 'eof',
  logLevel: 'warning',
});
