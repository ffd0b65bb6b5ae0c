import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { FliteTts, type FliteOptions } from '../../../../src/providers/tts/flite/flite.js';
import { estimateWordTimes } from '../../../../src/providers/tts/timing.js';
import { speakMarked, type TtsRequest } from '../../../../src/providers/tts/tts.js';
import {
  abortAfterFirstBlock,
  codeOf,
  requestFor,
  speakAll,
  speakInVirtualTime,
  tidyUpAfterEach,
} from '../requests.js';

const shared = new FliteTts();
const tidied = tidyUpAfterEach();
const open = (options: FliteOptions = {}): FliteTts => tidied.open(new FliteTts(options));
afterAll(() => shared.close());

/** A worker with a fault of its own, given as code. */
async function faulty(code: string): Promise<URL> {
  const path = join(await tidied.makeFolder(), 'worker.mjs');
  await writeFile(path, `import { parentPort } from 'node:worker_threads';\n${code}`);
  return pathToFileURL(path);
}

const TEXTS = [
  'Sure.',
  'The quick brown fox jumps over the lazy sleeping dog today.',
  'Dr. Smith, your **table** is [booked](https://x.yz/q) at 7:30 p.m. 🙂 for $45.50! See you — bye…',
  '🙂 Hi!\n\n- first\n- second 👍',
  'Write to john@example.com & wait. 你好 ok? — — done',
  `${'word '.repeat(80)}and, at last, the end`,
  'x'.repeat(200),
];

