import { describe, expect, it } from 'vitest';
import { duration, median, stagesOf } from '../../src/web/page/times.js';

describe('response times', () => {
  const times = {
    turn: 1,
    response_ms: 600,
    end_of_turn_ms: 400,
    llm_first_ms: 50,
    first_sentence_ms: 90,
    tts_first_ms: 80,
  };

  it('splits the response time into stages that add up to it', () => {
    const stages = stagesOf(times);
    expect(stages).toEqual([
      { name: 'pause', ms: 400 },
      { name: 'answer', ms: 90 },
      { name: 'voice', ms: 80 },
      { name: 'line', ms: 30 },
    ]);
  });

  it.each([
    [{ ...times, end_of_turn_ms: null, first_sentence_ms: null, tts_first_ms: null }],
    [{ ...times, end_of_turn_ms: 900 }],
    [{ ...times, first_sentence_ms: -20 }],
  ])('adds up whatever is missing or odd: %j', (odd) => {
    expect(stagesOf(odd).reduce((sum, { ms }) => sum + ms, 0)).toBe(600);
  });

  it('has no stages where there was no answer', () => {
    expect(stagesOf({ ...times, response_ms: null })).toEqual([]);
  });

  it('takes the median', () => {
    expect(median([])).toBeNull();
    expect(median([5])).toBe(5);
    expect(median([9, 1, 5])).toBe(5);
    expect(median([1, 3, 9, 5])).toBe(4);
  });

  it('writes durations as people read them', () => {
    expect([0, 84.4, 999.4, 999.5, 1234].map(duration)).toEqual(['0 ms', '84 ms', '999 ms', '1.00 s', '1.23 s']);
  });
});
