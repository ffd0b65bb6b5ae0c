import { describe, expect, it } from 'vitest';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OnnxTurnModel } from '../../../src/providers/turn/onnx.js';
import { packageFile } from '../../../src/package-files.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { TurnModel, TurnRequest, TurnStream } from '../../../src/providers/turn/turn.js';
import { together, TurnJudge } from '../../../src/session/hearing/turn-judge.js';
import { play, recording } from '../support.js';

type Judge = (request: TurnRequest) => Promise<number>;

function modelOf(judge: Judge): TurnModel & { closed: number } {
  const model = {
    name: 'double',
    virtualTime: true,
    windowS: 2,
    warmUp: () => Promise.resolve(),
    judge,
    closed: 0,
    close: () => {
      model.closed++;
      return Promise.resolve();
    },
  };
  return model;
}

function bench(judge: Judge) {
  const clock = new VirtualClock();
  const judged: number[] = [];
  const faults: string[] = [];
  const turnJudge = new TurnJudge(
    {
      clock,
      emit: (event) => event.type === 'turn.judged' && judged.push(event.probability),
      fault: (_name, reason) => faults.push(reason),
    },
    { model: modelOf(judge), language: () => 'en-US' },
  );
  return { clock, judged, faults, turnJudge };
}

const ramp = (length: number, from = 0): Int16Array => Int16Array.from({ length }, (_, at) => (from + at) % 20_000);

