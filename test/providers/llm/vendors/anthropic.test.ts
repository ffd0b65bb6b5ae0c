import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../../src/base/real-clock.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { ChatMessage } from '../../../../src/agent/chat.js';
import { ParleyError } from '../../../../src/base/errors.js';
import { AnthropicProvider, wireMessages } from '../../../../src/providers/llm/vendors/anthropic.js';
import type { LlmPiece, LlmRequest } from '../../../../src/providers/llm/llm.js';
import {
  AnthropicDouble,
  KEY,
  begin,
  events,
  refuse,
  reply,
  send,
  textBlock,
  toolCall,
} from '../../../vendors/anthropic.js';

let double: AnthropicDouble;
let baseUrl: string;
let provider: AnthropicProvider;
const opened: AnthropicProvider[] = [];

beforeEach(async () => {
  double = new AnthropicDouble();
  baseUrl = await double.open();
  provider = make();
});

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  await double.close();
  expect(double.violations).toEqual([]);
});

function make(apiKey = KEY): AnthropicProvider {
  const made = new AnthropicProvider({ apiKey, baseUrl });
  opened.push(made);
  return made;
}

function request(changes: Partial<LlmRequest> = {}): LlmRequest {
  return {
    model: 'claude-haiku-5-5',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    temperature: 0,
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...changes,
  };
}

async function collect(pieces: AsyncIterable<LlmPiece>): Promise<LlmPiece[]> {
  const all: LlmPiece[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

async function failure(work: Promise<unknown>): Promise<ParleyError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ParleyError);
  expect(JSON.stringify([(error as Error).message, (error as ParleyError).details])).not.toContain(KEY);
  return error as ParleyError;
}

const TOOLS = ['book', 'look_up'].map((name) => ({ name, description: `To ${name}.`, parameters: { properties: {} } }));

describe('a reply', () => {
  it('streams text cut anywhere, and counts the prompt before it, with what the cache gave', async () => {
    double.answer = (response) => reply(response, [textBlock('Grüß ', 'Gott, 東京 🎉.')]);
    expect(await collect(provider.complete(request()))).toEqual([
      { type: 'usage', promptTokens: 120, cachedTokens: 100, cacheWriteTokens: 8, completionTokens: 1 },
      { type: 'text', text: 'Grüß ' },
      { type: 'text', text: 'Gott, 東京 🎉.' },
      { type: 'usage', promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 4 },
    ]);
  });

  it('hands out parallel calls whole, after the text', async () => {
    double.answer = (response) =>
      reply(
        response,
        [textBlock('One moment.'), toolCall('toolu_1', 'book', '{"people"', ': 2}'), toolCall('toolu_2', 'look_up')],
        'tool_use',
      );
    const pieces = await collect(provider.complete(request({ tools: TOOLS })));
    expect(pieces.filter(({ type }) => type !== 'usage')).toEqual([
      { type: 'text', text: 'One moment.' },
      { type: 'toolCall', call: { id: 'toolu_1', name: 'book', arguments: '{"people": 2}' } },
      { type: 'toolCall', call: { id: 'toolu_2', name: 'look_up', arguments: '{}' } },
    ]);
  });

  it('leaves out thinking, what it does not know, and calls that were cut off', async () => {
    const thinking = {
      content_block: { type: 'thinking', thinking: '' },
      deltas: [{ type: 'thinking_delta', thinking: 'Hm.' }],
    };
    double.answer = (response) => {
      begin(response);
      send(response, { type: 'something_new' });
      for (const event of events([thinking, textBlock('So.'), toolCall('t', 'book', '{"pe')], 'max_tokens')) {
        send(response, event);
      }
      response.end();
    };
    const pieces = await collect(provider.complete(request({ tools: TOOLS })));
    expect(pieces.map(({ type }) => type)).toEqual(['usage', 'text', 'usage']);
  });
});

