import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAICompatible as createCompatibleV4 } from 'openai-compatible-v4';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  beginStream,
  callChunk,
  finishChunk,
  OpenAiDouble,
  sendError,
  sendEvent,
  stream,
  textChunk,
  usageChunk,
} from '../../../test/providers/llm/openai-double.js';
import { AiSdkLlm, type AiSdkModel } from '../src/index.js';
import { collect, failure, request } from './requests.js';

const KEY = 'sk-test-0123456789';
const MODELS: [string, (baseURL: string) => AiSdkModel][] = [
  ['@ai-sdk/openai', (baseURL) => createOpenAI({ baseURL, apiKey: KEY }).chat('gpt-4o-mini')],
  [
    '@ai-sdk/openai-compatible',
    (baseURL) => createOpenAICompatible({ name: 'own', baseURL, apiKey: KEY, includeUsage: true })('gpt-4o-mini'),
  ],
  [
    '@ai-sdk/openai-compatible of ai 7',
    (baseURL) => createCompatibleV4({ name: 'own', baseURL, apiKey: KEY, includeUsage: true })('gpt-4o-mini'),
  ],
];

/** Real models of the SDK against the double of OpenAI's chat completions. */
describe.each(MODELS)('%s', (_name, make) => {
  let double: OpenAiDouble;
  let llm: AiSdkLlm;

  beforeEach(async () => {
    double = new OpenAiDouble();
    llm = new AiSdkLlm({ model: make(await double.listen()), secrets: [KEY] });
  });

  afterEach(async () => {
    await llm.close();
    await double.close();
  });

  it('streams text and tells the usage', async () => {
    double.answer = (response) => {
      stream(response, [textChunk('A table, '), textChunk('certainement — où ?'), finishChunk('stop'), usageChunk]);
    };
    const pieces = await collect(llm.complete(request({ messages: [{ role: 'system', content: 'Be brief.' }] })));
    expect(pieces.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'A table, ' },
      { type: 'text', text: 'certainement — où ?' },
    ]);
    expect(pieces.at(-1)).toEqual({
      type: 'usage',
      promptTokens: 12,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      completionTokens: 5,
    });
    expect(double.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(double.requests[0]?.body).toMatchObject({ model: 'gpt-4o-mini', temperature: 0.5 });
  });

  it('gathers parallel calls that come in pieces, and sends their results back', async () => {
    const tools = ['book', 'weather'].map((name) => ({ name, description: name, parameters: { properties: {} } }));
    double.answer = (response) => {
      stream(response, [
        callChunk({ index: 0, id: 'c1', type: 'function', function: { name: 'book', arguments: '' } }),
        callChunk({ index: 1, id: 'c2', type: 'function', function: { name: 'weather', arguments: '{"ci' } }),
        callChunk({ index: 0, function: { arguments: '{"seats":2}' } }),
        callChunk({ index: 1, function: { arguments: 'ty":"Köln"}' } }),
        finishChunk('tool_calls'),
        usageChunk,
      ]);
    };
    const pieces = await collect(llm.complete(request({ tools })));
    const calls = pieces.flatMap((piece) => (piece.type === 'toolCall' ? [piece.call] : []));
    // The compatible models tell them in the order in which they became whole.
    expect([...calls].sort((a, b) => a.id.localeCompare(b.id))).toEqual([
      { id: 'c1', name: 'book', arguments: '{"seats":2}' },
      { id: 'c2', name: 'weather', arguments: '{"city":"Köln"}' },
    ]);
    double.answer = (response) => stream(response, [textChunk('Booked.'), finishChunk('stop')]);
    const rest = await collect(
      llm.complete(
        request({
          tools,
          messages: [
            { role: 'user', content: 'Hi' },
            { role: 'assistant', content: '', toolCalls: calls },
            { role: 'tool', toolCallId: 'c1', content: 'done' },
          ],
        }),
      ),
    );
    expect(rest[0]).toEqual({ type: 'text', text: 'Booked.' });
    expect(double.requests[1]?.body['messages']).toHaveLength(4);
  });

  it('closes the connection when it is aborted', async () => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Well'));
    };
    const controller = new AbortController();
    const pieces = llm.complete(request({ signal: controller.signal }));
    expect((await pieces.next()).value).toEqual({ type: 'text', text: 'Well' });
    const next = pieces.next();
    controller.abort(new Error('interrupted'));
    await expect(next).rejects.toThrow('interrupted');
    await double.replyCut();
  });

  it.each([
    [401, 'PROVIDER_REFUSED'],
    [429, 'PROVIDER_FAILED'],
    [500, 'PROVIDER_FAILED'],
  ])('names HTTP %s as %s, once and without the key', async (status, code) => {
    double.answer = (response) => sendError(response, status, `not with ${KEY}`);
    const error = await failure(llm);
    expect(error).toMatchObject({ code, details: { status } });
    expect(JSON.stringify([error.message, error.details, error.stack])).not.toContain(KEY);
    expect(double.requests).toHaveLength(1);
  });

  it('fails where the connection breaks, or nobody is there', async () => {
    double.answer = (response) => {
      beginStream(response);
      sendEvent(response, textChunk('Well'));
      setImmediate(() => response.destroy());
    };
    expect(await failure(llm)).toMatchObject({ code: 'PROVIDER_FAILED', retryable: true });
    await double.close();
    expect(await failure(llm)).toMatchObject({ code: 'PROVIDER_FAILED', retryable: true });
  });
});