describe('TurnJudge', () => {
  it('gives the model the turn from just before it began to now', async () => {
    const seen: Int16Array[] = [];
    const { clock, judged, turnJudge } = bench(({ samples }) => {
      seen.push(samples);
      return Promise.resolve(0.7);
    });
    turnJudge.push(ramp(16_000), 0);
    turnJudge.speechStarted(8000);
    turnJudge.push(ramp(4000, 16_000), 16_000);
    turnJudge.speechStopped();
    await clock.advanceBy(100);
    expect(judged).toEqual([0.7]);
    expect(seen[0]).toEqual(ramp(20_000).subarray(4800));
  });

  it('gives it no more than its window, and after a turn nothing of it', async () => {
    const seen: Int16Array[] = [];
    const { clock, turnJudge } = bench(({ samples }) => {
      seen.push(samples);
      return Promise.resolve(0.5);
    });
    turnJudge.speechStarted(0);
    for (let at = 0; at < 48_000; at += 320) turnJudge.push(ramp(320, at), at);
    turnJudge.speechStopped();
    await clock.advanceBy(10);
    turnJudge.endTurn();
    turnJudge.speechStarted(47_000);
    turnJudge.speechStopped();
    await clock.advanceBy(10);
    expect(seen.map((samples) => samples.length)).toEqual([32_000, 48_000 - 43_800]);
    expect(seen[0]?.[0]).toBe(16_000);
  });

  it('drops a judgement when the user goes on', async () => {
    const { clock, judged, faults, turnJudge } = bench(({ clock: time }) =>
      time.settle(Promise.resolve(1), time.nowMs() + 100),
    );
    turnJudge.push(ramp(1600), 0);
    turnJudge.speechStopped();
    await clock.advanceBy(50);
    turnJudge.speechStarted(1600);
    await clock.advanceBy(1000);
    expect(judged).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('waits half a second at most, and tells of a model that is late or fails', async () => {
    let answer: Promise<number> = new Promise(() => undefined);
    const { clock, judged, faults, turnJudge } = bench(() => answer);
    turnJudge.speechStopped();
    await clock.advanceBy(499);
    expect(faults).toEqual([]);
    await clock.advanceBy(2);
    expect(faults).toEqual(['no judgement within 500 ms']);
    answer = Promise.reject(new Error('broken'));
    turnJudge.speechStopped();
    await clock.advanceBy(1);
    expect(faults[1]).toBe('broken');
    expect(judged).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('listens together with others', () => {
    const heard: string[] = [];
    const listener = (name: string) => ({
      push: () => heard.push(`${name} push`),
      speechStarted: () => heard.push(`${name} started`),
      speechStopped: () => heard.push(`${name} stopped`),
    });
    const both = together(listener('a'), listener('b'));
    both.push(ramp(1), 0);
    both.speechStarted(0);
    both.speechStopped(1);
    expect(heard).toEqual(['a push', 'b push', 'a started', 'b started', 'a stopped', 'b stopped']);
  });
});

/** A model that takes 100 ms at a time; it writes down what it is asked. */
function streaming(answer: (asked: number) => Promise<number>) {
  const log: string[] = [];
  let heard = 0;
  let asked = 0;
  const stream: TurnStream = {
    stepMs: 100,
    leadMs: 300,
    start: () => {
      heard = 0;
      log.push('start');
    },
    push: (samples) => {
      heard += samples.length;
    },
    judge: () => {
      log.push(`judge after ${String(heard / 16)} ms`);
      return answer(asked++);
    },
    close: () => log.push('close'),
  };
  const clock = new VirtualClock();
  const judged: number[] = [];
  const faults: string[] = [];
  const model: TurnModel = { ...modelOf(() => Promise.reject(new Error('takes no windows'))), open: () => stream };
  const turnJudge = new TurnJudge(
    {
      clock,
      emit: (event) => event.type === 'turn.judged' && judged.push(event.probability),
      fault: (_name, reason) => faults.push(reason),
    },
    { model, language: () => 'en-US' },
  );
  let sample = 0;
  const play = async (ms: number): Promise<void> => {
    for (const untilSample = sample + ms * 16; sample < untilSample; sample += 320) {
      turnJudge.push(ramp(320, sample), sample);
      await clock.advanceBy(20);
    }
  };
  return { clock, judged, faults, log, turnJudge, play, at: () => sample };
}

describe('TurnJudge with a model that takes audio as it comes', () => {
  it('feeds it from before the speech, asks at the pause and with each step, and not behind the turn', async () => {
    const { judged, faults, log, turnJudge, play, at } = streaming((asked) =>
      Promise.resolve([0.2, 0.21, 0.5][asked] ?? 0.9),
    );
    await play(1000);
    expect(log).toEqual([]);
    turnJudge.speechStarted(at() - 1600); // noticed 100 ms late
    await play(1000);
    expect(log).toEqual(['start']);
    turnJudge.speechStopped();
    await play(400);
    turnJudge.endTurn();
    await play(400);
    expect(log).toEqual([
      'start',
      // 300 ms of lead, the 100 ms that were noticed late, and a second
      ...[1400, 1500, 1600, 1700, 1800].map((ms) => `judge after ${String(ms)} ms`),
    ]);
    expect(judged).toEqual([0.2, 0.5, 0.9]); // what hardly changed is not repeated
    expect(faults).toEqual([]);
    turnJudge.close();
    expect(log.at(-1)).toBe('close');
  });

  it('goes on with the same turn after a pause, and begins anew after one that it did not hear to the end', async () => {
    const { log, turnJudge, play, at } = streaming(() => Promise.resolve(0.1));
    turnJudge.speechStarted(0);
    await play(500);
    turnJudge.speechStopped();
    await play(300);
    turnJudge.speechStarted(at());
    await play(500);
    expect(log.filter((line) => line === 'start')).toHaveLength(1);
    turnJudge.speechStopped();
    const before = log.length;
    await play(6000);
    expect(log.length - before).toBeLessThanOrEqual(41); // 4 s of pause, a step of 100 ms each
    turnJudge.speechStarted(at());
    expect(log.at(-1)).toBe('start');
  });

  it('asks no second time while the model thinks, and goes on without one that fails', async () => {
    const late = streaming(() => new Promise(() => undefined));
    late.turnJudge.speechStarted(0);
    await late.play(500);
    late.turnJudge.speechStopped();
    await late.play(1000);
    expect(late.log.filter((line) => line.startsWith('judge'))).toHaveLength(1);
    expect(late.faults).toEqual(['no judgement within 500 ms']);
    expect(late.clock.pending).toBe(0);
    const broken = streaming(() => Promise.reject(new Error('broken')));
    broken.turnJudge.speechStarted(0);
    await broken.play(500);
    broken.turnJudge.speechStopped();
    await broken.play(1000);
    expect(broken.faults).toEqual(['broken']);
  });
});

describe('a session with a streaming model', () => {
  const STEPS = fileURLToPath(packageFile('fixtures/model-families/made-turn-steps/model.onnx'));
  const call = async (turnModel?: TurnModel) => {
    const settings = { lines: ['I would like a table for'] };
    const { report, pending } = await play(
      recording(8000, [2000, 3000]),
      turnModel === undefined ? settings : { ...settings, turnModel },
    );
    expect(pending).toBe(0);
    expect(report.messages.at(-1)?.content).toBe('That is fine.');
    return report;
  };

  it('answers sooner where the model hears the end, twice alike', async () => {
    const model = new OnnxTurnModel({ path: STEPS, runtime: 'onnxruntime-web' });
    try {
      await model.warmUp();
      const [one, other] = [await call(model), await call(model)];
      const alone = await call();
      expect(one.faults).toEqual({});
      expect(one.turns[0]?.responseMs).toBe(other.turns[0]?.responseMs);
      expect(one.turns[0]?.responseMs).toBeLessThan(alone.turns[0]?.responseMs ?? 0);
    } finally {
      await model.close();
    }
  });

  it('goes on when the thread of its model dies', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-dying-'));
    const path = join(folder, 'model.onnx');
    const inputs = ['audio', 'state_a'];
    await writeFile(path, JSON.stringify({ inputs, outputs: ['probs', 'new_state_a'], input: 'audio', dies: true }));
    const runtime = new URL('../../providers/turn/fake-runtime.mjs', import.meta.url).href;
    const model = new OnnxTurnModel({ path, runtime });
    try {
      await model.warmUp();
      const report = await call(model);
      expect(report.faults).toEqual({ 'turnModel.failed': 1 });
    } finally {
      await model.close();
      await rm(folder, { recursive: true });
    }
  });
});

describe('a session with an audio model', () => {
  const responseMs = async (probability: number): Promise<number> => {
    const { report, pending } = await play(recording(8000, [2000, 3000]), {
      lines: ['I would like a table'],
      turnModel: modelOf(({ clock }) => clock.settle(Promise.resolve(probability), clock.nowMs() + 30)),
    });
    expect(report.faults).toEqual({});
    expect(pending).toBe(0);
    return report.turns[0]?.responseMs ?? Number.NaN;
  };

  it('answers sooner where it hears the end, later where it hears that more follows', async () => {
    expect((await responseMs(0.02)) - (await responseMs(0.99))).toBeGreaterThan(400);
  });

  it('does without one that fails', async () => {
    const { report } = await play(recording(8000, [2000, 3000]), {
      lines: ['I would like a table'],
      turnModel: modelOf(() => Promise.reject(new Error('broken'))),
    });
    expect(report.faults).toEqual({ 'turnModel.failed': 1 });
    expect(report.messages.at(-1)?.content).toBe('That is fine.');
  });
});
