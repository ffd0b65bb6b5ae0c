/**
 * Assembles the WASM kernels beside this file into TypeScript modules that carry their bytes. The modules are
 * committed; a test assembles again and compares. Run after changing a .wat: node native/wasm/build.mjs
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import wabt from 'wabt';

/** Each kernel's source here, and the module that carries it, from the package's root. */
export const WASM_KERNELS = [
  ['polyphase.wat', 'src/audio/dsp/polyphase-wasm.ts'],
  ['silero-dense.wat', 'src/providers/vad/silero/silero-dense-wasm.ts'],
];

/** The text of the module that carries the bytes of a .wat of this folder. */
export async function assemble(source) {
  const text = await readFile(new URL(source, import.meta.url), 'utf8');
  const module = (await wabt()).parseWat(source, text, { simd: true });
  module.validate();
  const base64 = Buffer.from(module.toBinary({}).buffer).toString('base64');
  const lines = base64.match(/.{1,110}/g).map((line) => `  '${line}'`);
  return `// Made from native/wasm/${source} by native/wasm/build.mjs.

/** The assembled module, in base64. */
export const WASM_BASE64 =
${lines.join(' +\n')};
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [source, target] of WASM_KERNELS) {
    await writeFile(new URL(`../../${target}`, import.meta.url), await assemble(source));
  }
}