describe('a request', () => {
  it('marks tools, prompt and conversation for caching', async () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'You are a waiter.' },
      { role: 'user', content: 'Hi' },
    ];
    const asked = { model: 'claude-haiku-4-5', messages, tools: TOOLS, requiredTool: 'book', temperature: 1.4 };
    await collect(provider.complete(request(asked)));
    const cache_control = { type: 'ephemeral' };
    expect(double.bodies[0]).toEqual({
      model: 'claude-haiku-4-5',
      max_tokens: 4096,
      stream: true,
      temperature: 1,
      thinking: { type: 'disabled' },
      system: [{ type: 'text', text: 'You are a waiter.', cache_control }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control }] }],
      tools: [
        { name: 'book', description: 'To book.', input_schema: { type: 'object', properties: {} } },
        {
          name: 'look_up',
          description: 'To look_up.',
          input_schema: { type: 'object', properties: {} },
          cache_control,
        },
      ],
      tool_choice: { type: 'tool', name: 'book' },
    });
  });

  it('puts right what the API would refuse', async () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: 'Good evening.' },
      { role: 'user', content: 'A table' },
      { role: 'user', content: 'for two' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'call:1', name: 'book', arguments: '{"people":2}' },
          { id: 'call:2', name: 'look_up', arguments: '{broken' },
        ],
      },
      { role: 'tool', toolCallId: 'call:2', content: 'Nothing.' },
      { role: 'tool', toolCallId: 'unknown', content: 'Lost.' },
      { role: 'system', content: 'The line is noisy.' },
      { role: 'assistant', content: 'Well.' },
    ];
    await collect(provider.complete(request({ messages })));
    expect(wireMessages(messages)).toEqual({
      system: 'Be brief.',
      conversation: [
        { role: 'user', content: [{ type: 'text', text: '[The conversation begins.]' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'Good evening.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A table' },
            { type: 'text', text: 'for two' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_1', name: 'book', input: { people: 2 } },
            { type: 'tool_use', id: 'call_2', name: 'look_up', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: 'Interrupted before its result was known.' },
            { type: 'tool_result', tool_use_id: 'call_2', content: 'Nothing.' },
            { type: 'text', text: 'The line is noisy.' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'Well.' }] },
        { role: 'user', content: [{ type: 'text', text: '[The user says nothing.]' }] },
      ],
    });
    for (const few of [[], [{ role: 'system', content: 'Only this.' } as const]]) {
      await collect(provider.complete(request({ messages: few })));
    }
  });

  it.each([
    [
      'claude-sonnet-4-6',
      { thinking: { type: 'disabled' }, temperature: 0.3, tool_choice: { type: 'tool', name: 'book' } },
    ],
    ['claude-haiku-5-5', { thinking: { type: 'disabled' }, tool_choice: { type: 'tool', name: 'book' } }],
    ['claude-sonnet-5-5', { thinking: { type: 'between_tools' } }],
    ['claude-opus-5-5', { output_config: { effort: 'low' } }],
  ])('asks of %s only what it takes', async (model, own) => {
    await collect(provider.complete(request({ model, temperature: 0.3, tools: TOOLS, requiredTool: 'book' })));
    const { messages: _messages, tools: _tools, ...rest } = double.bodies[0] ?? {};
    expect(rest).toEqual({ model, max_tokens: 4096, stream: true, ...own });
    expect(double.refusals).toEqual([]);
  });

  it('leaves out for good what a model that is not known refuses', async () => {
    const asked = { model: 'claude-next', temperature: 0.3, tools: TOOLS, requiredTool: 'book' };
    double.answer = (response, { temperature, tool_choice, thinking, output_config }) => {
      const refusal =
        (temperature === undefined ? null : 'temperature is deprecated') ??
        (tool_choice && 'tool_choice: not with thinking') ??
        (thinking?.type === 'disabled' ? 'thinking: try "between_tools"' : null) ??
        (thinking && 'thinking: not allowed') ??
        (output_config && 'output_config.effort: not allowed');
      if (refusal === undefined || refusal === null) reply(response, [textBlock('Yes.')]);
      else refuse(response, 400, 'invalid_request_error', refusal);
    };
    await collect(provider.complete(request(asked)));
    expect(double.bodies).toHaveLength(6);
    await collect(provider.complete(request(asked)));
    expect(double.bodies).toHaveLength(7);
    expect(
      Object.keys(double.bodies[6] ?? {})
        .toSorted()
        .join(),
    ).toBe('max_tokens,messages,model,stream,tools');
  });
});

