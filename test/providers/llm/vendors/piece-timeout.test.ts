import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { LlmPiece, LlmProvider } from '../../../../src/providers/llm/llm.js';
import { AnthropicProvider } from '../../../../src/providers/llm/vendors/anthropic.js';
import { OpenAiProvider } from '../../../../src/providers/llm/vendors/openai.js';
import { AnthropicDouble, begin, KEY, send } from '../../../vendors/anthropic.js';
import { beginStream, OpenAiDouble, sendEvent, textChunk } from '../openai-double.js';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0).toReversed()) await one.close();
});

interface Served {
  provider: LlmProvider;
  /** Whether the server has got the request. */
  hasRequest: () => boolean;
}

async function openAi(clock: VirtualClock, starts: boolean): Promise<Served> {
  const double = new OpenAiDouble();
  double.answer = (response) => {
    if (!starts) return;
    beginStream(response);
    sendEvent(response, textChunk('Well,'));
  };
  const provider = new OpenAiProvider({ baseUrl: await double.listen(), clock });
  closing.push(double, provider);
  return { provider, hasRequest: () => double.requests.length > 0 };
}

async function anthropic(clock: VirtualClock, starts: boolean): Promise<Served> {
  const double = new AnthropicDouble();
  double.answer = (response) => {
    if (!starts) return;
    begin(response);
    send(response, { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } });
    send(response, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    send(response, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Well,' } });
  };
  const provider = new AnthropicProvider({ baseUrl: await double.open(), apiKey: KEY, clock });
  closing.push(double, provider);
  return { provider, hasRequest: () => double.bodies.length > 0 };
}

describe.each([
  ['OpenAI', openAi, 'gpt-4o'],
  ['Anthropic', anthropic, 'claude-haiku-4-5'],
] as const)('a reply of %s', (_name, serve, model) => {
  it.each([
    [false, undefined, 15_000],
    [false, 90_000, 90_000],
    [true, undefined, 10_000],
    [true, 90_000, 90_000],
  ])('that has begun (%s) and has a timeout of %s ms ends after %i ms', async (starts, pieceTimeoutMs, endsMs) => {
    const clock = new VirtualClock();
    const { provider, hasRequest } = await serve(clock, starts);
    const { signal } = new AbortController();
    const asked = { model, messages: [{ role: 'user', content: 'Hi' }] as const, tools: [], temperature: 0 };
    const timeout = pieceTimeoutMs === undefined ? {} : { pieceTimeoutMs };
    const reply = provider.complete({ ...asked, ...timeout, clock, signal })[Symbol.asyncIterator]();
    const untilText = async (): Promise<LlmPiece> => {
      const { value } = (await reply.next()) as { value: LlmPiece };
      return value.type === 'usage' ? untilText() : value;
    };
    if (starts) expect(await untilText()).toEqual({ type: 'text', text: 'Well,' });
    const ended: unknown[] = [];
    const next = untilText().catch((error: unknown) => ended.push(error));
    while (!hasRequest()) await new Promise((resolve) => setImmediate(resolve));
    await clock.advanceBy(endsMs - 1);
    expect(ended).toEqual([]);
    await clock.advanceBy(1);
    await next;
    expect(ended).toMatchObject([{ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: endsMs } }]);
  });
});
