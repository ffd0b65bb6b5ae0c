import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { onnxFile } from '../../../fixtures/lib/onnx.mjs';
import { readOnnxFacts } from '../../../src/providers/local/onnx-facts.js';
import { MADE_MODELS } from './made-models.js';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function file(bytes: Uint8Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-onnx-'));
  folders.push(folder);
  const path = join(folder, 'model.onnx');
  await writeFile(path, bytes);
  return path;
}

it('reads metadata and the names of inputs', async () => {
  const { metadata, inputs } = await readOnnxFacts(join(MADE_MODELS, 'made-voice/model.onnx'));
  expect(Object.fromEntries(metadata)).toMatchObject({ comment: 'made', sample_rate: '22050', n_speakers: '2' });
  expect(inputs).toEqual(['x', 'x_length', 'noise_scale', 'length_scale', 'noise_scale_w', 'sid']);
});

it('skips weights, however large, and values that nobody looks for', async () => {
  const weights = {
    name: 'w',
    type: 'float' as const,
    shape: [100_000],
    data: Array.from({ length: 100_000 }, () => 1),
  };
  const path = await file(
    onnxFile({
      inputs: [{ name: 'sound', type: 'float', shape: [1] }],
      outputs: [],
      constants: [weights],
      nodes: [],
      metadata: { long: 'x'.repeat(100_000), last: 'here' },
    }),
  );
  const { metadata, inputs } = await readOnnxFacts(path);
  expect([...metadata]).toEqual([
    ['long', ''],
    ['last', 'here'],
  ]);
  expect(inputs).toEqual(['sound']);
});

it.each([
  ['text', Buffer.from('one 1\ntwo 2\n')],
  ['nothing', Buffer.alloc(0)],
  ['noise', Buffer.alloc(1000, 0xff)],
])('tells a file of %s from a model', async (_what, bytes) => {
  await expect(readOnnxFacts(await file(bytes))).rejects.toThrow(/not an ONNX file/);
});

it('tells a file that is cut off', async () => {
  const whole = await readFile(join(MADE_MODELS, 'made-voice/model.onnx'));
  for (const share of [0.1, 0.5, 0.8]) {
    const path = await file(whole.subarray(0, Math.floor(share * whole.length)));
    await expect(readOnnxFacts(path)).rejects.toThrow(/truncated/);
  }
});