describe('a failure', () => {
  it.each([
    [400, 'PROVIDER_REFUSED', false],
    [429, 'PROVIDER_FAILED', true],
    [529, 'PROVIDER_FAILED', true],
  ])('of status %i is reported', async (status, code, retryable) => {
    double.answer = (response) => refuse(response, status, 'some_error', `no, ${KEY}`);
    expect(await failure(collect(provider.complete(request())))).toMatchObject({
      code,
      retryable,
      details: { status },
    });
  });

  it.each([
    ['overloaded_error', 'PROVIDER_FAILED'],
    ['invalid_request_error', 'PROVIDER_REFUSED'],
  ])('within the stream, %s, is reported', async (type, code) => {
    double.answer = (response) => {
      begin(response);
      send(response, events([textBlock('So')])[0] ?? {});
      send(response, { type: 'error', error: { type, message: 'Overloaded' } });
      response.end();
    };
    expect((await failure(collect(provider.complete(request())))).code).toBe(code);
  });

  it('is a stream that breaks off, holds nonsense, or refuses to answer', async () => {
    double.answer = (response) => {
      begin(response);
      for (const event of events([textBlock('So')]).slice(0, 4)) send(response, event);
      response.end();
    };
    expect((await failure(collect(provider.complete(request())))).message).toContain('the stream broke off');
    double.answer = (response) => {
      begin(response);
      response.end('data: {"type": "mess\n\n');
    };
    expect((await failure(collect(provider.complete(request())))).message).toContain('unreadable event');
    double.answer = (response) => reply(response, [], 'refusal');
    expect((await failure(collect(provider.complete(request())))).message).toContain('refused to answer');
  });

  it('is a key that is not accepted, which warm-up tells too', async () => {
    const wrong = make('sk-ant-wrong-0000');
    expect(await failure(wrong.warmUp())).toMatchObject({ code: 'PROVIDER_REFUSED' });
    const error = await failure(collect(wrong.complete(request())));
    expect(error.message).not.toContain('wrong-0000');
    await provider.warmUp();
  });

  it.each([
    ['the first event', 0],
    ['the next one', 4],
  ])('is %s that does not come in time, on the clock', async (_what, before) => {
    let written: () => void = () => undefined;
    const stalled = new Promise<void>((resolve) => (written = resolve));
    double.answer = (response) => {
      if (before > 0) begin(response);
      for (const event of events([textBlock('So')]).slice(0, before)) send(response, event);
      written();
    };
    const clock = new VirtualClock();
    const state = { settled: false };
    const work = failure(collect(provider.complete(request({ clock })))).finally(() => (state.settled = true));
    await stalled;
    while (!state.settled) await clock.advanceBy(100);
    expect(await work).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
    expect(clock.pending).toBe(0);
  });
});

it('ends the request when it is aborted', async () => {
  double.answer = (response) => {
    begin(response);
    for (const event of events([textBlock('So')]).slice(0, 4)) send(response, event);
  };
  const gone = new AbortController();
  const work = (async () => {
    for await (const piece of provider.complete(request({ signal: gone.signal }))) {
      if (piece.type === 'text') gone.abort(new Error('barge-in'));
    }
  })();
  await expect(work).rejects.toThrow('barge-in');
  await double.replyCut();
  expect(double.cutShort).toBe(1);
});
