import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../../../src/base/random.js';
import type { Clock } from '../../../src/base/clock.js';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { packageFile } from '../../../src/package-files.js';
import { calibrated } from '../../../src/providers/turn/calibration.js';
import { OnnxTurnModel } from '../../../src/providers/turn/onnx.js';
import type { TurnStream } from '../../../src/providers/turn/turn.js';

const fixture = (name: string): string => fileURLToPath(packageFile(`fixtures/model-families/${name}/model.onnx`));
/** turn-1-mini's inputs and outputs: one call a run. */
const STEPS = fixture('made-turn-steps');
/** Described by its metadata: any number of calls a run. */
const BATCHES = fixture('made-turn-batches');

let models: OnnxTurnModel[] = [];
afterEach(async () => {
  await Promise.all(models.map((model) => model.close()));
  models = [];
});

/** Virtual time waits for the model, so audio may come as quickly as the test gives it. */
const clock = new VirtualClock();

async function opened(path: string, time: Clock = clock): Promise<{ model: OnnxTurnModel; stream: TurnStream }> {
  const model = new OnnxTurnModel({ path, runtime: 'onnxruntime-web' });
  models.push(model);
  await model.warmUp();
  const stream = model.open(time);
  if (stream === null) throw new Error('it takes no streams');
  return { model, stream };
}

/** Speech of some loudness, then silence. */
function turn(seed: number, speech: number, silence: number): Int16Array {
  const random = new Random(seed);
  const level = random.int(300, 6000);
  return Int16Array.from({ length: speech + silence }, (_, at) =>
    at < speech ? random.int(-level, level) : random.int(-3, 3),
  );
}

async function judged(stream: TurnStream, audio: Int16Array, pieces: readonly number[]): Promise<number> {
  stream.start();
  for (let at = 0, piece = 0; at < audio.length; piece++) {
    const size = pieces[piece % pieces.length] as number;
    stream.push(audio.subarray(at, at + size));
    at += size;
  }
  return answered(stream.judge(new AbortController().signal));
}

async function answered<T>(answer: Promise<T>): Promise<T> {
  const [value] = await Promise.all([answer, clock.advanceBy(100)]);
  return value;
}

/** What the made model of turn-1-mini's form computes, from the whole turn: its last 240 ms in whole frames of 20 ms. */
function whole(audio: Int16Array): number {
  const end = Math.floor(audio.length / 320) * 320;
  const last = audio.subarray(Math.max(0, end - 12 * 320), end);
  const mean = last.reduce((sum, sample) => sum + Math.abs(sample / 32_768), 0) / (12 * 320);
  return 1 / (1 + Math.exp(400 * mean - 4));
}

