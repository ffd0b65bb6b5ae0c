import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { OnnxTurnModel } from '../../../src/providers/turn/onnx.js';

const RUNTIME = new URL('./fake-runtime.mjs', import.meta.url).href;
const FEATURES = { input: 'input_features', dims: [1, 80, 800] };
const WAVE = { input: 'audio', dims: [1, 128_000] };

let folder: string;
let files = 0;
let models: OnnxTurnModel[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-turn-'));
});
afterEach(async () => {
  await Promise.all(models.map((model) => model.close()));
  models = [];
});
afterAll(() => rm(folder, { recursive: true }));

async function model(content: object, runtime = RUNTIME): Promise<OnnxTurnModel> {
  const path = join(folder, `model-${String(files++)}.onnx`);
  await writeFile(path, JSON.stringify(content));
  const made = new OnnxTurnModel({ path, runtime });
  models.push(made);
  return made;
}

const request = (samples = new Int16Array(16_000).fill(900)) => ({
  samples,
  language: 'en-US',
  clock: new RealClock(),
  signal: new AbortController().signal,
});

describe('OnnxTurnModel', () => {
  it.each([
    ['a probability from the spectrogram', { ...FEATURES, gives: [0.83] }, 0.83],
    ['a probability from the samples', { ...WAVE, gives: [0.25] }, 0.25],
    ['a logit', { ...WAVE, gives: [3] }, 1 / (1 + Math.exp(-3))],
    ['a pair of logits', { ...FEATURES, gives: [1, 2] }, 1 / (1 + Math.exp(-1))],
  ])('takes %s', async (_what, content, probability) => {
    const turnModel = await model(content);
    await turnModel.warmUp();
    expect(await turnModel.judge(request())).toBeCloseTo(probability, 6);
    expect(await turnModel.judge(request(new Int16Array(0)))).toBeCloseTo(probability, 6);
    expect(await turnModel.judge(request(new Int16Array(200_000).fill(5)))).toBeCloseTo(probability, 6);
  });

  it('gives the model audio of mean 0', async () => {
    const turnModel = await model({ ...WAVE, tellsMean: true });
    expect(await turnModel.judge(request())).toBeCloseTo(0, 4);
  });

  it('answers at a certain time where time is virtual', async () => {
    const turnModel = await model({ ...WAVE, gives: [0.5] });
    await turnModel.warmUp();
    const clock = new VirtualClock();
    let answeredMs = 0;
    const answer = turnModel.judge({ ...request(), clock }).then(() => (answeredMs = clock.nowMs()));
    await clock.advanceTo(1000);
    await answer;
    expect(answeredMs).toBe(40);
  });

  it('names what is missing', async () => {
    const noFile = new OnnxTurnModel({ path: join(folder, 'none.onnx'), runtime: RUNTIME });
    await expect(noFile.warmUp()).rejects.toMatchObject({ code: 'TURN_MODEL_UNUSABLE' });
    await expect(noFile.warmUp()).rejects.toThrow('the file does not exist');
    const noPackage = await model(WAVE, 'parley-has-no-such-package');
    await expect(noPackage.warmUp()).rejects.toThrow(
      'the package parley-has-no-such-package is not installed; run npm install parley-has-no-such-package',
    );
  });

  it('names all packages that could run it, where none is there', async () => {
    const path = join(folder, 'any.onnx');
    await writeFile(path, '{}');
    const turnModel = new OnnxTurnModel({ path, runtime: ['parley-has-no-such', 'parley-has-no-other'] });
    models.push(turnModel);
    await expect(turnModel.warmUp()).rejects.toThrow(
      'neither parley-has-no-such nor parley-has-no-other is installed; run npm install parley-has-no-other',
    );
  });

  it('asks for its file when it is needed, and again after a failure', async () => {
    const path = join(folder, 'late.onnx');
    await writeFile(path, JSON.stringify({ ...WAVE, gives: [0.5] }));
    let asked = 0;
    const find = (): Promise<string> =>
      asked++ === 0 ? Promise.reject(new ParleyError('MODEL_UNKNOWN')) : Promise.resolve(path);
    const turnModel = new OnnxTurnModel({ path: find, runtime: RUNTIME });
    models.push(turnModel);
    await expect(turnModel.warmUp()).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    expect(await turnModel.judge(request())).toBe(0.5);
  });

  it('tells of a file that is no model, and of one that does not fit', async () => {
    await expect((await model({ broken: true })).warmUp()).rejects.toThrow('not a model');
    const reads = await model({ ...WAVE, inputs: ['input_ids', 'attention_mask'] });
    await expect(reads.warmUp()).rejects.toThrow('its inputs are input_ids, attention_mask; none of them is the audio');
    const wrong = await model({ input: 'audio', dims: [1, 3], gives: [1] });
    await expect(wrong.judge(request())).rejects.toMatchObject({ code: 'TURN_MODEL_UNUSABLE' });
    const silent = await model({ ...WAVE, gives: [] });
    await expect(silent.judge(request())).rejects.toThrow('not a number');
  });

  it('fails what it was asked when its thread dies, and starts another', async () => {
    const turnModel = await model({ ...WAVE, dies: true });
    await turnModel.warmUp();
    await expect(turnModel.judge(request())).rejects.toMatchObject({ code: 'TURN_MODEL_UNUSABLE' });
    await expect(turnModel.judge(request())).rejects.toThrow('its thread ended');
  });

  it('does not ask for one that gave up already, and nothing once it is closed', async () => {
    const turnModel = await model({ ...WAVE, gives: [1] });
    await turnModel.warmUp();
    const signal = AbortSignal.abort(new Error('went on'));
    await expect(turnModel.judge({ ...request(), signal })).rejects.toThrow('went on');
    await turnModel.close();
    await turnModel.close();
    await expect(turnModel.judge(request())).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });
});
