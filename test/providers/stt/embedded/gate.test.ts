import { describe, expect, it } from 'vitest';
import type { DecodedSegment } from '../../../../src/providers/stt/embedded/decoder.js';
import { judge } from '../../../../src/providers/stt/embedded/vocabulary.js';

/** A path of segments one after the other; `kind` is a word or what stands for none. */
function path(...parts: [word: string, frames: number, language: number][]): DecodedSegment[] {
  let startFrame = 0;
  return parts.map(([word, frames, language]) => {
    const kind = word === '<sil>' ? 'silence' : word === '' ? 'garbage' : 'word';
    const segment: DecodedSegment = {
      word,
      kind,
      startFrame,
      endFrame: startFrame + frames - 1,
      acoustic: -100,
      language,
    };
    startFrame += frames;
    return segment;
  });
}

describe('confidence gate', () => {
  it('believes likely words that cover the speech', () => {
    const heard = judge(path(['<sil>', 30, -1], ['yes', 30, -15], ['please', 40, -12], ['<sil>', 20, -1]));
    expect(heard).toMatchObject({ text: 'yes please', understood: true });
    expect(heard.confidence).toBeGreaterThan(0.9);
    expect(heard.words).toMatchObject([
      { text: 'yes', startSample: 4800, endSample: 9600 },
      { text: 'please', startSample: 9600, endSample: 16_000 },
    ]);
  });

  it('does not believe unlikely words one after the other', () => {
    expect(judge(path(['a', 8, -50], ['tuna', 30, -60], ['of', 9, -55]))).toMatchObject({ understood: false });
  });

  it('does not believe likely words amid speech that fits none', () => {
    expect(judge(path(['', 60, -10], ['yes', 30, -15], ['', 60, -10]))).toMatchObject({
      text: 'yes',
      understood: false,
    });
  });

  it('hears nothing in garbage and silence alone', () => {
    for (const nothing of [path(), path(['<sil>', 50, -1]), path(['', 50, -5])]) {
      expect(judge(nothing)).toEqual({ text: '', understood: false, confidence: 0, words: [] });
    }
  });

  it('trusts the likely words of a sentence more than the unlikely', () => {
    const [likely, unlikely] = judge(path(['table', 30, -10], ['gloom', 30, -60])).words;
    expect(likely?.confidence).toBeGreaterThan(unlikely?.confidence ?? 1);
  });

  it('always gives a confidence between 0 and 1', () => {
    for (const language of [0, -1e6]) {
      const { confidence } = judge(path(['a', 1, language]));
      expect(confidence).toBeGreaterThanOrEqual(0);
      expect(confidence).toBeLessThanOrEqual(1);
    }
  });
});
