import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

/**
 * Both audio worklets as one script, for `PARLEY_WORKLETS` (src/worklets.ts).
 * @param {string[]} target oldest browsers
 */
export async function workletScript(target) {
  const resolveDir = fileURLToPath(new URL('.', import.meta.url));
  const contents = "import './src/capture-worklet.ts'; import './src/playback-worklet.ts';";
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    format: 'iife',
    target,
    minify: true,
    write: false,
    logLevel: 'warning',
  });
  return outputFiles[0]?.text ?? '';
}