describe('flite as a provider', () => {
  it.each(TEXTS)('reports each word of the text once, in order and in time: %#', async (text) => {
    const { words, durationMs } = await speakAll(shared, requestFor(text, { voiceId: 'kal16' }));
    let at = 0;
    let lastMs = 0;
    for (const word of words) {
      const found = text.indexOf(word.text, at);
      expect(text.slice(at, found)).toMatch(/^\s*$/);
      at = found + word.text.length;
      expect(word.startMs).toBeGreaterThanOrEqual(lastMs - 1e-6);
      expect(word.endMs).toBeGreaterThanOrEqual(word.startMs);
      lastMs = word.endMs;
    }
    expect(text.slice(at)).toMatch(/^\s*$/);
    expect(lastMs).toBeLessThanOrEqual(durationMs + 1e-6);
    expect(durationMs - lastMs).toBeLessThan(250);
  });

  it('trims silence at both ends', async () => {
    for (const voiceId of ['slt', 'rms', 'awb', 'kal16', 'kal']) {
      const { samples, sampleRateHz } = await speakAll(shared, requestFor('Good evening.', { voiceId }));
      const loud = (sample: number): boolean => Math.abs(sample) >= 104;
      expect(samples.findIndex(loud)).toBeLessThanOrEqual(0.0101 * sampleRateHz);
      expect(samples.length - 1 - samples.findLastIndex(loud)).toBeLessThanOrEqual(0.0101 * sampleRateHz);
    }
  });

  it('gives the first audio while the clause is still being spoken', async () => {
    const { blocks } = await speakAll(shared, requestFor('The quick brown fox jumps over the lazy dog.'));
    expect(blocks.length).toBeGreaterThan(10);
    expect(blocks[0]?.words?.map((word) => word.text)).toEqual('The quick brown fox jumps over the lazy'.split(' '));
    expect(blocks.at(-1)?.words?.map((word) => word.text)).toEqual(['dog.']);
  });

  it('pauses between sentences', async () => {
    const duration = async (text: string): Promise<number> => (await speakAll(shared, requestFor(text))).durationMs;
    const together = await duration('Yes. No.');
    const pause = together - (await duration('Yes.')) - (await duration('No.'));
    expect(Math.abs(pause - 180)).toBeLessThan(1);
  });

  it.each(['', '   ', '🙂', '***', '你好', '\u0000', '— …'])('says nothing for %j and ends at once', async (text) => {
    expect((await speakAll(shared, requestFor(text))).blocks).toEqual([]);
  });

  it('obeys volume', async () => {
    const peak = async (volume: number): Promise<number> => {
      const { samples } = await speakAll(shared, requestFor('Loud.', { settings: { volume } }));
      return Math.max(...samples.map(Math.abs));
    };
    const own = await peak(1);
    expect(Math.abs((await peak(0.5)) - own / 2)).toBeLessThan(2);
    expect(await peak(0)).toBe(0);
    expect(await peak(4)).toBeLessThanOrEqual(32_767);
  });

  it('obeys rate and pitch', async () => {
    const speak = (settings: Record<string, number>) =>
      speakAll(shared, requestFor('We are open all night.', { voiceId: 'kal16', settings }));
    const [own, fast, high] = [await speak({}), await speak({ rate: 2 }), await speak({ pitch: 1.5 })];
    expect(fast.durationMs / own.durationMs).toBeCloseTo(0.5, 1);
    expect(high.durationMs / own.durationMs).toBeCloseTo(1, 1);
    expect(fundamentalHz(high.samples) / fundamentalHz(own.samples)).toBeCloseTo(1.5, 0);
  });

  it('tells beforehand which settings it would refuse', () => {
    expect(() => shared.checkSettings({ rate: 9 }, null)).toThrow('it must be a number from 0.5 to 2');
    expect(() => shared.checkSettings({ pitch: 1.2 }, 'rms')).toThrow('one pitch only');
    expect(shared.checkSettings({ pitch: 1.2, rate: null }, 'slt')).toEqual({ rate: 1, pitch: 1.2, volume: 1 });
  });

  it('speaks as rms by default, and as slt where only a pitch is set', async () => {
    const speak = async (parts: Partial<TtsRequest>) => (await speakAll(shared, requestFor('One two.', parts))).samples;
    expect(await speak({ voiceId: null })).toEqual(await speak({ voiceId: 'rms' }));
    const settings = { pitch: 1.2 };
    expect(await speak({ voiceId: null, settings })).toEqual(await speak({ voiceId: 'slt', settings }));
  });

  it('refuses a wrong voice, setting or language before any work', () => {
    const start = (parts: Partial<TtsRequest>) => () => shared.synthesize(requestFor('Hi', parts));
    expect(start({ voiceId: 'alice' })).toThrow('flite has no voice "alice". Known: slt, rms, awb, kal16, kal');
    expect(start({ settings: { stability: 1 } })).toThrow(expect.objectContaining({ code: 'TTS_SETTING_INVALID' }));
    expect(start({ voiceId: 'rms', settings: { pitch: 1.2 } })).toThrow('the voice rms has one pitch only');
    expect(start({ language: 'de' })).toThrow(expect.objectContaining({ code: 'TTS_LANGUAGE_UNSUPPORTED' }));
    for (const language of ['en', 'en-GB', 'multi']) expect(start({ language })).not.toThrow();
  });

  it('really says the phonemes of the dictionary: another word with those of "hello" sounds the same', async () => {
    const parts = { voiceId: 'kal16', pronunciation: { words: [{ word: 'xyzzy', ipa: 'həˈloʊ' }] } };
    const own = await speakAll(shared, requestFor('Say hello to me.', { voiceId: 'kal16' }));
    const same = await speakAll(shared, requestFor('Say Xyzzy to me.', parts));
    expect(same.samples).toEqual(own.samples);
    expect(same.words.map(({ text }) => text)).toEqual(['Say', 'Xyzzy', 'to', 'me.']);
    const without = await speakAll(shared, requestFor('Say Xyzzy to me.', { voiceId: 'kal16' }));
    expect(without.samples).not.toEqual(own.samples);
  });

  it('keeps a pause of its exact length, and the times of the words behind it', async () => {
    const speak = (text: string) =>
      speakAll({ synthesize: (one) => speakMarked(shared, one) }, requestFor(text, { voiceId: 'kal16' }));
    const [one, two, both] = [await speak('One.'), await speak('Two.'), await speak('One. <break time="500ms"/> Two.')];
    const silence = Array.from({ length: 8_000 }, () => 0);
    expect([...both.samples]).toEqual([...one.samples, ...silence, ...two.samples]);
    expect(both.words.map(({ text }) => text)).toEqual(['One.', 'Two.']);
    expect((both.words[1]?.startMs ?? 0) - (two.words[0]?.startMs ?? 0)).toBeCloseTo(one.durationMs + 500, 3);
  });

  it('lists its voices', () => {
    expect(shared.voices().map((voice) => voice.id)).toEqual(['slt', 'rms', 'awb', 'kal16', 'kal']);
  });

  it('would be estimated well by an engine that does not tell its word times', async () => {
    const text = 'If you would like to book a table for tonight, please tell me how many of you there are.';
    const { words, samples, sampleRateHz } = await speakAll(shared, requestFor(text));
    const estimated = estimateWordTimes(
      words.map((word) => word.text),
      samples,
      sampleRateHz,
    );
    const errors = words.map((word, i) => Math.abs(word.startMs - (estimated[i]?.startMs ?? 0)));
    expect(Math.max(...errors)).toBeLessThan(400);
    expect(errors.reduce((a, b) => a + b, 0) / errors.length).toBeLessThan(150);
  });
});

describe('flite in virtual time', () => {
  it('gives the same audio at the same times in every run, and leaves no timer behind', async () => {
    const text = 'Hello there, how are you? I am fine, thanks.';
    const first = await speakInVirtualTime(shared, text);
    await speakAll(shared, requestFor('something between', { voiceId: 'awb' }));
    expect(await speakInVirtualTime(shared, text)).toEqual(first);
    expect(first.blocks[0]?.atMs).toBeGreaterThan(0);
    expect(first.blocks[0]?.atMs).toBeLessThan(100);
    expect(first.pending).toBe(0);
  });
});

