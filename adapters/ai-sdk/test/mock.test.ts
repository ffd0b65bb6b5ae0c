import { APICallError, LoadAPIKeyError, type LanguageModelV2, type LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { simulateReadableStream } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { VirtualClock } from '@parley-voice/parley';
import { describe, expect, it } from 'vitest';
import { AiSdkLlm } from '../src/index.js';
import { collect, failure, request } from './requests.js';

const USAGE = {
  inputTokens: { total: 12, noCache: 12, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

function finish(
  unified: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' = 'stop',
): LanguageModelV3StreamPart {
  return { type: 'finish', finishReason: { unified, raw: unified }, usage: USAGE };
}

/** The mock of the SDK, streaming these parts. */
function mock(chunks: LanguageModelV3StreamPart[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }),
    }),
  });
}

function text(...deltas: string[]): LanguageModelV3StreamPart[] {
  return [
    { type: 'text-start', id: '0' },
    ...deltas.map((delta) => ({ type: 'text-delta' as const, id: '0', delta })),
    { type: 'text-end', id: '0' },
  ];
}

describe("the AI SDK's mock model", () => {
  it('streams text, and tells the usage', async () => {
    const model = mock([{ type: 'stream-start', warnings: [] }, ...text('A table', ' for two.'), finish()]);
    expect(await collect(new AiSdkLlm({ model }).complete(request()))).toEqual([
      { type: 'text', text: 'A table' },
      { type: 'text', text: ' for two.' },
      { type: 'usage', promptTokens: 12, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 5 },
    ]);
  });

  it('hands on parallel calls when the reply is whole, and nothing that is not for the conversation', async () => {
    const model = mock([
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'r' },
      { type: 'tool-input-start', id: 'c1', toolName: 'book' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"seats":2}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'book', input: '{"seats":2}' },
      { type: 'tool-call', toolCallId: 's1', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'weather', input: '' },
      ...text('One moment.'),
      finish('tool-calls'),
    ]);
    expect(await collect(new AiSdkLlm({ model }).complete(request()))).toEqual([
      { type: 'text', text: 'One moment.' },
      { type: 'usage', promptTokens: 12, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 5 },
      { type: 'toolCall', call: { id: 'c1', name: 'book', arguments: '{"seats":2}' } },
      { type: 'toolCall', call: { id: 'c2', name: 'weather', arguments: '{}' } },
    ]);
  });

  it('asks as models take it: prompt, tools, the tool that is required, options of the vendor', async () => {
    const model = mock([...text('Yes.'), finish()]);
    const asked: string[] = [];
    const llm = new AiSdkLlm({
      model: (id) => {
        asked.push(id);
        return model;
      },
      headers: { 'x-tenant': 'a' },
      providerOptions: { openai: { reasoningEffort: 'minimal' } },
    });
    await collect(
      llm.complete(
        request({
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'system', content: 'It is Monday.' },
            { role: 'assistant', content: 'Hello!' },
            { role: 'user', content: 'Book it' },
            { role: 'assistant', content: '', toolCalls: [call('c1', '{"seats":2}'), call('c2', '{"seats":')] },
            { role: 'tool', toolCallId: 'c1', content: 'done' },
            { role: 'tool', toolCallId: 'gone', content: 'cut off' },
            { role: 'system', content: 'The line is bad.' },
          ],
          tools: [{ name: 'book', description: 'Books', parameters: { properties: { seats: { type: 'integer' } } } }],
          requiredTool: 'book',
        }),
      ),
    );
    expect(asked).toEqual(['gpt-4o-mini']);
    const { prompt, tools, toolChoice, temperature, headers, providerOptions } = model.doStreamCalls[0]!;
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.\n\nIt is Monday.' },
      { role: 'user', content: [{ type: 'text', text: '[The conversation begins.]' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello!' }] },
      { role: 'user', content: [{ type: 'text', text: 'Book it' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'c1', toolName: 'book', input: { seats: 2 } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'book', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'book', output: { type: 'text', value: 'done' } },
          {
            type: 'tool-result',
            toolCallId: 'c2',
            toolName: 'book',
            output: {
              type: 'text',
              value: 'Interrupted before its result was known.',
            },
          },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'The line is bad.' }] },
    ]);
    expect(tools).toEqual([
      {
        type: 'function',
        name: 'book',
        description: 'Books',
        inputSchema: {
          type: 'object',
          properties: { seats: { type: 'integer' } },
        },
      },
    ]);
    expect({ toolChoice, temperature, headers, providerOptions }).toEqual({
      toolChoice: {
        type: 'tool',
        toolName: 'book',
      },
      temperature: 0.5,
      headers: { 'x-tenant': 'a' },
      providerOptions: { openai: { reasoningEffort: 'minimal' } },
    });
  });

  it('ends at once when it is aborted, though the model overlooks it, and lets go of the stream', async () => {
    let cancelled = false;
    const model = new MockLanguageModelV3({
      doStream: async () => ({
        stream: new ReadableStream<LanguageModelV3StreamPart>({
          start: (controller) => controller.enqueue({ type: 'text-delta', id: '0', delta: 'Well' }),
          cancel: () => {
            cancelled = true;
          },
        }),
      }),
    });
    const controller = new AbortController();
    const pieces = new AiSdkLlm({ model }).complete(request({ signal: controller.signal }));
    expect((await pieces.next()).value).toEqual({ type: 'text', text: 'Well' });
    const next = pieces.next();
    controller.abort(new Error('interrupted'));
    await expect(next).rejects.toThrow('interrupted');
    expect(cancelled).toBe(true);
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
  });

  it('lets go of the stream where the listener leaves', async () => {
    let cancelled = false;
    const model = new MockLanguageModelV3({
      doStream: async () => ({
        stream: new ReadableStream<LanguageModelV3StreamPart>({
          pull: (controller) => controller.enqueue({ type: 'text-delta', id: '0', delta: 'and ' }),
          cancel: () => {
            cancelled = true;
          },
        }),
      }),
    });
    for await (const piece of new AiSdkLlm({ model }).complete(request())) {
      expect(piece).toEqual({ type: 'text', text: 'and ' });
      break;
    }
    expect(cancelled).toBe(true);
  });

  it('waits for the first part and for each next one as long as it should', async () => {
    const silent = new MockLanguageModelV3({ doStream: () => new Promise(() => undefined) });
    const clock = new VirtualClock();
    const first = failure(new AiSdkLlm({ model: silent }), { clock });
    await clock.advanceTo(15_000);
    expect(await first).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 15_000 } });
    const stuck = new MockLanguageModelV3({
      doStream: async () => ({
        stream: new ReadableStream<LanguageModelV3StreamPart>({
          start: (controller) => controller.enqueue({ type: 'text-delta', id: '0', delta: 'Well' }),
        }),
      }),
    });
    const pieces = new AiSdkLlm({ model: stuck, idleTimeoutMs: 700 }).complete(request({ clock }));
    await pieces.next();
    const next = pieces.next().catch((error: unknown) => error);
    await clock.advanceTo(clock.nowMs() + 700);
    expect(await next).toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 700 } });
  });

  it.each([
    ['a reply that breaks off', text('Well'), 'the stream broke off'],
    ['a filter', [finish('content-filter')], 'the content filter withheld the reply'],
    ['a model that gives up', [...text('Well'), finish('error')], 'stopped because of an error'],
    ['an error in the stream', [...text('Well'), { type: 'error', error: { message: 'overloaded' } }], 'overloaded'],
    ['a part without its field', [{ type: 'text-delta', id: '0' }], 'a part "text-delta" without its delta'],
  ])('fails, worth another try: %s', async (_what, parts, reason) => {
    const error = await failure(new AiSdkLlm({ model: mock(parts as LanguageModelV3StreamPart[]) }));
    expect(error).toMatchObject({ code: 'PROVIDER_FAILED', retryable: true, details: { provider: 'ai-sdk' } });
    expect(error.message).toContain(reason);
  });

  it('asks for nothing where the limit of tokens has cut the reply', async () => {
    const cut: LanguageModelV3StreamPart = { type: 'tool-call', toolCallId: 'c1', toolName: 'book', input: '{"se' };
    const pieces = await collect(new AiSdkLlm({ model: mock([cut, finish('length')]) }).complete(request()));
    expect(pieces.map(({ type }) => type)).toEqual(['usage']);
  });

  it.each([
    [429, 'PROVIDER_FAILED', true],
    [503, 'PROVIDER_FAILED', true],
    [401, 'PROVIDER_REFUSED', false],
    [404, 'PROVIDER_REFUSED', false],
  ])('names what HTTP %s means, and no key', async (statusCode, code, retryable) => {
    const model = new MockLanguageModelV3({
      doStream: () => {
        throw new APICallError({
          message: 'not with sk-0123456789',
          url: 'https://api',
          requestBodyValues: { a: 'sk-0123456789' },
          statusCode,
        });
      },
    });
    const error = await failure(new AiSdkLlm({ model, secrets: ['sk-0123456789'] }));
    expect(error).toMatchObject({ code, retryable, details: { status: statusCode } });
    expect(JSON.stringify([error.message, error.details, error.cause ?? null])).not.toContain('0123456789');
  });

  it('refuses for good where a key is missing', async () => {
    const model = new MockLanguageModelV3({
      doStream: () => {
        throw new LoadAPIKeyError({ message: 'OpenAI API key is missing' });
      },
    });
    expect(await failure(new AiSdkLlm({ model }))).toMatchObject({ code: 'PROVIDER_REFUSED', retryable: false });
  });

  it('takes models of version 2 too', async () => {
    const model: LanguageModelV2 = {
      specificationVersion: 'v2',
      provider: 'mock',
      modelId: 'mock',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('it is to be streamed')),
      doStream: async () => ({
        stream: simulateReadableStream({
          chunks: [
            {
              type: 'text-delta',
              id: '0',
              delta: 'Yes.',
            },
            {
              type: 'finish',
              finishReason: 'stop',
              usage: {
                inputTokens: 3,
                outputTokens: 1,
                totalTokens: 4,
              },
            },
          ],
        }),
      }),
    };
    expect(await collect(new AiSdkLlm({ model }).complete(request()))).toEqual([
      { type: 'text', text: 'Yes.' },
      { type: 'usage', promptTokens: 3, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 1 },
    ]);
  });
});

function call(id: string, input: string) {
  return { id, name: 'book', arguments: input };
}
