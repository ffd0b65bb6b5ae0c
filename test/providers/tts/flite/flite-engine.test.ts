import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { FliteEngine, type FliteSpeech, type TokenTime } from '../../../../src/providers/tts/flite/flite-engine.js';
import { FIXED_PITCH_VOICES, FLITE_VOICES } from '../../../../src/providers/tts/flite/voices.js';

let engine: FliteEngine;
beforeAll(async () => {
  engine = new FliteEngine(await FliteEngine.compile());
});

interface Result {
  blocks: Int16Array[];
  samples: Int16Array;
  rateHz: number;
  tokens: TokenTime[];
}

function speak(
  text: string,
  parts: Partial<FliteSpeech> = {},
  keepOn: (blocks: number) => boolean = () => true,
): Result {
  const result: Result = { blocks: [], samples: new Int16Array(0), rateHz: 0, tokens: [] };
  engine.speak(
    { text, voice: 'kal16', rate: 1, pitch: 1, ...parts },
    {
      onTokens: (tokens) => {
        expect(result.blocks).toEqual([]);
        result.tokens = tokens;
      },
      onAudio: (samples, rateHz) => {
        result.blocks.push(samples);
        result.rateHz = rateHz;
        return keepOn(result.blocks.length);
      },
    },
  );
  result.samples = Int16Array.from(result.blocks.flatMap((block) => [...block]));
  return result;
}

describe('flite', () => {
  it.each(FLITE_VOICES)('says the same alike in voice $id, whatever was said before', ({ id, sampleRateHz }) => {
    const text = 'Hello there, how are you?';
    const first = speak(text, { voice: id });
    speak('Something else entirely.', { voice: 'rms', rate: 1.5, pitch: 0.7 });
    speak(text, { voice: id }, () => false);
    speak('And more.', { voice: id, rate: 0.6, pitch: 1.8 });
    const again = speak(text, { voice: id });
    expect(first.rateHz).toBe(sampleRateHz);
    expect(first.samples.length).toBeGreaterThan(sampleRateHz);
    expect(Math.max(...first.samples)).toBeGreaterThan(3000);
    expect(same(again.samples, first.samples)).toBe(true);
    expect(again.tokens).toEqual(first.tokens);
  });

  it('says it alike in another engine', async () => {
    const here = speak('Good morning.', { voice: 'slt' });
    engine = new FliteEngine(await FliteEngine.compile());
    expect(same(speak('Good morning.', { voice: 'slt' }).samples, here.samples)).toBe(true);
  });

  it('streams blocks of 80 ms', () => {
    const { blocks, rateHz } = speak('This is long enough for some blocks.', { voice: 'slt' });
    expect(blocks.length).toBeGreaterThan(10);
    for (const block of blocks.slice(0, -1)) {
      expect(block.length).toBeGreaterThanOrEqual(0.08 * rateHz);
      expect(block.length).toBeLessThan(0.12 * rateHz);
    }
  });

  it('stops when it is asked to and works on', () => {
    const whole = speak('one two three four five six seven', { voice: 'slt' });
    const cut = speak('one two three four five six seven', { voice: 'slt' }, (blocks) => blocks < 3);
    expect(cut.blocks.length).toBe(3);
    expect(same(whole.samples.slice(0, cut.samples.length), cut.samples)).toBe(true);
    expect(speak('fine', { voice: 'slt' }).samples.length).toBeGreaterThan(0);
  });

  it.each(FLITE_VOICES)('tells the time of each piece of the text in voice $id', ({ id }) => {
    const { tokens, samples, rateHz } = speak('Dr. Smith, your table-top is at 7:30 for $45.', { voice: id });
    expect(tokens.length).toBe(9);
    let last = 0;
    for (const { startMs, endMs } of tokens) {
      expect(startMs).toBeGreaterThanOrEqual(last);
      expect(endMs).toBeGreaterThan(startMs);
      last = endMs;
    }
    expect(last).toBeLessThanOrEqual((samples.length * 1000) / rateHz + 1);
    const lengths = tokens.map(({ startMs, endMs }) => endMs - startMs);
    expect(lengths[6]).toBeGreaterThan(2 * (lengths[4] ?? 0)); // seven thirty, is
  });

  it.each(FLITE_VOICES)('obeys rate in voice $id', ({ id }) => {
    const length = (rate: number): number => speak('a quick brown fox jumps', { voice: id, rate }).samples.length;
    expect(length(2)).toBeLessThan(0.7 * length(1));
    expect(length(0.5)).toBeGreaterThan(1.6 * length(1));
  });

  it.each(FLITE_VOICES)('obeys pitch in voice $id, unless it has one only', ({ id }) => {
    const hz = (pitch: number): number => {
      const { samples, rateHz } = speak('we are all away now', { voice: id, pitch });
      return medianPitchHz(samples, rateHz);
    };
    const own = hz(1);
    if (FIXED_PITCH_VOICES.has(id)) {
      expect(hz(1.4)).toBe(own);
      return;
    }
    expect(hz(1.4) / own).toBeGreaterThan(1.15);
    expect(hz(0.75) / own).toBeLessThan(0.9);
  });

  it('has nothing to say for no words', () => {
    for (const text of ['', ' ', '...', '"', '- - -']) {
      expect(speak(text).tokens.every(({ startMs, endMs }) => startMs === endMs)).toBe(true);
    }
  });

  it('survives any ASCII text, and its memory stays bounded', () => {
    const words = fc.constantFrom(
      '$5',
      '10:99',
      'XIV',
      "'s",
      'a.b.c',
      '%',
      '1e9',
      '-',
      '((',
      '\\',
      'qqqq',
      '0/0',
      '1st',
      "'",
      'z',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
      fc.array(words, { maxLength: 10 }).map((list) => list.join(' ')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const { tokens } = speak(text);
        expect(tokens.every(({ startMs, endMs }) => endMs >= startMs)).toBe(true);
      }),
      { numRuns: 150 },
    );
    const before = engine.memoryBytes;
    for (let i = 0; i < 100; i++)
      speak('again and again and again it says so.', { voice: i % 2 === 0 ? 'kal' : 'kal16' });
    expect(engine.memoryBytes).toBe(before);
    expect(before).toBeLessThan(40_000_000);
  });

  it('refuses a voice it does not have', () => {
    expect(() => speak('hello', { voice: 'hal' as 'kal' })).toThrow('no voice hal');
  });
});

function same(a: Int16Array, b: Int16Array): boolean {
  return Buffer.compare(Buffer.from(a.buffer), Buffer.from(b.buffer)) === 0;
}

/** By autocorrelation over the loud parts. */
function medianPitchHz(samples: Int16Array, rateHz: number): number {
  const window = Math.round(rateHz * 0.05);
  const found: number[] = [];
  for (let at = 0; at + 2 * window < samples.length; at += window) {
    const score = (lag: number): number => {
      let sum = 0;
      for (let i = at; i < at + window; i++) sum += (samples[i] ?? 0) * (samples[i + lag] ?? 0);
      return sum;
    };
    if (score(0) / window < 400_000) continue;
    let best = 0;
    let bestLag = 1;
    for (let lag = Math.floor(rateHz / 400); lag < rateHz / 50; lag++) {
      const value = score(lag);
      if (value > best) [best, bestLag] = [value, lag];
    }
    found.push(rateHz / bestLag);
  }
  return found.sort((a, b) => a - b)[found.length >> 1] ?? 0;
}