describe('streaming turn models', () => {
  it.each([
    ['pieces of 80 ms', [1280]],
    ['pieces of 160 ms', [2560]],
    ['frames of 20 ms', [320]],
    ['uneven pieces', [1, 700, 4000, 33]],
    ['one piece', [1_000_000]],
  ])('say the same in %s as over the whole turn', async (_what, pieces) => {
    const { model, stream } = await opened(STEPS);
    for (const [seed, speech, silence] of [
      [1, 16_000, 0],
      [2, 20_000, 2000],
      [3, 9000, 3333],
      [4, 30_001, 6000],
      [5, 100, 0],
    ] as const) {
      const audio = turn(seed, speech, silence);
      const expected = audio.length < 320 ? 0 : whole(audio);
      expect(await judged(stream, audio, pieces)).toBeCloseTo(expected, 4);
    }
    const audio = turn(6, 16_000, 4000);
    const request = { samples: audio, language: 'en-US', clock, signal: new AbortController().signal };
    expect(await answered(model.judge(request))).toBeCloseTo(whole(audio), 4);
  });

  it('give each call of a run what it gets alone', async () => {
    const { model, stream } = await opened(BATCHES);
    expect([stream.stepMs, stream.leadMs]).toEqual([80, 200]);
    const audio = Array.from({ length: 40 }, (_, at) => turn(at, 12_800 + 640 * at, 1280 * (at % 7)));
    const alone: number[] = [];
    for (const one of audio) alone.push(await judged(stream, one, [1280]));
    const streams = audio.map(() => model.open(clock) as TurnStream);
    // Nothing is awaited in between: the thread finds steps of all calls.
    const together = await Promise.all(streams.map((one, at) => judged(one, audio[at] as Int16Array, [1280])));
    expect(new Set(alone.map((value) => value.toFixed(3))).size).toBeGreaterThan(10);
    for (const [at, value] of together.entries()) expect(Math.abs(value - (alone[at] as number))).toBeLessThan(1e-4);
  });

  it('forget a turn when the next one starts, and judge in the middle of a step without changing it', async () => {
    const { stream } = await opened(STEPS);
    const signal = new AbortController().signal;
    await judged(stream, turn(1, 32_000, 0), [320]);
    const audio = turn(2, 10_000, 4000);
    stream.start();
    for (let at = 0; at < audio.length; at += 500) {
      stream.push(audio.subarray(at, at + 500));
      const now = audio.subarray(0, Math.min(at + 500, audio.length));
      expect(await answered(stream.judge(signal))).toBeCloseTo(whole(now), 4);
    }
  });

  it('answer at a certain time where time is virtual, however much audio waits', async () => {
    const { stream } = await opened(STEPS);
    stream.start();
    stream.push(turn(7, 16_000 * 30, 4000));
    const beganMs = clock.nowMs();
    const asked = stream
      .judge(new AbortController().signal)
      .then((value) => ({ value, afterMs: clock.nowMs() - beganMs }));
    const { value, afterMs } = await answered(asked);
    expect(value).toBeGreaterThan(0.9);
    expect(afterMs).toBe(10);
  });

  it('lose the turn in which they fall behind, not the next one', async () => {
    const { stream } = await opened(STEPS, new RealClock());
    const signal = new AbortController().signal;
    stream.start();
    stream.push(new Int16Array(16_000 * 10)); // at once: the thread has done none of it
    await expect(stream.judge(signal)).rejects.toThrow('it does not keep up with the audio');
    expect(await judged(stream, turn(8, 8000, 4000), [320])).toBeGreaterThan(0.9);
  });

  it('stop with their signal and their model, and close twice', async () => {
    const { model, stream } = await opened(STEPS, new RealClock());
    stream.start();
    const stopped = AbortSignal.abort(new Error('enough'));
    await expect(stream.judge(stopped)).rejects.toThrow('enough');
    const asked = stream.judge(new AbortController().signal);
    await Promise.all([model.close(), expect(asked).rejects.toMatchObject({ code: 'SESSION_CLOSED' })]);
    stream.push(new Int16Array(2560));
    await expect(stream.judge(new AbortController().signal)).rejects.toThrow();
    stream.close();
    stream.close();
    await expect(stream.judge(new AbortController().signal)).rejects.toThrow('the stream is closed');
    await model.close();
  });
});

describe('the calibration beside a model', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-calibration-'));
    return () => rm(folder, { recursive: true });
  });

  it('turns its scores into probabilities', async () => {
    const path = join(folder, 'model.onnx');
    await copyFile(STEPS, path);
    await writeFile(`${path}.calibration.json`, '{"slope": 0.5, "intercept": -1}');
    const { stream } = await opened(path);
    const audio = turn(2, 20_000, 2000);
    expect(await judged(stream, audio, [320])).toBeCloseTo(calibrated(whole(audio), { slope: 0.5, intercept: -1 }), 4);
    await writeFile(`${path}.calibration.json`, '{"slope": "steep"}');
    await expect(opened(path)).rejects.toThrow('the calibration beside it must be {"slope": number');
  });
});