describe("flite's threads", () => {
  it('share one thread clause by clause among requests', async () => {
    const provider = open();
    await provider.warmUp();
    const order: string[] = [];
    const speakSentences = async (name: string, count: number): Promise<void> => {
      const text = 'Some words here. '.repeat(count);
      let last = -1;
      for await (const block of provider.synthesize(requestFor(text))) {
        const clause = Math.floor((block.words?.length ?? 0) > 1 ? ++last : last);
        if ((block.words?.length ?? 0) > 1) order.push(`${name}${clause}`);
      }
    };
    await Promise.all([speakSentences('a', 4), speakSentences('b', 1), speakSentences('c', 2)]);
    expect(order.indexOf('b0')).toBeLessThan(order.indexOf('a1'));
    expect(order.indexOf('c1')).toBeLessThan(order.indexOf('a2'));
  });

  it('drop what was aborted before it began', async () => {
    const provider = open();
    await provider.warmUp();
    const before = provider.stats.clauses;
    const gone = new AbortController();
    const running = speakAll(provider, requestFor('The first one is speaking now.'));
    const waiting = speakAll(provider, requestFor('Never said.', { signal: gone.signal }));
    gone.abort(new Error('barge-in'));
    await expect(waiting).rejects.toThrow('barge-in');
    await running;
    expect(provider.stats.clauses).toBe(before + 1);
    expect(provider.stats.waiting).toBe(0);
  });

  it('stop what is aborted while it runs and go on with the next', async () => {
    const provider = open();
    const { error, blocks } = await abortAfterFirstBlock(provider, 'one two three four five six seven eight nine ten.');
    expect(error).toEqual(new Error('barge-in'));
    expect(blocks).toBe(1);
    expect((await speakAll(provider, requestFor('Next.'))).durationMs).toBeGreaterThan(200);
  });

  it('refuse an aborted request at once', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(speakAll(shared, requestFor('Hi', { signal }))).rejects.toThrow('too late');
  });

  it('give their place back when the reader leaves', async () => {
    const provider = open();
    for await (const block of provider.synthesize(requestFor('A sentence that nobody hears to its end.'))) {
      expect(block.samples.length).toBeGreaterThan(0);
      break;
    }
    expect((await speakAll(provider, requestFor('Next.'))).blocks.length).toBeGreaterThan(0);
    expect(provider.stats.waiting).toBe(0);
  });

  it('fail what they ran when they die, and are replaced', async () => {
    const provider = open({ workerEntry: await faulty(`parentPort.on('message', () => process.exit(3));`) });
    expect(await codeOf(speakAll(provider, requestFor('Hi.')))).toBe('PROVIDER_FAILED');
    expect(provider.stats).toMatchObject({ workers: 0, crashes: 1, waiting: 0 });
    await expect(speakAll(provider, requestFor('Hi again.'))).rejects.toThrow(
      'flite failed: its thread ended with code 3',
    );
    expect(provider.stats.crashes).toBe(2);
  });

  it('fail what they ran, and warmUp, when they cannot start', async () => {
    const provider = open({ workerEntry: await faulty(`throw new Error('no memory');`) });
    expect(await codeOf(provider.warmUp())).toBe('PROVIDER_FAILED');
    await expect(speakAll(provider, requestFor('Hi.'))).rejects.toThrow('no memory');
  });

  it('time out', async () => {
    const provider = open({ timeoutMs: 30, workerEntry: await faulty(`parentPort.on('message', () => undefined);`) });
    await expect(speakAll(provider, requestFor('Hi.'))).rejects.toThrow('flite did not answer within 30 ms');
  });

  it('are several where more are asked for', async () => {
    const provider = open({ workers: 2 });
    await provider.warmUp();
    const both = await Promise.all(['One.', 'Two.'].map((text) => speakAll(provider, requestFor(text))));
    expect(both.every(({ durationMs }) => durationMs > 200)).toBe(true);
    expect(provider.stats.workers).toBeGreaterThanOrEqual(1);
    expect(provider.stats.memoryBytes).toBeLessThan(60_000_000);
  });

  it('end with close, which fails what waits and runs and may be called twice', async () => {
    const provider = open();
    const work = ['Running.', 'Waiting.'].map((text) => codeOf(speakAll(provider, requestFor(text))));
    await provider.close();
    await provider.close();
    expect(await Promise.all(work)).toEqual(['SESSION_CLOSED', 'SESSION_CLOSED']);
    expect(await codeOf(speakAll(provider, requestFor('Hi.')))).toBe('SESSION_CLOSED');
    expect(await codeOf(provider.warmUp())).toBe('SESSION_CLOSED');
    expect(provider.stats.workers).toBe(0);
  });

  it('end with close while they start', async () => {
    const provider = open();
    const warming = codeOf(provider.warmUp());
    await provider.close();
    expect(await warming).toBe('SESSION_CLOSED');
  });
});

/** The pitch of speech, by the lag at which it is most like itself. */
function fundamentalHz(samples: Int16Array): number {
  let [best, at] = [0, 0];
  for (let lag = 50; lag <= 250; lag++) {
    let sum = 0;
    for (let i = 0; i + lag < samples.length; i++) sum += samples[i]! * samples[i + lag]!;
    if (sum > best) [best, at] = [sum, lag];
  }
  return 16_000 / at;
}
