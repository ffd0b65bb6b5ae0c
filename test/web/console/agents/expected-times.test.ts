import { describe, expect, it } from 'vitest';
import { ExpectedTimes, type MeasuredCall } from '../../../../src/web/console/agents/expected-times.js';

function call(model: string, turns: number, ms: number): MeasuredCall {
  const times = (p50: number) => ({ avg: p50, p50, p95: p50, p99: p50 });
  return {
    call_metrics: {
      utterance_latency: times(ms),
      end_of_turn: times(ms - 100),
      llm_first: times(60),
      tts_first: times(40),
      first_sentence: null,
      turns,
      line: null,
    },
    cost_breakdown: [
      { type: 'stt', provider: 'embedded', credit: 0, model: null, seconds: 10 },
      {
        type: 'llm',
        provider: 'openai',
        credit: 0,
        model,
        prompt_tokens: 1,
        completion_tokens: 1,
        cached_tokens: 0,
        cache_write_tokens: 0,
      },
      { type: 'tts', provider: 'flite', credit: 0, model: null, chars: 10 },
    ],
  };
}

describe('the response time that is expected of a setting', () => {
  const expected = new ExpectedTimes([call('small', 1, 700), call('small', 3, 600), call('large', 2, 1500)]);

  it('is measured where it is a choice, each call counted by its turns', () => {
    expect(expected.summary).toBe(
      'Answers in the latest 3 calls: median 600 ms over 6 turns (until the turn is over 500 ms, to the model’s first piece 60 ms, to the voice’s first sound 40 ms).',
    );
    expect(expected.at('llm', {})).toBe('Median first piece here: small 60 ms (4 turns), large 60 ms (2 turns).');
    expect(expected.at('llm', { llm: { model: 'new' } })).toMatch(/^Not measured with new\. Median/);
    expect(expected.at('voice', null)).toBe('Median first sound here: flite 40 ms (6 turns).');
  });

  it('is derived where it is a wait', () => {
    expect(expected.at('flow.response_delay', {})).toContain('Adds nothing');
    expect(expected.at('flow.response_delay', { flow: { response_delay: 800 } })).toBe(
      'No answer sooner than 800 ms after the end of speech, whatever was said. Measured here: the turn is over after 500 ms (median).',
    );
    const both = { flow: { response_delay: { generic_delay: 300, number_input_delay: 1500 } } };
    expect(expected.at('flow.response_delay', both)).toContain('Another 1.50 s while digits are given.');
    const fills = { flow: { auto_fill_responses: { response_gap_threshold: 900 } } };
    expect(expected.at('flow.auto_fill_responses', fills)).toContain('900 ms after the end of the turn');
  });

  it('is left out where nothing is known', () => {
    const nothing = new ExpectedTimes([]);
    expect(nothing.summary).toBeNull();
    for (const path of ['llm', 'voice', 'speech_to_text', 'prompt', 'flow.auto_fill_responses']) {
      expect(nothing.at(path, {}), path).toBeNull();
    }
    expect(expected.at('prompt', {})).toBeNull();
  });
});
