import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { HEARING_RATE_HZ } from '../../../src/audio/frame.js';
import { PROSODIC_FEATURES } from '../../../src/audio/dsp/prosody.js';
import { decodeWav } from '../../../src/audio/files/wav.js';
import { resample } from '../../../src/audio/dsp/resample.js';
import { Random } from '../../../src/base/random.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { aucOf } from '../../../src/cli/turn/judge-model.js';
import { fitLogistic } from '../../../src/cli/turn/train.js';
import { logisticProbability, ProsodicTurnModel } from '../../../src/providers/turn/prosodic.js';
import { DEMO_AGENT, fixture, inFolder, parley } from '../support.js';

interface Made {
  count?: number;
  speakers?: number;
  /** Between the two labels, in deviations. */
  apart: number;
}

/** Pauses of speakers who each have a pitch of their own. */
function rows({ count = 1200, speakers = 60, apart }: Made): string {
  const random = new Random(5);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const own = Array.from({ length: speakers }, normal);
  const lines = Array.from({ length: count }, (_, index) => {
    const isFinished = random.chance(0.6);
    const features = Object.fromEntries(PROSODIC_FEATURES.map((name) => [name, normal()]));
    features['f0Slope300'] = (own[index % speakers] ?? 0) / 2 + normal() + (isFinished ? -apart / 2 : apart / 2);
    return {
      speaker: `s${String(index % speakers)}`,
      atMs: index * 1000,
      label: isFinished ? 'finished' : 'continued',
      pauseMs: isFinished ? null : 150 - Math.log(1 - random.next()) * 600,
      features,
    };
  });
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

const trained = (made: Made, more: readonly string[] = []) =>
  inFolder(async (path) => {
    await writeFile(path('pauses.jsonl'), rows(made));
    const ran = await parley(['turn', 'train', path('pauses.jsonl'), '--out', path('model.json'), ...more]);
    const model = existsSync(path('model.json')) ? await readFile(path('model.json'), 'utf8') : null;
    return { ...ran, model };
  });

describe('parley turn train', () => {
  it('writes a model where prosody tells, which the provider loads', async () => {
    const { code, out, model } = await trained({ apart: 1.8 });
    expect(code).toBe(0);
    expect(out).toMatch(/AUC +0\.8\d\d \(95 %: 0\.8\d\d to 0\.\d+\), on speakers held out/);
    const { trained: facts, weights } = JSON.parse(model ?? '') as { trained: { auc: number[] }; weights: number[] };
    expect(facts).toMatchObject({ pauses: 1200, speakers: 60 });
    const [first = 0, ...others] = [weights[2] ?? 0, ...weights.filter((_, at) => at !== 2)].map(Math.abs);
    expect(first).toBeGreaterThan(5 * Math.max(...others));
    await inFolder(async (path) => {
      await writeFile(path('model.json'), model ?? '');
      const provider = new ProsodicTurnModel({ path: path('model.json') });
      const { samples, sampleRateHz } = decodeWav(await readFile(fixture('booking/rms/table.wav')));
      const clock = new VirtualClock();
      const request = { samples: resample(samples, sampleRateHz, HEARING_RATE_HZ), language: 'en-US', clock };
      const judging = provider.judge({ ...request, signal: new AbortController().signal });
      await clock.advanceBy(100);
      expect(await judging).toBeGreaterThan(0);
      expect(await judging).toBeLessThan(1);
      const run = ['run', '--agent', DEMO_AGENT, '--in', fixture('booking/rms/table.wav'), '--speed', 'max'];
      const env = { PARLEY_TURN_MODEL_PATH: path('model.json') };
      expect(await parley([...run, '--trace', path('t.jsonl')], { env })).toMatchObject({ code: 0 });
      expect(await readFile(path('t.jsonl'), 'utf8')).toContain('"type":"turn.judged"');
    });
  });

  it('refuses one at chance, and writes nothing', async () => {
    const { code, err, model } = await trained({ apart: 0 });
    expect(code).toBe(1);
    expect(err).toMatch(/The model is refused: its AUC may be chance: the interval begins at 0\.[34]/);
    expect(model).toBeNull();
  });

  it('refuses one that hears a difference but is no sooner than silence', async () => {
    const { code, err, model } = await trained({ apart: 0.35 });
    expect([code, model]).toEqual([1, null]);
    expect(err).toMatch(/no sooner than plain silence/);
  });

  it.each([
    [{ apart: 2, count: 999 }, /999 labelled pauses, and at least 1000 are needed/],
    [{ apart: 2, speakers: 8 }, /8 speakers, and at least 20 are needed/],
  ])('needs enough of them: %j', async (made, message) => {
    const { code, err } = await trained(made);
    expect(code).toBe(1);
    expect(err).toMatch(message);
  });

  it('names the line of a file that is none', async () => {
    await inFolder(async (path) => {
      await writeFile(path('pauses.jsonl'), '{"speaker":"a","atMs":1,"label":"done","pauseMs":null,"features":{}}\n');
      const { code, err } = await parley(['turn', 'train', path('pauses.jsonl')]);
      expect(code).toBe(1);
      expect(err).toMatch(/pauses\.jsonl, line 1: label: /);
    });
  });
});

describe('parley turn export', () => {
  const run = (trace: string, env: Readonly<Record<string, string>>, agent = DEMO_AGENT) => {
    const files = ['--agent', agent, '--in', fixture('booking/rms/table.wav'), '--trace', trace];
    return parley(['run', '--speed', 'max', ...files], { env });
  };

  it('exports the labelled pauses of calls that were held with consent, and no words', async () => {
    await inFolder(async (path) => {
      await mkdir(path('traces'));
      expect((await run(path('traces/one.jsonl'), { PARLEY_PAUSE_FEATURES: 'true' })).code).toBe(0);
      expect((await run(path('traces/two.jsonl'), {})).code).toBe(0);
      const exported = await parley(['turn', 'export', '--data-dir', path('.')], {
        env: { PARLEY_PAUSE_FEATURES: 'true' },
      });
      expect(exported).toMatchObject({ code: 0, err: '1 pauses of 2 logs: 1 finished, 0 continued\n' });
      const row = JSON.parse(exported.out) as { features: object };
      expect(row).toMatchObject({ speaker: 'one', label: 'finished', pauseMs: null });
      expect(Object.keys(row.features)).toEqual([...PROSODIC_FEATURES]);
      const without = await parley(['turn', 'export', '--data-dir', path('.')]);
      expect(without.code).toBe(1);
      expect(without.err).toMatch(/pauseFeatures is off/);
    });
  });

  it('has nothing of an agent that opted out', async () => {
    await inFolder(async (path) => {
      const agent = JSON.parse(await readFile(DEMO_AGENT, 'utf8')) as { config: object };
      Object.assign(agent.config, {
        privacy_settings: { opt_out_data_collection: true, do_not_call_detection: false },
      });
      await writeFile(path('agent.json'), JSON.stringify(agent));
      const { code } = await run(path('t.jsonl'), { PARLEY_PAUSE_FEATURES: 'true' }, path('agent.json'));
      expect(code).toBe(0);
      const trace = await readFile(path('t.jsonl'), 'utf8');
      expect(trace).toContain('speech.stopped');
      expect(trace).not.toContain('turn.pause');
    });
  });
});

describe('the arithmetic', () => {
  it('AUC: of two, the finished one has the higher probability; ties count half', () => {
    const pauses = (...pairs: [isFinished: boolean, probability: number][]) =>
      pairs.map(([isFinished, probability]) => ({ isFinished, probability }));
    expect(aucOf(pauses([true, 0.9], [false, 0.1], [true, 0.4], [false, 0.5]))).toBe(0.75);
    expect(aucOf(pauses([true, 0.5], [false, 0.5]))).toBe(0.5);
  });

  it('logistic regression finds the weights that made the labels', () => {
    const random = new Random(3);
    const inputs = Array.from({ length: 5000 }, () => [random.next() * 4 - 2, random.next() * 4 - 2]);
    const labels = inputs.map(([a = 0, b = 0]) =>
      random.chance(1 / (1 + Math.exp(-(1.5 * a - 0.5 * b + 0.3)))) ? 1 : 0,
    );
    const fit = fitLogistic(inputs, labels);
    for (const [a, b] of [
      [0, 0],
      [1, 1],
      [-1.5, 0.5],
    ] as const) {
      expect(logisticProbability(fit, [a, b])).toBeCloseTo(1 / (1 + Math.exp(-(1.5 * a - 0.5 * b + 0.3))), 1);
    }
  });
});
