/**
 * Bundles the `parley` command (`dist/cli.js`) and the library's entries (`dist/index.js` and those beside it) with all
 * that they import, packages too, into a few chunks that they share, so that a start opens dozens of files instead of a
 * thousand: `bench/startup` shows what that is worth. What is imported late stays a chunk of its own. The modules one by
 * one, as tsc made them, stay in `dist` for worker threads and benchmarks. `npm run build` runs this file, after tsc.
 */
import { build } from 'esbuild';
import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
/** Their sources, for the build's own entries are what is written here. */
const LIBRARY = ['index', 'daemon/index', 'lines/index', 'providers/index', 'testing/index'];

for (const name of readdirSync(dist)) if (/^(cli|bundle)(-\w+)?\.js(\.map)?$/.test(name)) rmSync(join(dist, name));

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { cli: 'src/cli/main.ts', ...Object.fromEntries(LIBRARY.map((name) => [name, `src/${name}.ts`])) },
  // One folder below the package's root, as src/package-files.ts expects of every file that uses it.
  outdir: dist,
  chunkNames: 'bundle-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Packages with files of their own beside their code: compiled addons, WASM, acoustic models.
  // Fastify's compilers of schemas are left out because src/daemon/http/server.ts replaces them, and its
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
    'sherpa-onnx-*',
  ],
  // Its main file asks for the others by a require() that no bundler follows.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  // Half the characters to read at a start. Names stay, so that a stack tells where it was.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  sourcemap: 'linked',
  sourcesContent: false,
  // What the packages inside still ask for with require(): Node's own modules.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module';\nconst require = makeRequire(import.meta.url);",
  },
  legalComments: 'eof',
  logLevel: 'warning',
  metafile: true,
});

for (const name of LIBRARY) rmSync(join(dist, `${name}.js.map`), { force: true }); // of what was there before
for (const [path, { inputs }] of Object.entries(metafile.outputs)) {
  if (dirname(path) !== 'dist' && 'src/package-files.ts' in inputs) {
    throw new Error(`${path} would look for the package's files in the wrong folder`);
  }
}
