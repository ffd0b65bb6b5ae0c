import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { WASM_KERNELS, assemble } from '../native/wasm/build.mjs';

it.each(WASM_KERNELS)('%s assembles to the bytes in %s', async (source, target) => {
  const committed = readFileSync(new URL(`../${target}`, import.meta.url), 'utf8');
  expect(await assemble(source)).toBe(committed);
});
