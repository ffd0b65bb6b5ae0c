import { describe, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import { Health, switchText } from '../../../src/providers/failover/health.js';
import { FailoverTts, type TtsEntry } from '../../../src/providers/failover/tts.js';
import type { TtsProvider, TtsRequest } from '../../../src/providers/tts/tts.js';

/** A voice whose samples are its number; `waitMs` for each sentence, an Error in place of it, a wait that ends in one. */
function voice(
  name: string,
  value: number,
  plan: (number | Error | [number, Error])[],
  asked: TtsRequest[],
): TtsProvider {
  return {
    name,
    virtualTime: true,
    hasModels: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    voices: () => [{ id: name, name, language: 'en', sampleRateHz: 16_000 }],
    speaks: (language) => Promise.resolve(language === name || (language === 'en' && value > 0)),
    async *synthesize(request) {
      asked.push(request);
      const step = plan.shift() ?? 10;
      if (step instanceof Error) throw step;
      await delay(request.clock, Array.isArray(step) ? 10 : step, request.signal);
      yield { samples: new Int16Array(0), sampleRateHz: 16_000 };
      yield { samples: Int16Array.of(value), sampleRateHz: 16_000 };
      if (!Array.isArray(step)) return;
      await delay(request.clock, step[0], request.signal);
      throw step[1];
    },
  };
}

function speaker(...plans: (number | Error | [number, Error])[][]) {
  return speakerOf({}, plans);
}

/** One voice that is asked once more, and one that speaks where it does not in time. */
function alone(...plans: (number | Error | [number, Error])[][]) {
  return speakerOf({ again: true }, plans, { last: true });
}

function speakerOf(own: Partial<TtsEntry>, plans: (number | Error | [number, Error])[][], other?: Partial<TtsEntry>) {
  const clock = new VirtualClock();
  const reported: string[] = [];
  const asked: TtsRequest[] = [];
  const entries: TtsEntry[] = plans.map((plan, at) => ({
    provider: voice(['main', 'spare', 'last'][at] ?? 'more', at, plan, asked),
    health: new Health(),
    ...(at > 0 && { voice: { voiceId: `voice-${String(at)}`, model: null, settings: {} } }),
    ...(at === 0 ? own : other),
  }));
  const tts = new FailoverTts({ entries, onSwitch: (what) => reported.push(switchText(what)) });
  const say = async (
    text: string,
    language = 'en',
  ): Promise<{ heard: number[]; atMs: number; error: string | null }> => {
    const { signal } = new AbortController();
    const heard: number[] = [];
    let atMs = -1;
    let error: string | null = null;
    let done = false;
    const request = { text, language, voiceId: 'mine', model: 'm', settings: { rate: 1 }, clock, signal };
    void (async () => {
      try {
        for await (const { samples } of tts.synthesize(request)) {
          if (samples.length > 0 && atMs < 0) atMs = clock.nowMs();
          heard.push(...samples);
        }
      } catch (thrown) {
        error = (thrown as Error).message;
      }
      done = true;
    })();
    await clock.runUntil(() => done, clock.nowMs() + 60_000);
    return { heard, atMs, error };
  };
  return { tts, clock, reported, asked, say, entries };
}

const down = new ParleyError('PROVIDER_FAILED', { provider: 'main', reason: 'HTTP 503' });

it('speaks with the next voice where one fails, as whom that voice is asked for, and stays with it', async () => {
  const { say, reported, asked, tts } = speaker([10, down, 10], [10, 10]);
  expect((await say('One.')).heard).toEqual([0]);
  expect((await say('Two.')).heard).toEqual([1]);
  expect((await say('Three.')).heard).toEqual([1]);
  expect(reported).toEqual(['main -> spare: main failed: HTTP 503']);
  expect(asked.map(({ voiceId, model }) => [voiceId, model])).toEqual([
    ['mine', 'm'],
    ['mine', 'm'],
    ['voice-1', null],
    ['voice-1', null],
  ]);
  expect(tts).toMatchObject({ name: 'main', hasModels: true, virtualTime: true });
  expect(tts.voices().map(({ id }) => id)).toEqual(['main']);
  expect([await tts.speaks('main'), await tts.speaks('spare')]).toEqual([true, false]);
});

it('asks the next voice beside one that is slow, and each sentence has one voice from beginning to end', async () => {
  const { say, reported } = speaker([5000], [100]);
  expect(await say('One.')).toEqual({ heard: [1], atMs: 1600, error: null });
  expect(reported).toEqual(['main -> spare: nothing within 1500 ms']);
});

it('has the next voice say a sentence again that breaks off, and stays with it', async () => {
  const { say, reported } = speaker([[100, down]], [50]);
  expect(await say('One.')).toMatchObject({ heard: [0, 1], error: null });
  expect(reported).toEqual(['main -> spare: in the middle of a sentence: main failed: HTTP 503']);
  expect((await say('Two.')).heard).toEqual([1]);
});

it('notices a voice that falls silent before it fails, and is done when nobody is left', async () => {
  const { say, reported, clock } = speaker([[30_000, down]], [[30_000, down]]);
  expect(await say('One.')).toMatchObject({ heard: [0, 1], error: 'spare did not answer within 700 ms' });
  expect(reported).toEqual(['main -> spare: in the middle of a sentence: main did not answer within 700 ms']);
  expect(clock.nowMs()).toBeLessThan(1500);
});

it('goes back to the first voice only when the others fail', async () => {
  const { say } = speaker([down, 10], [10, down]);
  expect((await say('One.')).heard).toEqual([1]);
  expect((await say('Two.')).heard).toEqual([0]);
});

it('warms up every voice as whom it will speak', async () => {
  const { tts } = speaker([], []);
  await tts.warmUp({ language: 'en', voiceId: 'mine', model: null, settings: {} });
  await tts.warmUp();
  tts.checkSettings({}, null);
  await tts.close();
});

it('can what the first voice can', async () => {
  const own = voice('main', 0, [], []);
  const made = (provider: TtsProvider): FailoverTts =>
    new FailoverTts({ entries: [{ provider, health: new Health() }], onSwitch: () => undefined });
  expect(made({ ...own, wordTimes: true, multilingual: true })).toMatchObject({ wordTimes: true, multilingual: true });
  expect(made(own)).toMatchObject({ wordTimes: false, multilingual: false });
  const anyLanguage = voice('main', 0, [], []);
  delete anyLanguage.speaks;
  expect(made(anyLanguage)).toMatchObject({ multilingual: true });
  expect(await made(anyLanguage).speaks('sw')).toBe(true);
});

describe('a voice that stands alone', () => {
  it('is asked once more where it is slow, over another connection, and where it fails', async () => {
    const { say, reported, asked } = alone([5000, 200, down, 10], []);
    expect(await say('One.')).toEqual({ heard: [0], atMs: 1700, error: null });
    expect((await say('Two.')).heard).toEqual([0]);
    expect(asked.map(({ again = false }) => again)).toEqual([false, true, false, true]);
    expect(reported).toEqual([
      'main is asked again: nothing within 1500 ms',
      'main is asked again: main failed: HTTP 503',
    ]);
  });

  it('is not asked again where it refuses, nor for being as slow as it always is', async () => {
    const refused = new ParleyError('PROVIDER_REFUSED', { provider: 'main', reason: 'HTTP 401' });
    const { say, asked, entries } = alone([refused, 3100], [10, 10]);
    expect((await say('One.')).heard).toEqual([1]);
    expect(asked).toHaveLength(2);
    const slow = alone([2900], [10]);
    for (let time = 0; time < 10; time++) slow.entries[0]?.health.first.add(2900);
    expect(await slow.say('One.')).toMatchObject({ heard: [0], atMs: 2900 });
    expect(slow.asked).toHaveLength(1);
    expect(entries[0]?.health.breaker.isOpen).toBe(true);
  });

  it('says a sentence again that it has broken off, and leaves it to the last voice the second time', async () => {
    const { say } = alone([[100, down], 10, [100, down], [100, down]], [10]);
    expect((await say('One.')).heard).toEqual([0, 0]);
    expect((await say('Two.')).heard).toEqual([0, 0, 1]);
  });

  it('has the last voice speak after 2.4 s, sooner after that, and speaks again itself when it does well', async () => {
    const { say, clock } = alone([9000, 9000, 9000, 300], [10, 10]);
    expect(await say('One.')).toMatchObject({ heard: [1], atMs: 2410 });
    const secondMs = clock.nowMs();
    expect((await say('Two.')).atMs - secondMs).toBe(610);
    expect((await say('Three.')).heard).toEqual([0]);
  });

  it.each([
    [2500, 3210],
    [200, 2410],
  ])('that usually takes %i ms has it speak after %i ms: a hiccup is no outage', async (usualMs, atMs) => {
    const { say, entries } = alone([9000, 9000], [10]);
    for (let time = 0; time < 10; time++) entries[0]?.health.first.add(usualMs);
    expect((await say('One.')).atMs).toBe(atMs);
  });

  it('has nobody behind it in a language that the last voice does not speak', async () => {
    const { say } = alone([down, down], [10]);
    expect((await say('Eins.', 'de')).error).toContain('main failed: HTTP 503');
  });
});
