import { expect, it } from 'vitest';
import { UsageBook } from '../../../src/session/record/usage.js';

const deepgram = { provider: 'deepgram', model: 'nova-3' };
const whisper = { provider: 'whisper', model: null };
const gpt = { provider: 'openai', model: 'gpt-4o' };

it('has the seconds of each who listened, the characters of each who spoke, the tokens of each who thought', () => {
  const book = new UsageBook();
  book.take({ stage: 'stt', ...deepgram }, 0);
  book.take({ stage: 'stt', ...deepgram }, 4000); // opened again
  book.take({ stage: 'stt', ...whisper }, 10_000);
  book.take({ stage: 'stt', ...deepgram }, 12_500);
  book.take({ stage: 'tts', ...whisper, chars: 20 }, 0);
  book.take({ stage: 'tts', ...deepgram, chars: 5 }, 0);
  book.take({ stage: 'tts', ...whisper, chars: 1 }, 0);
  book.counted(gpt, { type: 'usage', promptTokens: 100, cachedTokens: 64, cacheWriteTokens: 8, completionTokens: 0 });
  book.counted(gpt, { type: 'usage', promptTokens: 0, completionTokens: 7 });
  const by = { provider: 'anthropic', model: 'claude' };
  book.counted(gpt, { type: 'usage', promptTokens: 9, completionTokens: 1, by });
  const usage = book.usage(15_000);
  expect(usage).toEqual({
    stt: [
      { ...deepgram, seconds: 12.5 },
      { ...whisper, seconds: 2.5 },
    ],
    llm: [
      { ...gpt, promptTokens: 100, cachedTokens: 64, cacheWriteTokens: 8, completionTokens: 7 },
      { ...by, promptTokens: 9, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 1 },
    ],
    tts: [
      { ...whisper, chars: 21 },
      { ...deepgram, chars: 5 },
    ],
  });
  expect(book.tokens).toEqual({ promptTokens: 109, cachedTokens: 64, cacheWriteTokens: 8, completionTokens: 8 });
  expect(book.usage(15_000)).toEqual(usage);
});

it('leaves out who was not used', () => {
  const book = new UsageBook();
  book.take({ stage: 'stt', ...deepgram }, 0);
  expect(book.usage(0)).toEqual({ stt: [], llm: [], tts: [] });
  book.take({ stage: 'stt', ...whisper }, 0);
  expect(book.usage(1000).stt).toEqual([{ ...whisper, seconds: 1 }]);
});

it('has a model that was asked and reported nothing, unless another one reported', () => {
  const none = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
  const book = new UsageBook();
  expect(book.take({ stage: 'llm', ...gpt }, 0)).toBe(true);
  expect(book.take({ stage: 'llm', ...gpt }, 5)).toBe(false);
  expect(book.usage(0).llm).toEqual([{ ...gpt, ...none }]);
  const by = { provider: 'anthropic', model: 'claude' };
  book.counted(gpt, { type: 'usage', promptTokens: 9, completionTokens: 1, by });
  expect(book.usage(0).llm).toMatchObject([by]);
});
